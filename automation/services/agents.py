"""Records heartbeats of agents, adds unknown agents and deletes agents."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from accesslist.services.locks import actor_lock_shared, project_lock_exclusive
from automation.choices import AgentType
from automation.hooks import agent_deleting
from automation.models import Agent, Host
from automation.reports import Report
from automation.rules.agents import AGENT_DOWN, transition_event
from automation.rules.heartbeats import HEARTBEAT_TIMEOUT, heard_limit
from automation.selectors.agents import agents_named, facts_of_agent
from automation.services.heartbeats import clocks_restart
from automation.services.signals import versions_signal
from events.choices import DiffType
from events.diffs import diff
from events.services import NewEvent, event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.principal import Actor

HEARTBEAT = timedelta(seconds=1)
"""Age at which a heartbeat is written again. Without it, reports of an agent would wait for each other."""
# Returns the id of an agent without changes, and writes its heartbeat if it is due. Returns no row otherwise.
_BEAT = """
WITH known AS (
    SELECT id, version = %(version)s AND NOT down
               AND last_report > %(young)s AND last_report <= %(ahead)s AS is_young
      FROM automation_agent
     WHERE group_id = %(group_id)s AND agent_type = %(agent_type)s AND lower(hostname) = %(hostname)s
), beat AS (
    UPDATE automation_agent AS agent SET last_report = %(now)s FROM known
     WHERE agent.id = known.id AND NOT known.is_young
       AND agent.version = %(version)s AND NOT agent.down
       AND agent.last_report > %(heard)s AND agent.last_report <= %(ahead)s
    RETURNING agent.id
)
SELECT id FROM known WHERE is_young UNION ALL SELECT id FROM beat
"""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The result of a heartbeat: the agent, its events, and whether versions must be compared again."""

    agent_id: str
    events: Sequence[NewEvent]
    compare_versions: bool


def agent_seen(*, group_id: str, report: Report, now: datetime) -> Heartbeat:
    """Write the heartbeat of an agent and its changes.

    A changed agent is locked until the transaction ends.
    """
    if agent_id := _beat_steadily(group_id, report, now):
        return Heartbeat(agent_id, [], compare_versions=False)
    agent = _known(group_id, report)
    if agent is None or agent.last_report <= now - HEARTBEAT_TIMEOUT:
        _restart_clocks_after_absence(now)
    if agent is None:
        return _agent_add(group_id, report, now)
    return _beat(agent, report, now)


@transaction.atomic
def agent_delete(*, group_id: str, agent_type: AgentType, hostname: str, actor: Actor, now: datetime) -> None:
    """Delete an agent. Its hosts keep their state; its next report adds it again.

    Raises: ApiError: AGENT_NOT_FOUND, or GROUP_NOT_FOUND if the project was deleted meanwhile.
    """
    actor_lock_shared(actor)

    def named() -> Agent:
        agent = agents_named(group_id, agent_type, hostname).first()
        return get_or_404(agent, ErrorCode.AGENT_NOT_FOUND, agent_type.value, hostname)

    # First, because the receivers take locks whose holders may wait for the lock of the project.
    agent_deleting.send(sender=Agent, agent=named(), actor=actor, now=now)
    project_lock_exclusive(group_id=group_id)
    agent = named()
    event_record(
        event_type=EventType.AGENT_DELETED_AUDIT,
        actor=actor,
        now=now,
        group_id=group_id,
        facts=facts_of_agent(agent),
        diffs=diff(DiffType(f"{agent.agent_type}_AGENT"), agent.id, old=_audit_facts(agent)),
    )
    Host.with_deleted.filter(group_id=group_id, reported_by=agent).update(reported_by=None)
    agent.delete()
    versions_signal(group_id=group_id, now=now)


def _audit_facts(agent: Agent) -> dict[str, str]:
    return {"agentType": agent.agent_type, "hostname": agent.hostname, "version": agent.version}


def _restart_clocks_after_absence(now: datetime) -> None:
    """Restart the clocks if no agent reported for the timeout: then the platform was down."""
    if not Agent.objects.filter(last_report__gt=now - HEARTBEAT_TIMEOUT).exists():
        clocks_restart(now=now)


def _beat_steadily(group_id: str, report: Report, now: datetime) -> str | None:
    """Return the id of an agent without changes, otherwise None."""
    values = {
        "group_id": group_id,
        "agent_type": report.agent_type.value,
        "hostname": report.hostname.lower(),
        "version": report.version,
        "now": now,
        "heard": heard_limit(now),
        "young": now - HEARTBEAT,
        "ahead": now + HEARTBEAT,
    }
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, values)
        row = cursor.fetchone()
        return row[0] if row else None


def _known(group_id: str, report: Report) -> Agent | None:
    return agents_named(group_id, report.agent_type, report.hostname).select_for_update().first()


def _agent_add(group_id: str, report: Report, now: datetime) -> Heartbeat:
    """Add an agent. Of two concurrent first reports, one adds the agent and records the event."""
    fresh = Agent(
        group_id=group_id,
        agent_type=report.agent_type.value,
        hostname=report.hostname,
        version=report.version,
        created=now,
        last_report=now,
    )
    Agent.objects.bulk_create([fresh], ignore_conflicts=True)
    agent = _known(group_id, report)
    if agent is None:
        raise LookupError(f"the agent {report.hostname} could neither be found nor added")
    if agent.id != fresh.id:
        return _beat(agent, report, now)
    event = NewEvent(event_type=EventType.NEW_AGENT, facts=facts_of_agent(agent))
    return Heartbeat(agent.id, [event], compare_versions=True)


def _beat(agent: Agent, report: Report, now: datetime) -> Heartbeat:
    version_changed, was_down = agent.version != report.version, agent.down
    # Its hosts get the full timeout again, even if no sweep has noticed the gap.
    if was_down or agent.last_report <= now - HEARTBEAT_TIMEOUT:
        agent.returned = now
    agent.version, agent.last_report, agent.down = report.version, now, False
    agent.save(update_fields=["version", "last_report", "down", "returned"])
    up = transition_event(AGENT_DOWN[AgentType(agent.agent_type)], holds=False)
    events = [NewEvent(event_type=up, facts=facts_of_agent(agent))] if was_down else []
    return Heartbeat(agent.id, events, version_changed or was_down)
