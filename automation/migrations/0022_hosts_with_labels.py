"""An index that finds the hosts with a label."""

import django.contrib.postgres.indexes
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("automation", "0021_hosts_of_shards_and_agents")]

    operations = [
        migrations.AddIndex(
            model_name="host",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["labels"], name="host_labels", opclasses=["jsonb_path_ops"]
            ),
        ),
    ]
