"""Orders alerts that are over by project, so that projects take turns."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0029_failing_notifications_without_recipients")]

    operations = [
        migrations.RemoveIndex(model_name="alert", name="alert_over"),
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                fields=["group", "updated"],
                name="alert_over",
                condition=Q(over__isnull=False, status__in=["TRACKING", "OPEN"]),
            ),
        ),
    ]
