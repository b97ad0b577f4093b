"""Marks hosts and agents of a project that run an older version than others.

This runs after a version is added, removed or changed, never within a report, because it changes rows of
other hosts. An agent that is down may be out of service: it is not compared, and its own mark stays.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from accesslist.locks import scopes_lock_shared
from automation.agents.models import Agent
from automation.agents.rules import AGENT_VERSION_BEHIND, transition_event
from automation.agents.store import facts_of_agent
from automation.choices import AgentType
from automation.hosts.models import Host
from automation.hosts.rules import behind, behind_in_series
from automation.hosts.signals import host_signal_state, known_hosts_signal, versions_signal
from automation.hosts.store import facts_of_host
from events.log.changes import NewEvent, events_record
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.sql import fetch_rows

ROWS_AT_ONCE = 1_000
"""Maximum number of hosts and of agents in a transaction; another signal continues."""

# Locked by id, as in reports. PostgreSQL checks a row again if its version changed meanwhile.
_WRONG_HOSTS = """
SELECT id FROM automation_host
 WHERE group_id = %(group)s AND deleted IS NULL
   AND version_behind <> coalesce(version = ANY(%(behind)s::text[]), false)
 ORDER BY id LIMIT %(limit)s FOR UPDATE
"""
_WRONG_AGENTS = """
SELECT id FROM automation_agent
 WHERE group_id = %(group)s AND NOT down
   AND version_behind <> (concat_ws(' ', agent_type, version) = ANY(%(behind)s::text[]))
 ORDER BY id LIMIT %(limit)s FOR UPDATE
"""


@transaction.atomic
def version_marks_update(*, group_id: str, now: datetime, observed: datetime | None = None) -> None:
    """Update the marks and record the events; do nothing in a deleted project.

    `observed`: when the change of a version was observed, if that was before `now`.
    """
    if group_id not in scopes_lock_shared(groups=[group_id]).orgs_of_groups:
        return
    # Agents before hosts, as reports lock them.
    agents = _remark_agents(group_id)
    hosts = _remark_hosts(group_id)
    events_record(
        events=[*map(_agent_event, agents), *(_host_event(host, observed) for host in hosts)],
        actor=SYSTEM,
        now=now,
        group_id=group_id,
    )
    states = [(host, host_signal_state(host)) for host in hosts]
    known_hosts_signal(group_id=group_id, states=states, now=now, observed=observed)
    if max(len(agents), len(hosts)) >= ROWS_AT_ONCE:
        versions_signal(group_id=group_id, now=now, observed=observed)


def _remark_agents(group_id: str) -> list[Agent]:
    of_group = Agent.objects.filter(group_id=group_id, down=False)
    versions = [
        f"{kind.value} {version}"
        for kind in AGENT_VERSION_BEHIND
        for version in behind(
            of_group.filter(agent_type=kind.value).values_list("version", flat=True).distinct()
        )
    ]
    wrong = _locked(_WRONG_AGENTS, group=group_id, behind=versions)
    Agent.objects.filter(id__in=wrong).update(version_behind=~F("version_behind"))
    return list(Agent.objects.filter(id__in=wrong).order_by("id"))


def _remark_hosts(group_id: str) -> list[Host]:
    known = Host.objects.filter(group_id=group_id).values_list("version", flat=True).distinct()
    versions = behind_in_series(version for version in known if version is not None)
    wrong = _locked(_WRONG_HOSTS, group=group_id, behind=list(versions))
    Host.objects.filter(id__in=wrong).update(version_behind=~F("version_behind"))
    return list(Host.objects.filter(id__in=wrong).order_by("id"))


def _locked(statement: str, **parameters: str | list[str]) -> list[str]:
    return [row_id for (row_id,) in fetch_rows(statement, {**parameters, "limit": ROWS_AT_ONCE})]


def _agent_event(agent: Agent) -> NewEvent:
    opening = AGENT_VERSION_BEHIND[AgentType(agent.agent_type)]
    return NewEvent(
        event_type=transition_event(opening, holds=agent.version_behind), facts=facts_of_agent(agent)
    )


def _host_event(host: Host, observed: datetime | None) -> NewEvent:
    """The event of a changed mark, without a signal of its own: the signal of hosts has the state."""
    event_type = transition_event(EventType.VERSION_BEHIND, holds=host.version_behind)
    return NewEvent(event_type=event_type, facts=facts_of_host(host), happened=observed, signals=False)
