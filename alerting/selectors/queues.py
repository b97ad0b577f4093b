"""WITH clauses that list the projects, destinations or agents with work in a queue of the workers.

Each clause returns each of them once, and NULL at the end. It reads an index from value to value, so the
length of a queue does not matter.
"""

from opsapi.sql import each_value

PROJECTS_WITH_SIGNALS = each_value(
    "waiting",
    "group_id",
    table="events_signal",
    where="failed IS NULL AND held_by IS NULL",
    order="group_id",
)
"""`waiting(group_id)`: the projects with signals to evaluate now.

A held signal is not read: it waits for other reports of its agent.
"""

PROJECTS_WITH_UNDECIDED = each_value(
    "waiting",
    "group_id",
    table="alerting_notification",
    where="status = 'PENDING' AND destination = '' AND lease_token IS NULL",
    order="group_id, due",
)
"""`waiting(group_id)`: the projects with notifications without a destination."""

DESTINATIONS_WITH_MESSAGES = each_value(
    "waiting",
    "destination",
    table="alerting_notification",
    where="status = 'PENDING' AND destination > '' AND lease_token IS NULL",
    order="destination",
)
"""`waiting(destination)`: the destinations with notifications that are due or become due."""

PROJECTS_WITH_TRACKED = each_value(
    "tracking", "group_id", table="alerting_alert", where="status = 'TRACKING'", order="group_id, opens"
)
"""`tracking(group_id)`: the projects with alerts whose delay has not passed, or that are due to open."""

AGENTS_WITH_LATE = each_value(
    "reporting",
    "agent_id",
    table="events_signal",
    where="failed IS NULL AND agent_id IS NOT NULL",
    order="agent_id, coalesce(observed, created)",
)
"""`reporting(agent_id)`: the agents with late reports whose signals are not evaluated, or are held."""
