"""An open alert of the previous version begins an incident when its transaction ends, because it can join one until then.

This trigger has a transaction of its own: workers lock rows of alerts and notifications in both orders, and a
migration that locks both tables could deadlock with them.
"""

from django.db import migrations

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
    dependencies = [("alerting", "0020_incidents_of_single_alerts")]

    operations = [
        migrations.RunSQL([_OF_ALERTS], ["DROP FUNCTION alerting_alert_has_incident"]),
        migrations.RunSQL([_ON_ALERTS], ["DROP TRIGGER alert_has_incident ON alerting_alert"]),
    ]
