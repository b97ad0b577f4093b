"""Adds the agent that reports a host, the state of agents, and the time from which timeouts count."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('automation', '0006_room_for_heartbeats'),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='down',
            field=models.BooleanField(default=False, help_text='It has fallen silent.'),
        ),
        migrations.AddField(
            model_name='agent',
            name='returned',
            field=models.DateTimeField(help_text='When it was last heard again after a silence.', null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='reported_by',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='automation.agent'),
        ),
        migrations.CreateModel(
            name='FleetWatch',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('counting_since', models.DateTimeField()),
                ('swept', models.DateTimeField(null=True)),
            ],
            options={
                'verbose_name_plural': 'fleet watch',
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='fleet_watch_once')],
            },
        ),
    ]
