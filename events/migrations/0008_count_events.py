"""Counts the events from before the triggers, while others record events.

One statement sees the events and the changes that the triggers counted at the same moment; the difference is
what no trigger has counted.
"""

from django.db import migrations

_COUNT = """
INSERT INTO events_eventcount (scope, event_type, day, number, merged)
SELECT scope, event_type, day, sum(number), true
  FROM (SELECT scopes.scope, event_type, (created AT TIME ZONE 'UTC')::date AS day, count(*) AS number
          FROM events_event CROSS JOIN LATERAL (VALUES (''), (group_id), (org_id)) AS scopes (scope)
         WHERE scopes.scope IS NOT NULL
         GROUP BY 1, 2, 3
        UNION ALL
        SELECT scope, event_type, day, -number FROM events_eventcount) AS uncounted
 GROUP BY scope, event_type, day HAVING sum(number) <> 0
"""


class Migration(migrations.Migration):
    dependencies = [
        ("events", "0007_event_counts"),
    ]

    operations = [
        migrations.RunSQL([_COUNT], migrations.RunSQL.noop),
    ]
