"""The pace of a destination remembers what the receiver refused, and when it was slowed down."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0018_messages_in_place"),
    ]

    operations = [
        migrations.AddField(
            model_name="destination",
            name="refused_pace_ms",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="The pace that the receiver last refused."
            ),
        ),
        migrations.AddField(
            model_name="destination",
            name="slowed",
            field=models.DateTimeField(help_text="When the pace was last slowed down.", null=True),
        ),
    ]
