"""The clocks of heartbeat timeouts cannot start in the future, and clocks that do are repaired.

A trigger compares with the clock of the database: a CHECK constraint would be checked while a backup is
restored, on a machine whose clock may be behind. Triggers are restored after the rows.
"""

from django.db import migrations

_REPAIR = """
UPDATE automation_fleetwatch
   SET counting_since = least(counting_since, clock_timestamp()),
       swept = CASE WHEN swept <= clock_timestamp() THEN swept END
 WHERE counting_since > clock_timestamp() OR swept > clock_timestamp()
"""
_FUNCTION = """
CREATE FUNCTION automation_clocks_not_ahead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.counting_since > clock_timestamp() + interval '1 minute' THEN
        RAISE EXCEPTION 'the clocks of heartbeat timeouts cannot start in the future: %', NEW.counting_since
              USING ERRCODE = 'check_violation', CONSTRAINT = 'fleet_watch_not_ahead';
    END IF;
    RETURN NEW;
END $$
"""
_TRIGGER = """
CREATE TRIGGER fleet_watch_not_ahead BEFORE INSERT OR UPDATE OF counting_since ON automation_fleetwatch
FOR EACH ROW EXECUTE FUNCTION automation_clocks_not_ahead()
"""


class Migration(migrations.Migration):
    dependencies = [("automation", "0003_demonstration_agents")]

    operations = [
        migrations.RunSQL([_REPAIR], migrations.RunSQL.noop),
        migrations.RunSQL([_FUNCTION], ["DROP FUNCTION automation_clocks_not_ahead"]),
        migrations.RunSQL([_TRIGGER], ["DROP TRIGGER fleet_watch_not_ahead ON automation_fleetwatch"]),
    ]
