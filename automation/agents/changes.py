"""Heartbeats of agents: records them, finds timeouts of agents and hosts; adds and deletes agents.

Agents of the demonstration do not report any more. They and their hosts have no heartbeat timeout, and their
reports do not show that other agents could report.

Any number of workers can search. Found rows are checked again under the locks of a report, in the same
order. Each transaction covers a batch of a project.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Model, Q, QuerySet

from accesslist.changes import acting
from accesslist.locks import project_lock_exclusive, scopes_lock_shared
from automation.agents.models import Agent, FleetWatch
from automation.agents.rules import (
    AGENT_DOWN,
    HEARTBEAT_TIMEOUT,
    clocks_start,
    heard_limit,
    timed_out_since,
    transition_event,
)
from automation.agents.store import agents_named, facts_of_agent
from automation.choices import AgentType
from automation.hooks import agents_deleting
from automation.hosts.models import Host
from automation.hosts.replica_sets import replica_sets_count
from automation.hosts.signals import host_signal_state, hosts_signal, versions_signal
from automation.hosts.store import facts_of_host
from automation.reports.limits import AGENTS, rows_limited
from automation.reports.rules import HOLD, Report, is_newest
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent, events_record
from events.outbox.changes import agents_with_few_signals, signal_holders, signals_release
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.principal import SYSTEM, Actor
from opsapi.clock import AHEAD
from opsapi.roles import Scope
from opsapi.sql import execute, fetch_rows

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
    Workers pass the clock of the database, because the clocks of machines differ.
    """
    now = clock()
    limit = sweep_begin(now=now)
    if limit is None:
        return
    for group_id in _groups_with_timeouts(limit, now):
        more = True
        while more:
            more = group_timeouts_mark(group_id=group_id, limit=limit, now=now)
            sweep_goes_on(now=clock())


def _groups_with_timeouts(limit: datetime, now: datetime) -> list[str]:
    querysets = (_timed_out_agents(limit), _timed_out_hosts(limit, now), _unmeasured_hosts(limit, now))
    agents, *hosts = (rows.filter(group__deleted=None).values_list("group_id") for rows in querysets)
    return [group_id for (group_id,) in agents.union(*hosts)[:PROJECTS_AT_ONCE]]


def _timed_out_agents(limit: datetime, *, demonstration: bool = False) -> QuerySet[Agent]:
    return Agent.objects.filter(down=False, last_report__lte=limit, demonstration=demonstration)


def _timed_out_hosts(limit: datetime, now: datetime, *, demonstration: bool = False) -> QuerySet[Host]:
    """Hosts without a report although their agent reports, and did not return within the timeout."""
    long_back = Q(reported_by__returned=None) | Q(reported_by__returned__lte=limit)
    timed_out = Host.objects.filter(long_back, down=False, last_report__lte=limit)
    return timed_out.filter(_of_reporting_agents(limit, now, demonstration=demonstration))


def _unmeasured_hosts(limit: datetime, now: datetime) -> QuerySet[Host]:
    """Hosts that were reachable and not measured for the timeout, until a recent observation of monitoring.

    Without a recent observation the state is unknown: a heartbeat timeout or late reports decide.
    """
    unmeasured = Host.objects.filter(not_measured=False, down=False, unmeasured_since__lte=limit)
    recent = unmeasured.filter(observed__gt=limit, last_report__gt=limit)
    monitored = recent.filter(reported_by__agent_type=AgentType.MONITORING.value)
    return monitored.filter(_of_reporting_agents(limit, now, demonstration=False))


def _of_reporting_agents(limit: datetime, now: datetime, *, demonstration: bool) -> Q:
    """Hosts whose agent reports, and has no other reports that wait and can contain the host.

    The platform waits for these reports for HOLD.
    """
    arrived = Q(reported_by__waiting_since=None) | Q(reported_by__waiting_since__lte=now - HOLD)
    return arrived & Q(
        reported_by__down=False,
        reported_by__last_report__gt=limit,
        reported_by__demonstration=demonstration,
    )


@transaction.atomic
def group_timeouts_mark(
    *, group_id: str, limit: datetime, now: datetime, demonstration: bool = False
) -> bool:
    """Mark a batch of agents and hosts of a project whose last report is not after `limit`.

    Mark hosts that are not measured as well.

    `demonstration`: of agents of the demonstration instead of other agents. Return whether there may be more.
    """
    if group_id not in scopes_lock_shared(groups=[group_id]).orgs_of_groups:
        return False
    # Locked in the same order as by reports. Rows that reported while this waited are left out.
    timed_out = _timed_out_agents(limit, demonstration=demonstration)
    agents = list(_batch(timed_out.filter(group_id=group_id)))
    unheard = _timed_out_hosts(limit, now, demonstration=demonstration)
    hosts = list(_batch(unheard.filter(group_id=group_id)))
    unmeasured = (
        [] if demonstration else list(_batch(_unmeasured_hosts(limit, now).filter(group_id=group_id)))
    )
    events = [*_agents_down(agents), *_hosts_down(hosts), *_hosts_not_measured(unmeasured)]
    set_ids = {host.replica_set_id for host in hosts if host.replica_set_id}
    sets = replica_sets_count(set_ids=set_ids, now=now)
    events_record(events=[*events, *sets.events], actor=SYSTEM, now=now, group_id=group_id)
    changed = map(host_signal_state, [*hosts, *unmeasured])
    hosts_signal(group_id=group_id, hosts=changed, replica_sets=sets.states, now=now)
    for holder, states in sets.held.items():
        hosts_signal(
            group_id=group_id, hosts=(), replica_sets=states, now=now, held_by=holder, agent_id=holder
        )
    if agents:
        versions_signal(group_id=group_id, now=now)
    return ROWS_AT_ONCE in (len(agents), len(hosts), len(unmeasured))


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
    """Mark the hosts. The time without measurements starts again when they are reached again."""
    Host.objects.filter(id__in=[host.id for host in hosts]).update(down=True, unmeasured_since=None)
    for host in hosts:
        host.down, host.unmeasured_since = True, None
    return [
        NewEvent(event_type=EventType.HOST_DOWN, facts=facts_of_host(host), signals=False) for host in hosts
    ]


def _hosts_not_measured(hosts: Sequence[Host]) -> list[NewEvent]:
    Host.objects.filter(id__in=[host.id for host in hosts]).update(not_measured=True)
    for host in hosts:
        host.not_measured = True
    return [
        NewEvent(event_type=EventType.HOST_NOT_MEASURED, facts=facts_of_host(host), signals=False)
        for host in hosts
    ]


# A process whose clock is ahead must not stop the clocks of heartbeat timeouts until then.
_START = """
INSERT INTO automation_fleetwatch (id, counting_since) VALUES (1, least(%s, clock_timestamp()))
ON CONFLICT (id)"""
_START_ONCE = f"{_START} DO NOTHING"
_RESTART = f"{_START} DO UPDATE SET counting_since = excluded.counting_since"


def clocks_restart(*, now: datetime) -> None:
    """Count heartbeat timeouts from now on, because agents could not report before."""
    execute(_RESTART, [now])


@transaction.atomic
def sweep_begin(*, now: datetime) -> datetime | None:
    """Record a sweep. Return the limit: agents and hosts whose last report is not later have timed out.

    Return None if the clocks started too recently, or if another worker has just swept.
    """
    execute(_START_ONCE, [now])
    watch = FleetWatch.objects.select_for_update().get()
    # A sweep in the future is no recent sweep: its clock was wrong.
    if watch.swept is not None and abs(now - watch.swept) < SWEEP_GAP:
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


HEARTBEAT = timedelta(seconds=1)
"""Age at which a heartbeat is written again, and difference of times of observation at which it is.

Without it, reports of an agent would wait for each other.
"""
# Returns an agent without changes, and writes its heartbeat if it is due. Returns no row otherwise.
_BEAT = """
WITH known AS (
    SELECT id, waiting_since, version = %(version)s AND NOT down AND demonstration = %(demonstration)s
               AND coalesce(%(update_problem)s, update_problem, '') = coalesce(update_problem, '')
               AND coalesce(%(waits)s::boolean, waiting_since IS NOT NULL) = (waiting_since IS NOT NULL)
               AND last_report > %(young)s AND last_report <= %(ahead)s
               AND coalesce(observed > %(observed_young)s, false)
               AND (%(waits)s::boolean IS NULL OR coalesce(waiting_observed > %(observed_young)s, false))
                   AS is_young
      FROM automation_agent
     WHERE group_id = %(group_id)s AND agent_type = %(agent_type)s AND lower(hostname) = %(hostname)s
), beat AS (
    UPDATE automation_agent AS agent
       SET last_report = %(now)s,
           observed = CASE WHEN agent.observed <= %(now)s THEN greatest(agent.observed, %(observed)s)
                           ELSE %(observed)s END,
           waiting_observed = CASE WHEN %(waits)s::boolean IS NULL THEN agent.waiting_observed
                                   WHEN agent.waiting_observed <= %(now)s
                                   THEN greatest(agent.waiting_observed, %(observed)s)
                                   ELSE %(observed)s END
      FROM known
     WHERE agent.id = known.id AND NOT known.is_young
       AND agent.version = %(version)s AND NOT agent.down
       AND agent.demonstration = %(demonstration)s
       AND coalesce(%(update_problem)s, agent.update_problem, '') = coalesce(agent.update_problem, '')
       AND coalesce(%(waits)s::boolean, agent.waiting_since IS NOT NULL) = (agent.waiting_since IS NOT NULL)
       AND agent.last_report > %(heard)s AND agent.last_report <= %(ahead)s
    RETURNING agent.id, agent.waiting_since
)
SELECT id, waiting_since FROM known WHERE is_young UNION ALL SELECT id, waiting_since FROM beat
"""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The result of a heartbeat: the agent, its events, and whether versions must be compared again.

    `waiting_since`: since when its reports wait on its disk; None if none wait. `waited`: the same before
    this report.
    """

    agent_id: str
    events: Sequence[NewEvent] = ()
    compare_versions: bool = False
    waiting_since: datetime | None = None
    waited: bool = False


def agent_seen(*, group_id: str, report: Report, observed: datetime, now: datetime) -> Heartbeat:
    """Write the heartbeat of an agent, and its changes if no newer observation is known.

    A changed agent is locked until the transaction ends.

    Raises: ApiError: LIMIT_REACHED, if it is a new agent and the project has too many.
    """
    if steady := _beat_steadily(group_id, report, observed, now):
        agent_id, waiting_since = steady
        waits = waiting_since is not None
        return Heartbeat(agent_id, waiting_since=waiting_since, waited=waits)
    agent = _known(group_id, report)
    limit = now - HEARTBEAT_TIMEOUT
    was_timed_out = agent is None or agent.demonstration or agent.last_report <= limit
    if was_timed_out and not report.demonstration and not _anybody_reported(limit):
        clocks_restart(now=now)  # No agent reported for the timeout: the platform was down.
    if agent is None:
        return _agent_add(group_id, report, observed, now)
    return _beat(agent, report, observed, now)


def _anybody_reported(limit: datetime) -> bool:
    return Agent.objects.filter(last_report__gt=limit, demonstration=False).exists()


def agent_delete(*, group_id: str, agent_type: AgentType, hostname: str, actor: Actor, now: datetime) -> None:
    """Delete an agent. Its hosts keep their state; its next report adds it again.

    Raises: ApiError: AGENT_NOT_FOUND, or GROUP_NOT_FOUND if the project was deleted meanwhile.
    """
    with acting(actor, now, here=Scope(group_id=group_id), locks=()) as act:

        def named() -> Agent:
            agent = agents_named(group_id, agent_type, hostname).first()
            return get_or_404(agent, ErrorCode.AGENT_NOT_FOUND, agent_type.value, hostname)

        # First, because the receivers take locks whose holders may wait for the lock of the project.
        agents_deleting.send(sender=Agent, group_id=group_id, agents=[named()], actor=actor, now=now)
        project_lock_exclusive(group_id=group_id)
        agent = named()
        facts = {"agentType": agent.agent_type, "hostname": agent.hostname, "version": agent.version}
        diffs = diff(DiffType(f"{agent.agent_type}_AGENT"), agent.id, old=facts)
        deleted = EventType.AGENT_DELETED_AUDIT
        act.record(NewEvent(event_type=deleted, facts=facts_of_agent(agent), diffs=diffs))
        Host.with_deleted.filter(group_id=group_id, reported_by=agent).update(reported_by=None)
        agent.delete()
        versions_signal(group_id=group_id, now=now)


def _beat_steadily(
    group_id: str, report: Report, observed: datetime, now: datetime
) -> tuple[str, datetime | None] | None:
    """Return the id of an agent without changes, and since when its reports wait; otherwise None."""
    values = {
        "group_id": group_id,
        "agent_type": report.agent_type.value,
        "hostname": report.hostname.lower(),
        "version": report.version,
        "demonstration": report.demonstration,
        "waits": None if report.waiting is None else report.waiting > 0,
        "update_problem": report.update_problem,
        "observed": observed,
        "now": now,
        "heard": heard_limit(now),
        "young": now - HEARTBEAT,
        "observed_young": observed - HEARTBEAT,
        "ahead": now + HEARTBEAT,
    }
    return next(((agent_id, since) for agent_id, since in fetch_rows(_BEAT, values)), None)


def _known(group_id: str, report: Report) -> Agent | None:
    return agents_named(group_id, report.agent_type, report.hostname).select_for_update().first()


def _agent_add(group_id: str, report: Report, observed: datetime, now: datetime) -> Heartbeat:
    """Add an agent. Of two concurrent first reports, one adds the agent and records the event.

    Raises: ApiError: LIMIT_REACHED, if the project has too many agents.
    """
    fresh = Agent(
        group_id=group_id,
        agent_type=report.agent_type.value,
        hostname=report.hostname,
        version=report.version,
        created=now,
        last_report=now,
        observed=observed,
        waiting_observed=None if report.waiting is None else observed,
        waiting_since=now if report.waiting else None,
        update_problem=report.update_problem or None,
        demonstration=report.demonstration,
    )
    Agent.objects.bulk_create([fresh], ignore_conflicts=True)
    agent = _known(group_id, report)
    if agent is None:
        raise LookupError(f"the agent {report.hostname} could neither be found nor added")
    if agent.id != fresh.id:
        return _beat(agent, report, observed, now)
    rows_limited(AGENTS, group_id=group_id)
    event = NewEvent(event_type=EventType.NEW_AGENT, facts=facts_of_agent(agent))
    return Heartbeat(agent.id, [event], compare_versions=True, waiting_since=agent.waiting_since)


def _beat(agent: Agent, report: Report, observed: datetime, now: datetime) -> Heartbeat:
    """Update the agent. Any report shows that it runs; only the newest sets its version and that reports
    wait.

    Any report can say that no other report waits, because the agent can send a backlog in any order.
    """
    was_down, waited = agent.down, agent.waiting_since is not None
    version_changed = False
    if is_newest(observed, agent.observed, now):
        version_changed = agent.version != report.version
        agent.version, agent.observed = report.version, observed
    if report.waiting is not None and is_newest(observed, agent.waiting_observed, now):
        agent.waiting_observed = observed
        agent.waiting_since = (agent.waiting_since or now) if report.waiting else None
    elif report.waiting == 0:
        agent.waiting_since = None
    if report.update_problem is not None:
        agent.update_problem = report.update_problem or None
    becomes_real = agent.demonstration and not report.demonstration
    # Its hosts get the full timeout again, even if no sweep has noticed the gap.
    if was_down or becomes_real or agent.last_report <= now - HEARTBEAT_TIMEOUT:
        agent.returned = now
    agent.last_report, agent.down, agent.demonstration = now, False, report.demonstration
    agent.save(
        update_fields=[
            "version",
            "last_report",
            "observed",
            "waiting_observed",
            "waiting_since",
            "down",
            "returned",
            "update_problem",
            "demonstration",
        ]
    )
    up = transition_event(AGENT_DOWN[AgentType(agent.agent_type)], holds=False)
    events = [NewEvent(event_type=up, facts=facts_of_agent(agent))] if was_down else []
    return Heartbeat(agent.id, events, version_changed or was_down, agent.waiting_since, waited)


def waiting_agents(now: datetime, ids: Collection[str]) -> set[str]:
    """Return which of the agents hold their signals at `now`."""
    # The clock of a worker may be a little behind.
    held = Agent.objects.filter(id__in=ids, waiting_since__gt=now - HOLD, waiting_since__lte=now + AHEAD)
    return set(held.values_list("id", flat=True))


SIGNALS_RELEASED_AT_ONCE = 2_000
"""After this many signals, a step releases the signals of no other agent."""


def held_signals_release(*, now: datetime) -> int:
    """Release the signals of agents whose reports have waited for `HOLD`, and of agents that are gone.

    `now`: by the clock of the database. Return the number of released signals; 0 means that there are no
    more. The signals of an agent are released together, because alerts that are over wait for all of them.
    """
    holders = signal_holders()
    if not holders:
        return 0
    over = holders - waiting_agents(now, holders)
    if not over:
        return 0
    few = agents_with_few_signals(over, most=SIGNALS_RELEASED_AT_ONCE)
    return signals_release(agents=few, now=now)
