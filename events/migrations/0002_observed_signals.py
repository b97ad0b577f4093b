"""Signals know when their cause was observed, and can wait for other reports of their agent.

Waiting signals are in an index of their own: workers that look for work do not read them.
"""

import opsapi.fields
from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0001_squashed_0008_count_events'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='signal',
            name='signal_group_order',
        ),
        migrations.AddField(
            model_name='signal',
            name='held_by',
            field=opsapi.fields.OptionalIdField(db_collation='C', help_text='ID of the agent whose older reports wait: the signal is evaluated after them.', max_length=24, null=True),
        ),
        migrations.AddField(
            model_name='signal',
            name='observed',
            field=models.DateTimeField(help_text='When it was observed, if that was before it was written.', null=True),
        ),
        migrations.AddIndex(
            model_name='signal',
            index=models.Index(condition=models.Q(('failed', None), ('held_by', None)), fields=['group_id', 'id'], name='signal_group_order'),
        ),
        migrations.AddIndex(
            model_name='signal',
            index=models.Index('held_by', Coalesce('observed', 'created'), condition=models.Q(('held_by__isnull', False)), name='signal_held'),
        ),
    ]
