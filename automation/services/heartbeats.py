"""Finds agents and hosts that stopped reporting.

Any number of workers can run this. Found rows are checked again under the locks of a report, in the same
order. Each transaction covers a batch of a project.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Model, Q, QuerySet

from accesslist.services.locks import scopes_lock_shared
from automation.choices import AgentType
from automation.models import Agent, FleetWatch, Host
from automation.rules.agents import AGENT_DOWN
from automation.rules.heartbeats import clocks_start, timed_out_since
from automation.selectors.agents import facts_of_agent
from automation.selectors.hosts import facts_of_host
from automation.services.replica_sets import replica_sets_count
from automation.services.signals import host_signal_state, hosts_signal, versions_signal
from events.services import NewEvent, events_record
from events.types import EventType
from opsapi.api.principal import SYSTEM

PROJECTS_AT_ONCE = 500
"""Maximum number of projects in a sweep; the next sweep continues."""
ROWS_AT_ONCE = 1_000
"""Maximum number of agents and of hosts in a transaction."""

_Row = TypeVar("_Row", bound=Model)
SWEEP_GAP = timedelta(seconds=10)
"""Minimum time between two sweeps of any workers."""


def heartbeats_sweep(*, clock: Callable[[], datetime]) -> None:
    """Mark agents that stopped reporting, and hosts that their agents stopped reporting, as down.

    The clock is read again after each batch, so a long sweep does not look like an absence of the platform.
    """
    now = clock()
    limit = sweep_begin(now=now)
    if limit is None:
        return
    for group_id in _groups_with_timeouts(limit):
        more = True
        while more:
            more = group_timeouts_mark(group_id=group_id, limit=limit, now=now)
            sweep_goes_on(now=clock())


def _groups_with_timeouts(limit: datetime) -> list[str]:
    agents = _timed_out_agents(limit).filter(group__deleted=None).values_list("group_id")
    hosts = _timed_out_hosts(limit).filter(group__deleted=None).values_list("group_id")
    return [group_id for (group_id,) in agents.union(hosts)[:PROJECTS_AT_ONCE]]


def _timed_out_agents(limit: datetime) -> QuerySet[Agent]:
    return Agent.objects.filter(down=False, last_report__lte=limit)


def _timed_out_hosts(limit: datetime) -> QuerySet[Host]:
    """Hosts without a report although their agent reports, and did not return within the timeout."""
    speaking = Q(reported_by__returned=None) | Q(reported_by__returned__lte=limit)
    silent = Host.objects.filter(down=False, last_report__lte=limit)
    return silent.filter(speaking, reported_by__down=False, reported_by__last_report__gt=limit)


@transaction.atomic
def group_timeouts_mark(*, group_id: str, limit: datetime, now: datetime) -> bool:
    """Mark a batch of agents and hosts of a project whose last report is not after `limit`.

    Return whether there may be more.
    """
    if group_id not in scopes_lock_shared(groups=[group_id]).orgs_of_groups:
        return False
    # Locked in the same order as by reports. Rows that reported while this waited are left out.
    agents = list(_batch(_timed_out_agents(limit).filter(group_id=group_id)))
    hosts = list(_batch(_timed_out_hosts(limit).filter(group_id=group_id)))
    events = [*_agents_down(agents), *_hosts_down(hosts)]
    sets = replica_sets_count(set_ids={host.replica_set_id for host in hosts if host.replica_set_id})
    events_record(events=[*events, *sets.events], actor=SYSTEM, now=now, group_id=group_id)
    hosts_signal(group_id=group_id, hosts=map(host_signal_state, hosts), replica_sets=sets.states, now=now)
    if agents:
        versions_signal(group_id=group_id, now=now)
    return ROWS_AT_ONCE in (len(agents), len(hosts))


def _batch(rows: QuerySet[_Row]) -> QuerySet[_Row]:
    return rows.order_by("id").select_for_update(of=("self",))[:ROWS_AT_ONCE]


def _agents_down(agents: Sequence[Agent]) -> list[NewEvent]:
    """Mark the agents. Their hosts keep their state."""
    Agent.objects.filter(id__in=[agent.id for agent in agents]).update(down=True)
    return [
        NewEvent(event_type=AGENT_DOWN[AgentType(agent.agent_type)], facts=facts_of_agent(agent))
        for agent in agents
    ]


def _hosts_down(hosts: Sequence[Host]) -> list[NewEvent]:
    Host.objects.filter(id__in=[host.id for host in hosts]).update(down=True)
    for host in hosts:
        host.down = True
    return [
        NewEvent(event_type=EventType.HOST_DOWN, facts=facts_of_host(host), signals=False) for host in hosts
    ]


def clocks_restart(*, now: datetime) -> None:
    """Count heartbeat timeouts from now on, because agents could not report before."""
    watch = FleetWatch(counting_since=now)
    FleetWatch.objects.bulk_create(
        [watch], update_conflicts=True, unique_fields=["id"], update_fields=["counting_since"]
    )


@transaction.atomic
def sweep_begin(*, now: datetime) -> datetime | None:
    """Record a sweep. Return the limit: agents and hosts whose last report is not later have timed out.

    Return None if the clocks started too recently, or if another worker has just swept.
    """
    FleetWatch.objects.bulk_create([FleetWatch(counting_since=now)], ignore_conflicts=True)
    watch = FleetWatch.objects.select_for_update().get()
    if watch.swept is not None and now - watch.swept < SWEEP_GAP:
        return None
    _note(watch, now)
    return timed_out_since(counting_since=watch.counting_since, now=now)


@transaction.atomic
def sweep_goes_on(*, now: datetime) -> None:
    """Record that a sweep continues, so that a long sweep does not count as an absence."""
    watch = FleetWatch.objects.select_for_update().get()
    if watch.swept is None or watch.swept < now:
        _note(watch, now)


def _note(watch: FleetWatch, now: datetime) -> None:
    watch.counting_since = clocks_start(counting_since=watch.counting_since, swept=watch.swept, now=now)
    watch.swept = now
    watch.save(update_fields=["counting_since", "swept"])
