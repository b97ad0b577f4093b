"""Creates the tables of turns, of moves that wait, and of the versions that agents have fetched.

Without them, agents carry out nothing.
"""

import django.db.models.deletion
import opsapi.fields
import opsapi.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accesslist', '0001_squashed_0004_given_passwords'),
        ('automation', '0019_paused_plans'),
    ]

    operations = [
        migrations.CreateModel(
            name='FetchedConfig',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('hostname', models.CharField(help_text='In lower case.', max_length=253)),
                ('version', models.PositiveIntegerField()),
                ('fetched', models.DateTimeField()),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='fetched_configs', to='accesslist.project', verbose_name='project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('group', 'hostname'), name='fetched_config_once')],
            },
        ),
        migrations.CreateModel(
            name='PlanTurn',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('unit', models.CharField(max_length=300)),
                ('replica_set', models.CharField(default='', max_length=200)),
                ('process', models.CharField(max_length=300)),
                ('hostname', models.CharField(help_text='Of the agent.', max_length=253)),
                ('host_id', opsapi.fields.OptionalIdField(db_collation='C', help_text='The host of the process.', max_length=24, null=True)),
                ('move', models.CharField(max_length=20)),
                ('step', models.CharField(max_length=200, null=True)),
                ('goal_version', models.PositiveIntegerField()),
                ('request_id', models.CharField(max_length=64)),
                ('fence', models.BigIntegerField()),
                ('granted', models.DateTimeField()),
                ('expires', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('state', models.CharField(choices=[('HELD', 'HELD'), ('DONE', 'DONE'), ('FAILED', 'FAILED'), ('EXPIRED', 'EXPIRED')], default='HELD', max_length=7)),
                ('ended', models.DateTimeField(null=True)),
                ('reason', models.TextField(help_text='Why the move failed.', null=True)),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='plan_turns', to='accesslist.project', verbose_name='project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended', None)), fields=('group', 'unit'), name='turn_once'), models.UniqueConstraint(fields=('group', 'request_id'), name='turn_request_once'), models.UniqueConstraint(fields=('group', 'unit', 'fence'), name='turn_fence_once')],
            },
        ),
        migrations.CreateModel(
            name='WaitingMove',
            fields=[
                ('id', opsapi.fields.PrimaryIdField(db_collation='C', default=opsapi.ids.new_id, editable=False, max_length=24, primary_key=True, serialize=False)),
                ('process', models.CharField(max_length=300)),
                ('replica_set', models.CharField(default='', max_length=200)),
                ('host_id', opsapi.fields.OptionalIdField(db_collation='C', max_length=24, null=True)),
                ('move', models.CharField(max_length=20)),
                ('reason', models.CharField(max_length=40)),
                ('names', models.JSONField(default=dict, help_text='The names in the sentence of the reason.')),
                ('since', models.DateTimeField()),
                ('began', models.DateTimeField()),
                ('asked', models.DateTimeField()),
                ('alerted', models.BooleanField(default=False, help_text='AUTOMATION_PLAN_WAITING was recorded.')),
                ('group', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='waiting_moves', to='accesslist.project', verbose_name='project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('group', 'process'), name='waiting_move_once')],
            },
        ),
    ]
