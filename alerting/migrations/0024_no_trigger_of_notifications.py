"""Removes the trigger that completed the notifications of an earlier build: the last build names incidents itself."""

from django.db import migrations

_DROP = [
    "DROP TRIGGER IF EXISTS notification_has_incident ON alerting_notification",
    "DROP FUNCTION IF EXISTS alerting_notification_has_incident",
]


class Migration(migrations.Migration):
    dependencies = [("alerting", "0001_squashed_0023_order_of_waiting_notifications")]

    operations = [migrations.RunSQL(_DROP, migrations.RunSQL.noop)]
