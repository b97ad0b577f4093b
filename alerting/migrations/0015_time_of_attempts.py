"""Attempts that could not reach their receiver keep no time, which would reveal why they failed."""

from django.db import migrations, models

# A notification has the latency of its last attempt, and perhaps another reason by now.
_WITHHOLD = """
UPDATE alerting_notification AS told SET latency_ms = NULL
 WHERE latency_ms IS NOT NULL AND (
       SELECT reason FROM alerting_notificationattempt
        WHERE notification_id = told.id ORDER BY id DESC LIMIT 1) = 'the receiver could not be reached';
UPDATE alerting_notificationattempt
   SET ended = ended - latency_ms * interval '1 millisecond', latency_ms = NULL
 WHERE reason = 'the receiver could not be reached'
"""
_FILL = "UPDATE alerting_notificationattempt SET latency_ms = 0 WHERE latency_ms IS NULL"


class Migration(migrations.Migration):
    dependencies = [("alerting", "0014_notifications_without_project")]

    operations = [
        migrations.AlterField(
            model_name="notificationattempt",
            name="ended",
            field=models.DateTimeField(
                verbose_name="time", help_text="When it ended; without a latency, when it began."
            ),
        ),
        migrations.AlterField(
            model_name="notificationattempt",
            name="latency_ms",
            field=models.PositiveIntegerField(verbose_name="latency (ms)", null=True),
        ),
        migrations.RunSQL(_WITHHOLD, _FILL),
    ]
