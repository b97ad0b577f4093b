"""Adds the database engine to hosts, and names the types of hosts and agents in words.

Only the column changes the database. The next report of each host fills it in.
"""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0001_squashed_0024_one_index_of_clusters'),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='engine',
            field=models.CharField(choices=[('MONGODB', 'MongoDB'), ('POSTGRESQL', 'PostgreSQL')], help_text='The database engine, as its agent reports it. Empty if no report says it.', max_length=20, null=True),
        ),
        migrations.AlterField(
            model_name='agent',
            name='agent_type',
            field=models.CharField(choices=[('MONITORING', 'Monitoring'), ('BACKUP', 'Backup'), ('AUTOMATION', 'Automation')], max_length=12),
        ),
        migrations.AlterField(
            model_name='host',
            name='type_name',
            field=models.CharField(choices=[('STANDALONE', 'Standalone'), ('REPLICA_PRIMARY', 'Primary'), ('REPLICA_SECONDARY', 'Secondary or standby'), ('REPLICA_ARBITER', 'Arbiter'), ('RECOVERING', 'Recovering'), ('SHARD_MONGOS', 'mongos'), ('SHARD_CONFIG', 'Config server'), ('SHARD_STANDALONE', 'Shard standalone'), ('SHARD_PRIMARY', 'Shard primary'), ('SHARD_SECONDARY', 'Shard secondary'), ('NO_DATA', 'No data')], default='NO_DATA', max_length=20, verbose_name='type'),
        ),
    ]
