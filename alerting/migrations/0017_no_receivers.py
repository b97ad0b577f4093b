"""Receivers, as hosts and services that failed together, go: destinations took their place."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("alerting", "0016_destinations")]

    operations = [
        migrations.RemoveField(model_name="notification", name="receiver"),
        migrations.DeleteModel(name="FailingReceiver"),
    ]
