"""A turn of evaluation may end within a signal: the next turn continues there."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0004_stuck_loops"),
    ]

    operations = [
        migrations.AddField(
            model_name="evaluationturn",
            name="progress",
            field=models.JSONField(
                help_text="Where the next turn continues; null if the last turn ended between signals.",
                null=True,
            ),
        ),
    ]
