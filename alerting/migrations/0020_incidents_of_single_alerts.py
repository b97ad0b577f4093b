"""Every open alert belongs to an incident; without grouping, the incident has the id of the alert.

The previous version writes no incident for an alert without grouping, and its processes can run for a while after
this migration. So triggers complete their rows: a notification gets the incident of its alert when it is inserted,
and an alert without an incident begins one when its transaction ends, because the alert can join another incident
until then. The triggers call no function for rows of this version. The version after this version removes them.
"""

import django.db.models.deletion
from django.db import migrations, models

import opsapi.fields

_OF_NOTIFICATIONS = """
CREATE FUNCTION alerting_notification_has_incident() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.incident_id := coalesce((SELECT incident_id FROM alerting_alert WHERE id = NEW.alert_id), NEW.alert_id);
    RETURN NEW;
END $$
"""
_ON_NOTIFICATIONS = """
CREATE TRIGGER notification_has_incident BEFORE INSERT ON alerting_notification
FOR EACH ROW WHEN (NEW.incident_id IS NULL AND NEW.alert_id IS NOT NULL)
EXECUTE FUNCTION alerting_notification_has_incident()
"""
_OF_ALERTS = """
CREATE FUNCTION alerting_alert_has_incident() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO alerting_incident (id, group_id, config_id, lead_id, units, created, grown)
    SELECT id, group_id, config_id, id, '{}', updated, updated
      FROM alerting_alert WHERE id = NEW.id AND status = 'OPEN' AND incident_id IS NULL
        ON CONFLICT (id) DO NOTHING;
    UPDATE alerting_alert SET incident_id = id WHERE id = NEW.id AND status = 'OPEN' AND incident_id IS NULL;
    RETURN NULL;
END $$
"""
_ON_ALERTS = """
CREATE CONSTRAINT TRIGGER alert_has_incident AFTER INSERT OR UPDATE OF status ON alerting_alert
DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.incident_id IS NULL AND NEW.status = 'OPEN')
EXECUTE FUNCTION alerting_alert_has_incident()
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
                help_text="The incident that the message is about, or includes its alert. Empty for an event, "
                "and for alerts that ended before every alert had an incident.",
            ),
        ),
        migrations.RunSQL([_OF_NOTIFICATIONS], ["DROP FUNCTION alerting_notification_has_incident"]),
        migrations.RunSQL(
            [_ON_NOTIFICATIONS], ["DROP TRIGGER notification_has_incident ON alerting_notification"]
        ),
        migrations.RunSQL([_OF_ALERTS], ["DROP FUNCTION alerting_alert_has_incident"]),
        migrations.RunSQL([_ON_ALERTS], ["DROP TRIGGER alert_has_incident ON alerting_alert"]),
    ]
