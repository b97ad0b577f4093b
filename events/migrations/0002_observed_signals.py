"""Signals know when their cause was observed, and can wait for other reports of their agent."""

import opsapi.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('events', '0001_squashed_0008_count_events'),
    ]

    operations = [
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
    ]
