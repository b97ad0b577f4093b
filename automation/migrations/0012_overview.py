"""Indexes that find hosts that are down and agents that stopped reporting among any number of others."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("automation", "0011_fill_replica_sets")]

    operations = [
        migrations.AddIndex(
            model_name="host",
            index=models.Index(
                condition=Q(("deleted", None), ("down", True)),
                fields=["group", "hostname", "port"],
                name="host_down",
            ),
        ),
        migrations.AddIndex(
            model_name="agent",
            index=models.Index(
                condition=Q(("down", True)), fields=["group", "agent_type", "hostname"], name="agent_silent"
            ),
        ),
    ]
