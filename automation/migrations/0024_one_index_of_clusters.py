"""Removes the index of clusters, which `host_shard` replaces.

In a transaction of its own: a transaction that builds and removes indexes deadlocks with reports.
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0023_heartbeat_timeout_help")]

    operations = [
        migrations.AlterField(
            model_name="host",
            name="cluster",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="hosts",
                to="automation.cluster",
            ),
        ),
    ]
