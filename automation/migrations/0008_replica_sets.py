"""Replica sets, by the names agents report, with how many of their members are healthy."""

import django.db.models.deletion
import django.db.models.functions.comparison
import opsapi.fields
import opsapi.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
        ('automation', '0007_silence'),
    ]

    operations = [
        migrations.CreateModel(
            name='ReplicaSet',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('shard_name', models.CharField(max_length=200, null=True)),
                ('primaries', models.PositiveIntegerField(default=0)),
                ('healthy', models.PositiveIntegerField(default=0)),
                ('unhealthy', models.PositiveIntegerField(default=0)),
                ('created', models.DateTimeField()),
                ('cluster', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replica_sets', to='automation.cluster')),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='replica_sets', to='accesslist.project')),
            ],
        ),
        migrations.AddField(
            model_name='host',
            name='replica_set',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='hosts', to='automation.replicaset'),
        ),
        migrations.AddConstraint(
            model_name='replicaset',
            constraint=models.UniqueConstraint(models.F('group'), models.F('name'), django.db.models.functions.comparison.Coalesce('cluster', models.Value('')), name='replica_set_once'),
        ),
    ]
