"""Sorts the notifications that wait for a destination by time, and then by their number of creation.

The old index goes after the new index is complete: its removal locks the table for readers too.
"""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("alerting", "0022_fill_incidents")]

    operations = [
        migrations.AddIndex(
            "notification",
            models.Index(
                fields=["destination", "due", "sequence"],
                name="notification_claimed_next",
                condition=Q(status="PENDING", destination__gt="", lease_token=None),
            ),
        ),
        migrations.RemoveIndex("notification", "notification_waiting"),
    ]
