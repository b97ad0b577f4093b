"""Stores when the cause of a signal was observed, and the agent whose other reports the signal waits for."""

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
            field=opsapi.fields.OptionalIdField(db_collation='C', help_text='ID of the agent whose other reports wait. The signal is evaluated after them.', max_length=24, null=True),
        ),
        migrations.AddField(
            model_name='signal',
            name='observed',
            field=models.DateTimeField(help_text='When the cause was observed, if this was before the signal was written.', null=True),
        ),
    ]
