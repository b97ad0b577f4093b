"""Clusters of their own: hosts that agents report under one cluster name."""

import django.db.models.deletion
import django.db.models.functions.text
import opsapi.fields
import opsapi.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0004_teams_and_deleted_projects'),
        ('automation', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Cluster',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('created', models.DateTimeField()),
                ('group', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='clusters', to='accesslist.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('group'), django.db.models.functions.text.Lower('name'), name='cluster_once')],
            },
        ),
        migrations.AddField(
            model_name='host',
            name='cluster',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='hosts', to='automation.cluster'),
        ),
        migrations.AlterField(
            model_name='host',
            name='cluster_name',
            field=models.CharField(help_text='The name of its cluster.', max_length=200, null=True),
        ),
    ]
