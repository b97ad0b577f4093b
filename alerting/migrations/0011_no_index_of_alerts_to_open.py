"""Removes the index of the alerts to open of all projects, which the platform no longer reads.

The removal has its own transaction, because it needs a stronger lock than the creation of the new index.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0010_alerts_to_open_by_project"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="alert",
            name="alert_opens",
        ),
    ]
