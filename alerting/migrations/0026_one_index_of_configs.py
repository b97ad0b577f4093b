"""Removes the index of the newest alerts of a configuration, which `alert_config_noise` replaces.

In a transaction of its own: a transaction that builds and removes indexes deadlocks with writers of alerts.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("alerting", "0025_noise_from_the_index")]

    operations = [migrations.RemoveIndex(model_name="alert", name="alert_config_newest")]
