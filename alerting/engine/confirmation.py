"""Which alerts a report has confirmed since the platform was away.

Until then, an alert does not open, and its delayed messages and reminders wait: it may have ended in the
meantime. The platform waits for reports as long as for heartbeats (`automation.agents.rules`).
"""

from collections.abc import Collection
from datetime import datetime

from alerting.engine.queues import AGENTS_WITH_LATE
from automation.agents.store import awaited_since
from opsapi.sql import fetch_rows

LATE_BY_AGENT = f"""late AS MATERIALIZED (
    {AGENTS_WITH_LATE}
    SELECT agent_id,
           (SELECT coalesce(waiting.observed, waiting.created) FROM events_signal AS waiting
             WHERE waiting.agent_id = reporting.agent_id AND waiting.failed IS NULL
             ORDER BY waiting.agent_id, coalesce(waiting.observed, waiting.created) LIMIT 1) AS oldest
      FROM reporting WHERE agent_id IS NOT NULL
)"""  # noqa: S608 - built from constants
"""`late(agent_id, oldest)`: the earliest late signal of each agent."""


def oldest_signal(group_id: str) -> str:
    """Return an expression: the time of the earliest unevaluated signal of a project that is not late."""
    return f"""(SELECT coalesce(waiting.observed, waiting.created) FROM events_signal AS waiting
                     WHERE waiting.group_id = {group_id} AND waiting.failed IS NULL
                       AND waiting.agent_id IS NULL
                     ORDER BY waiting.group_id, coalesce(waiting.observed, waiting.created) LIMIT 1)"""  # noqa: S608


# Late signals of an agent concern only the hosts of this agent and the replica sets of these hosts.
# Each alert looks up its own hosts: a join with the hosts of an agent would read all of them for each alert.
IS_OF_AGENT = """late.agent_id = ANY(ARRAY(
                          SELECT host.reported_by_id FROM automation_host AS host
                           WHERE host.id = alert.facts ->> 'hostId'
                           UNION ALL
                          SELECT host.reported_by_id FROM automation_replicaset AS known
                            JOIN automation_host AS host ON host.replica_set_id = known.id
                           WHERE known.group_id = alert.group_id
                             AND known.name = alert.facts ->> 'replicaSetName'))"""
# The host gives no recent state: its newest observation is older, or not evaluated. Nobody reports for the
# demonstration.
_IS_UNHEARD = """host.deleted IS NULL AND (host.observed <= %(since)s OR host.observed >= project.oldest)
                      AND NOT EXISTS (SELECT FROM automation_agent AS reporter
                                       WHERE reporter.id = host.reported_by_id AND reporter.demonstration)"""
# After the platform was away, an alert from before waits for a report of its host, else of all members of its
# replica set, else of all hosts of its cluster, or of its agent. A report counts once it is evaluated. Each
# search ends at the first such host.
IS_CONFIRMED = f"""(alert.created > %(since)s OR NOT (
                   EXISTS (SELECT FROM late WHERE {IS_OF_AGENT})
                   OR EXISTS (
                       SELECT FROM automation_host AS host
                        WHERE host.id = alert.facts ->> 'hostId' AND {_IS_UNHEARD})
                   OR NOT alert.facts ? 'hostId' AND EXISTS (
                       SELECT FROM automation_replicaset AS known
                         JOIN automation_host AS host ON host.replica_set_id = known.id
                        WHERE known.group_id = alert.group_id
                          AND known.name = alert.facts ->> 'replicaSetName' AND {_IS_UNHEARD})
                   OR NOT alert.facts ?| ARRAY['hostId', 'replicaSetName'] AND EXISTS (
                       SELECT FROM automation_host AS host
                        WHERE host.cluster_id = alert.facts ->> 'clusterId' AND {_IS_UNHEARD})
                   OR EXISTS (
                       SELECT FROM automation_agent AS agent
                        WHERE agent.group_id = alert.group_id AND NOT agent.demonstration
                          AND (agent.observed <= %(since)s OR agent.observed >= project.oldest)
                          AND agent.agent_type = alert.facts ->> 'sourceTypeName'
                          AND lower(agent.hostname) = lower(alert.facts ->> 'hostname'))))"""  # noqa: S608


_UNCONFIRMED = f"""
WITH {LATE_BY_AGENT}
SELECT alert.id FROM alerting_alert AS alert
 CROSS JOIN LATERAL (SELECT {oldest_signal("alert.group_id")} AS oldest) AS project
 WHERE alert.id = ANY(%(ids)s) AND NOT {IS_CONFIRMED}
"""  # noqa: S608 - built from constants


def unconfirmed_alerts(ids: Collection[str], *, since: datetime) -> set[str]:
    """Return the alerts among these that no observation after `since` has confirmed."""
    rows = fetch_rows(_UNCONFIRMED, {"ids": list(ids), "since": since}) if ids else ()
    return {alert_id for (alert_id,) in rows}


def confirmed_since(now: datetime, *, absent_since: datetime | None) -> datetime | None:
    """Return the time after which an observation confirms an alert; None if the platform waits for no report.

    `absent_since`: the beginning of the last absence of all workers, while a worker waits for reports.
    """
    starts = (awaited_since(now), absent_since)
    return max((since for since in starts if since), default=None)
