"""Every open alert belongs to an incident; without grouping, the incident has the id of the alert.

The previous version writes no incident for an alert without grouping, and its processes can run for a while after
this migration. So triggers complete their rows: a notification of an open alert gets its incident when it is inserted,
and the next migration does the same for alerts. A notification of an alert that has ended without an incident stays
without one until 0022 gives one to both. The triggers call no function for rows of this version. The version after
this version removes them.
"""

import django.db.models.deletion
from django.db import migrations, models

import opsapi.fields

_OF_NOTIFICATIONS = """
CREATE FUNCTION alerting_notification_has_incident() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.incident_id := (SELECT coalesce(incident_id, CASE WHEN status = 'OPEN' THEN id END)
                          FROM alerting_alert WHERE id = NEW.alert_id);
    RETURN NEW;
END $$
"""
_ON_NOTIFICATIONS = """
CREATE TRIGGER notification_has_incident BEFORE INSERT ON alerting_notification
FOR EACH ROW WHEN (NEW.incident_id IS NULL AND NEW.alert_id IS NOT NULL)
EXECUTE FUNCTION alerting_notification_has_incident()
"""

class Migration(migrations.Migration):
    dependencies = [("alerting", "0001_squashed_0019_pace_of_destinations")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField(model_name="incident", name="lead_id"),
                migrations.AddField(
                    model_name="incident",
                    name="lead",
                    field=models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="alerting.alert",
                    ),
                    preserve_default=False,
                ),
            ],
        ),
        migrations.AlterField(
            model_name="alert",
            name="incident_id",
            field=opsapi.fields.OptionalIdField(
                help_text="The incident of the alert, from its opening. It has the ID of the alert if the "
                "alert is notified separately.",
            ),
        ),
        migrations.AlterField(
            model_name="notification",
            name="incident_id",
            field=opsapi.fields.OptionalIdField(
                help_text="The incident that the message is about, or that includes its alert. Empty for an event, "
                "and for alerts that ended before every alert had an incident.",
            ),
        ),
        migrations.RunSQL([_OF_NOTIFICATIONS], ["DROP FUNCTION alerting_notification_has_incident"]),
        migrations.RunSQL(
            [_ON_NOTIFICATIONS], ["DROP TRIGGER notification_has_incident ON alerting_notification"]
        ),
    ]
