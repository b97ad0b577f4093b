"""What the console calls them: project, type, worker, process. Changes no table."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0007_words_for_people'),
        ('automation', '0012_overview'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='processstatus',
            options={'verbose_name': 'process', 'verbose_name_plural': 'processes'},
        ),
        migrations.AlterField(
            model_name='agent',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='agents', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='automationrevision',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='automation_revisions', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='cluster',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='clusters', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='host',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='hosts', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='host',
            name='type_name',
            field=models.CharField(choices=[('STANDALONE', 'STANDALONE'), ('REPLICA_PRIMARY', 'REPLICA_PRIMARY'), ('REPLICA_SECONDARY', 'REPLICA_SECONDARY'), ('REPLICA_ARBITER', 'REPLICA_ARBITER'), ('RECOVERING', 'RECOVERING'), ('SHARD_MONGOS', 'SHARD_MONGOS'), ('SHARD_CONFIG', 'SHARD_CONFIG'), ('SHARD_STANDALONE', 'SHARD_STANDALONE'), ('SHARD_PRIMARY', 'SHARD_PRIMARY'), ('SHARD_SECONDARY', 'SHARD_SECONDARY'), ('NO_DATA', 'NO_DATA')], default='NO_DATA', max_length=20, verbose_name='type'),
        ),
        migrations.AlterField(
            model_name='processstatus',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='process_statuses', to='accesslist.project', verbose_name='project'),
        ),
        migrations.AlterField(
            model_name='replicaset',
            name='group',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='replica_sets', to='accesslist.project', verbose_name='project'),
        ),
    ]
