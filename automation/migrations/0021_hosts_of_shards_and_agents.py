"""Indexes that find the hosts of a shard and of an agent; the first replaces the index of clusters."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0020_host_labels")]

    operations = [
        migrations.AddIndex(
            model_name="host",
            index=models.Index(fields=["cluster", "shard_name"], name="host_shard"),
        ),
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
        migrations.AddIndex(
            model_name="host",
            index=models.Index(fields=["reported_by"], name="host_agent"),
        ),
    ]
