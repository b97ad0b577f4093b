"""Stores which loop of a worker fails, for example because it gets no connection to the database."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0011_no_index_of_alerts_to_open"),
    ]

    operations = [
        migrations.AddField(
            model_name="workerheartbeat",
            name="failing_loop",
            field=models.CharField(
                db_default="",
                default="",
                help_text="The loop that had failed for the longest time when the worker was last seen.",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="workerheartbeat",
            name="failing_since",
            field=models.DateTimeField(help_text="When the steps of this loop began to fail.", null=True),
        ),
    ]
