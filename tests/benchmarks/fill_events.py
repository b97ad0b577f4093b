"""Fills the event log of a project. Needs a Django that is set up: see `event_scale`."""

import json
import sys
from datetime import timedelta

from django.db import connection

from opsapi import clock
from opsapi.roles import Role
from tests.factories.accesslist import ProjectFactory, make_key

_AT_ONCE = 200_000
_TYPES = ["OUTSIDE_METRIC_THRESHOLD", "HOST_DOWN", "HOST_UP", "NO_PRIMARY", "MONITORING_AGENT_DOWN"]
_INSERT = """
INSERT INTO events_event (id, created, event_type, group_id, org_id, details, diffs, raw)
SELECT lpad(to_hex(number), 24, '0'), %(now)s - number * interval '4 seconds',
       (%(types)s::text[])[1 + number %% 5], %(group_id)s, %(org_id)s, details, '[]', details
  FROM generate_series(%(first)s::int, %(last)s::int) AS number,
       LATERAL (SELECT jsonb_build_object(
           'hostname', 'db' || number %% 1000 || '.example.com', 'port', 27017,
           'replicaSetName', 'rs' || number %% 300
       ) AS details) AS known
"""


def main() -> None:
    """Take a number of events, and write ids, a past hour and a key to stdout, as JSON."""
    count, project, now = int(sys.argv[1]), ProjectFactory.create(), clock.now().replace(microsecond=0)
    ids = {"group_id": project.id, "org_id": project.org_id}
    with connection.cursor() as cursor:
        for first in range(1, count + 1, _AT_ONCE):
            numbers = {"first": first, "last": min(count, first + _AT_ONCE - 1)}
            cursor.execute(_INSERT, {**ids, **numbers, "now": now, "types": _TYPES})
        cursor.execute("VACUUM ANALYZE events_event")
    key = make_key(Role.GLOBAL_READ_ONLY)
    hour = {
        name: (now - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name, hours in (("minDate", 2), ("maxDate", 1))
    }
    sys.stdout.write(json.dumps({**ids, "hour": hour, "key": [key.public_key, key.private_key]}))
