"""Removes the index that only workers of an earlier build read."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("events", "0001_squashed_0007_earliest_signals_by_agent")]

    operations = [migrations.RemoveIndex("signal", "signal_group_earliest")]
