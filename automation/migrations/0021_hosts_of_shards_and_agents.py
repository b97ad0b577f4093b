"""Indexes that find the hosts of a shard and of an agent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("automation", "0020_host_labels")]

    operations = [
        migrations.AddIndex(
            model_name="host",
            index=models.Index(fields=["cluster", "shard_name"], name="host_shard"),
        ),
        migrations.AddIndex(
            model_name="host",
            index=models.Index(fields=["reported_by"], name="host_agent"),
        ),
    ]
