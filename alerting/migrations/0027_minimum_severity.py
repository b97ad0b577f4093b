"""Adds the minimum severity of notifications: empty for all messages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0026_texts_of_configurations")]

    operations = [
        migrations.AddField(
            model_name="notificationsetting",
            name="min_severity",
            field=models.CharField(
                choices=[("INFO", "INFO"), ("WARNING", "WARNING"), ("CRITICAL", "CRITICAL")],
                help_text="Empty: messages of all severities are sent.",
                max_length=8,
                null=True,
                verbose_name="minimum severity",
            ),
        ),
    ]
