"""Removes the index of the earliest signal of a project that has late signals too, which is no longer read.

The removal has its own transaction, because it needs a stronger lock than the creation of the new indexes.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("events", "0007_earliest_signals_by_agent"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="signal",
            name="signal_group_earliest",
        ),
    ]
