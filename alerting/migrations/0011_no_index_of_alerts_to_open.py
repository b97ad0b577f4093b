"""The index of the alerts to open of all projects together is no longer read.

It is removed in a transaction of its own, because the removal needs a stronger lock than the creation of the
index that replaces it.
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
