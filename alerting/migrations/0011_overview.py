"""The console's start page finds what it shows, however much else there is."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0010_alert_active_target")]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=Q(("status__in", ["TRACKING", "OPEN"])),
                fields=["created", "id"],
                include=("group", "acknowledged_until"),
                name="alert_active_oldest",
            ),
        ),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                condition=Q(
                    ("status", "FAILED"), Q(("attempts__gt", 0), ("status", "PENDING")), _connector="OR"
                ),
                fields=["due"],
                name="notification_failing",
            ),
        ),
        migrations.AddIndex(
            model_name="maintenancewindow",
            index=models.Index(fields=["end"], name="window_end"),
        ),
    ]
