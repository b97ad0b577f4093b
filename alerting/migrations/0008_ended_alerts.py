"""Alerts that ended are found when their time is over."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("alerting", "0007_removed_notifications")]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                fields=["resolved"], name="alert_ended", condition=models.Q(("resolved__isnull", False))
            ),
        ),
    ]
