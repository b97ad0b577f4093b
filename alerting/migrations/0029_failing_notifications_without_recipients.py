"""Adds notifications without recipients to the index of failing notifications."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0028_severity_of_alerts")]

    operations = [
        migrations.RemoveIndex(model_name="notification", name="notification_failing"),
        migrations.AddIndex(
            model_name="notification",
            index=models.Index(
                fields=["due"],
                name="notification_failing",
                condition=Q(status="FAILED")
                | Q(status="PENDING", attempts__gt=0)
                | Q(status="DROPPED", reason__startswith="no recipients: "),
            ),
        ),
    ]
