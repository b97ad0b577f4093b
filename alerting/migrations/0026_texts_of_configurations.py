"""Adds the name, the severity, the description and the runbook of alert configurations.

The processes of an earlier build write rows without them during an upgrade.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0025_no_trigger_of_alerts")]

    operations = [
        migrations.AddField(
            model_name="alertconfig",
            name="name",
            field=models.CharField(db_default="", default="", max_length=100),
        ),
        migrations.AddField(
            model_name="alertconfig",
            name="severity",
            field=models.CharField(
                choices=[("INFO", "INFO"), ("WARNING", "WARNING"), ("CRITICAL", "CRITICAL")],
                help_text="Empty in rows of builds without severities: the severity of the event type.",
                max_length=8,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="alertconfig",
            name="description",
            field=models.CharField(db_default="", default="", max_length=1000),
        ),
        migrations.AddField(
            model_name="alertconfig",
            name="runbook_url",
            field=models.CharField(db_default="", default="", max_length=500, verbose_name="runbook URL"),
        ),
    ]
