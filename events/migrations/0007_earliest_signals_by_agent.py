"""Adds indexes of the earliest signals without the stronger lock that their new column needs.

The search for alerts to open reads the earliest signal of each project and of each agent with late reports.
"""

from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0006_agent_of_late_signals"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                "group_id",
                Coalesce("observed", "created"),
                condition=models.Q(("agent_id", None), ("failed", None)),
                name="signal_group_first",
            ),
        ),
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                "agent_id",
                Coalesce("observed", "created"),
                condition=models.Q(("agent_id__isnull", False), ("failed", None)),
                name="signal_agent_first",
            ),
        ),
    ]
