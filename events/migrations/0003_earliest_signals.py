"""Adds indexes of signals without the stronger lock that their new columns need.

The search for alerts to open reads the earliest signal of each project, however many signals wait. Held
signals have an index of their own, because workers that look for work do not read them.
"""

from django.db import migrations, models
from django.db.models.functions import Coalesce


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0002_observed_signals"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='signal',
            name='signal_group_order',
        ),
        migrations.AddIndex(
            model_name='signal',
            index=models.Index(condition=models.Q(('failed', None), ('held_by', None)), fields=['group_id', 'id'], name='signal_group_order'),
        ),
        migrations.AddIndex(
            model_name='signal',
            index=models.Index('held_by', Coalesce('observed', 'created'), condition=models.Q(('held_by__isnull', False)), name='signal_held'),
        ),
        migrations.AddIndex(
            model_name="signal",
            index=models.Index(
                "group_id",
                Coalesce("observed", "created"),
                condition=models.Q(("failed", None), ("held_by", None)),
                name="signal_group_earliest",
            ),
        ),
    ]
