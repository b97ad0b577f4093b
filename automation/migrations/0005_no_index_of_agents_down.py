"""Removes the index of agents that are down: the console finds agents that do not report by their last report."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("automation", "0004_clocks_not_ahead")]

    operations = [migrations.RemoveIndex(model_name="agent", name="agent_silent")]
