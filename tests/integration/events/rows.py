"""Events by the thousand, written as the log would hold them after some days."""

from datetime import UTC, datetime, timedelta

from events.models import Event
from opsapi.sql import execute

NOW = datetime(2099, 3, 1, 12, 0, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)

# Every project has every type but TEAM_CREATED, which is the organization's; every 101st is a NEW_HOST.
_FILL = """
    INSERT INTO events_event (id, created, event_type, group_id, org_id, alert_id, details, diffs, raw)
    SELECT lpad(to_hex(n), 24, '0'), %(now)s::timestamptz - n * %(step)s::interval,
           CASE WHEN n %% 500 = 0 THEN 'TEAM_CREATED' WHEN n %% 101 = 0 THEN 'NEW_HOST'
                ELSE (ARRAY['HOST_DOWN', 'HOST_UP', 'JOINED_GROUP'])[n %% 3 + 1] END,
           CASE WHEN n %% 500 <> 0 THEN lpad(to_hex(n %% 20), 24, 'a') END,
           CASE WHEN n %% 500 = 0 THEN lpad('1', 24, 'b') END,
           CASE WHEN n %% 7 = 0 THEN lpad(to_hex(n / 70), 24, 'c') END,
           jsonb_build_object('hostname', 'db' || n %% 300)
           || CASE WHEN n %% 11 = 0 THEN jsonb_build_object('hostId', 'host' || n %% 4) ELSE '{}' END
           || CASE WHEN n %% 2 = 0 THEN jsonb_build_object('username', 'user' || n %% 101,
                                                           'remoteAddress', '192.0.2.' || n %% 200)
                   WHEN n %% 3 = 0 THEN jsonb_build_object('publicKey', 'key' || n %% 100,
                                                           'remoteAddress', '198.51.100.1')
                   ELSE '{}' END,
           CASE WHEN n %% 13 = 0 THEN jsonb_build_array(jsonb_build_object('id', 'host' || n %% 4))
                ELSE '[]' END, '{}'
    FROM generate_series(1, %(count)s) AS n
"""


def group(number: int) -> str:
    """The id of one of the 20 projects."""
    return f"{number:x}".rjust(24, "a")


ORG = "1".rjust(24, "b")


def fill(count: int) -> None:
    """So many events, the newest first, one every STEP back from NOW.

    Plans depend on no rows of other tests that were rolled back, and on no sample: all rows are analyzed.
    """
    execute("TRUNCATE events_event")
    execute("SET LOCAL default_statistics_target = 500")
    # As on solid-state disks. By default, reading all events costs about as much as a project's.
    execute("SET LOCAL random_page_cost = 1.1")
    execute(_FILL, {"now": NOW, "step": f"{STEP.total_seconds()} seconds", "count": count})
    execute("ANALYZE events_event")


def all_events() -> list[Event]:
    """Every event, newest first."""
    return list(Event.objects.order_by("-created", "-id"))
