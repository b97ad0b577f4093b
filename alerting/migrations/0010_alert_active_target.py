"""The active alerts about what a signal names are found by that, however many there are."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0009_failing_receivers")]

    operations = [
        migrations.AddIndex(
            model_name="alert",
            index=models.Index(
                condition=Q(("status__in", ["TRACKING", "OPEN"])),
                fields=["group", "target_key"],
                name="alert_active_target",
            ),
        ),
    ]
