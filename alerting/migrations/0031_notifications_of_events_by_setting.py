"""Finds the notifications of events of a setting, which keep the setting of a deleted configuration."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0030_projects_with_alerts_that_are_over")]

    operations = [
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                fields=["setting_id"],
                name="notification_event_setting",
                condition=Q(event_id__isnull=False),
            ),
        ),
    ]
