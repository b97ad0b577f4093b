"""Removes the trigger that began incidents for the alerts of an earlier build.

This is not part of 0024: workers lock rows of alerts and notifications in both orders, and a migration that locks both
tables could deadlock with them.
"""

from django.db import migrations

_DROP = [
    "DROP TRIGGER IF EXISTS alert_has_incident ON alerting_alert",
    "DROP FUNCTION IF EXISTS alerting_alert_has_incident",
]


class Migration(migrations.Migration):
    dependencies = [("alerting", "0024_no_trigger_of_notifications")]

    operations = [migrations.RunSQL(_DROP, migrations.RunSQL.noop)]
