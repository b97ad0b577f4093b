"""The search for alerts to open reads the earliest signal of each project, however many wait."""

from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0002_observed_signals"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                "group_id",
                Coalesce("observed", "created"),
                condition=models.Q(("failed", None), ("held_by", None)),
                name="signal_group_earliest",
            ),
        ),
    ]
