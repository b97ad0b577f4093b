"""Adds the severity of alerts: empty for alerts of an earlier build."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0027_minimum_severity")]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="severity",
            field=models.CharField(
                choices=[("INFO", "INFO"), ("WARNING", "WARNING"), ("CRITICAL", "CRITICAL")],
                help_text="That of the configuration when the alert began. Empty in rows of builds without "
                "severities: the severity of the event type.",
                max_length=8,
                null=True,
            ),
        ),
    ]
