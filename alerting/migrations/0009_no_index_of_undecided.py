"""The index of all undecided notifications is no longer read.

It is removed in a transaction of its own: the removal needs a stronger lock than the creation of the index that
replaces it, and a transaction that has the weaker lock could wait for another in a circle.
"""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ("alerting", "0008_clocks_of_workers"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="notification",
            name="notification_undecided",
        ),
    ]
