"""Until when a receiver asked not to be tried, apart from when its destination is tried next."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0018_evaluation_turns")]

    operations = [
        migrations.AddField(
            model_name="destination",
            name="paused_until",
            field=models.DateTimeField(help_text="The receiver asked not to be tried before.", null=True),
        ),
    ]
