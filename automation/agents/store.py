"""Reading agents, and the hosts that they watch."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from accesslist.models import ApiKey
from automation.addresses import Address
from automation.agents.models import Agent, FleetWatch
from automation.agents.rules import Detection, detection, heard_limit, reports_awaited_since
from automation.choices import AgentType
from automation.hosts.models import Host
from automation.leases.models import HostLease
from automation.leases.rules import Key
from events.facts import EventFacts
from opsapi.api.principal import VisibleScope
from opsapi.fields import Among
from opsapi.first_rows import FirstRows, bounded_count, first_rows, in_visible_scope
from opsapi.roles import INSTALLATION, Grant, Role, satisfies
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

MOST_AGENTS, MOST_HOSTS = 20, 50


def any_agent_exists() -> bool:
    """Return whether an agent has ever reported, so that the first set-up is complete.

    Agents of the demonstration do not count.
    """
    return Agent.objects.filter(demonstration=False).exists()


def is_first_setup(grants: Iterable[Grant]) -> bool:
    """Return whether pages are steps of the first set-up for an operator with these grants.

    They are for a Global owner, until an agent has reported.
    """
    return satisfies(grants, Role.GLOBAL_OWNER, INSTALLATION) and not any_agent_exists()


_DETECTION = """
SELECT EXISTS (SELECT FROM automation_agent WHERE NOT demonstration), watch.counting_since, watch.swept,
       clock_timestamp()
  FROM (SELECT) AS nothing LEFT JOIN automation_fleetwatch AS watch ON true
"""


def detection_now() -> tuple[Detection, datetime]:
    """Return whether agents and hosts that stop reporting are noticed now, and the time of the database.

    Workers sweep by the clock of the database, so the clock of this machine does not count.
    """
    [(any_agent, counting_since, swept, now)] = fetch_rows(_DETECTION)
    state = detection(any_agent=any_agent, counting_since=counting_since, swept=swept, now=now)
    return state, now


def last_sweep() -> datetime | None:
    """Return when a worker looked for heartbeat timeouts last; None before the first time."""
    return FleetWatch.objects.values_list("swept", flat=True).first()


def awaited_since(now: datetime) -> datetime | None:
    """Return the time after which observations are recent, while the platform waits for the first reports."""
    counting_since = FleetWatch.objects.values_list("counting_since", flat=True).first()
    return counting_since and reports_awaited_since(counting_since=counting_since, now=now)


def not_reporting(now: datetime) -> Q:
    """Agents that do not report: without a report for the heartbeat timeout, or down.

    Nobody reports for agents of the demonstration: of them, only agents that are down count.
    """
    return Q(down=True) | Q(last_report__lte=heard_limit(now), demonstration=False)


def agents_of(group_id: str, agent_type: str | None = None) -> QuerySet[Agent]:
    """Return the agents of a project, of one type or of all, by type and hostname."""
    agents = Agent.objects.filter(group_id=group_id).order_by("agent_type", Lower("hostname"))
    return agents if agent_type is None else agents.filter(agent_type=agent_type)


def agents_named(group_id: str, agent_type: AgentType, hostname: str) -> QuerySet[Agent]:
    """Return the agent with this type and hostname, ignoring case: at most one row."""
    agents = Agent.objects.filter(group_id=group_id, agent_type=agent_type.value)
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    return agents.alias(key=Lower("hostname")).filter(key=hostname.lower().replace("\0", "/"))


def known_agents(group_id: str, named: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs of agent type and lower-case hostname for which the project has an agent."""
    if not named:
        return set()
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    names = {hostname.replace("\0", "/") for _, hostname in named}
    agents = Agent.objects.filter(group_id=group_id).alias(key=Lower("hostname")).filter(key__in=names)
    return set(agents.values_list("agent_type", Lower("hostname"))).intersection(named)


def facts_of_agent(agent: Agent) -> EventFacts:
    """Return the facts that identify an agent in events."""
    return EventFacts(hostname=agent.hostname, source_type_name=agent.agent_type)


def agent_state(agent: Agent) -> JsonObject:
    """Return the state of an agent under its wire names, for alerting."""
    return {
        **facts_of_agent(agent).document(),
        "down": agent.down,
        "versionBehind": agent.version_behind,
    }


@dataclass(frozen=True)
class FirstReport:
    """The agents of a project that reported since a key was created.

    `arrived` are new agents, and agents that reported again after a heartbeat timeout. `others` reported
    before and after. `hosts` are the first hosts of the `arrived` agents, `host_count` is the number of all.
    """

    arrived: list[Agent]
    others: list[Agent]
    hosts: list[Host]
    host_count: int


def project_of_agent_key(key_id: str) -> tuple[ApiKey, str] | None:
    """Return a key and the id of the project that it can report to; None if it cannot report to any."""
    key = ApiKey.objects.filter(id=key_id).first()
    grant = key.grants.filter(role=Role.GROUP_AGENT.value).order_by("id").first() if key else None
    return (key, grant.project_id) if key and grant and grant.project_id else None


def first_report(group_id: str, since: datetime) -> FirstReport:
    """Return what agents of the project have reported since then."""
    heard = Agent.objects.filter(group_id=group_id, last_report__gte=since)
    is_new = Q(created__gte=since) | Q(returned__gte=since)
    arrived = list(heard.filter(is_new).order_by("-created", "id")[:MOST_AGENTS])
    known = heard.exclude(id__in=[agent.id for agent in arrived])
    others = list(known.order_by("hostname", "agent_type", "id")[:MOST_AGENTS])
    hosts = Host.objects.filter(reported_by__in=arrived).select_related("reported_by")
    hosts = hosts.order_by("hostname", "port")
    return FirstReport(arrived, others, list(hosts[:MOST_HOSTS]), hosts.count() if arrived else 0)


def agents_count(visible_scope: VisibleScope) -> int:
    """Return the number of readable agents, at most MOST_COUNTED + 1."""
    return bounded_count(in_visible_scope(Agent.objects.filter(group__deleted=None), visible_scope))


def demonstration_agents_count(visible_scope: VisibleScope) -> int:
    """Return the number of readable agents of the demonstration that are up, at most MOST_COUNTED + 1."""
    agents = Agent.objects.filter(demonstration=True, down=False, group__deleted=None)
    return bounded_count(in_visible_scope(agents, visible_scope))


def agents_not_reporting(visible_scope: VisibleScope, now: datetime) -> FirstRows[Agent]:
    """Return agents that do not report, by project, type and name."""
    # The last report is not indexed, because reports change it; the table of agents is small.
    rows = Agent.objects.filter(not_reporting(now), group__deleted=None).select_related("group")
    return first_rows(in_visible_scope(rows, visible_scope).order_by("group_id", "agent_type", "hostname"))


@dataclass(frozen=True, slots=True)
class WatchedHost:
    """A host that an agent watches; `metric_set` is the index of its metric coverage."""

    address: Address
    since: datetime
    until: datetime
    metric_set: int | None


@dataclass(frozen=True, slots=True)
class Watching:
    """The hosts that an agent watches. A metric set has metric names by state, as agents report them."""

    hosts: Sequence[WatchedHost]
    metric_sets: Sequence[Mapping[str, Any]]


def leases_named(group_id: str, keys: Collection[Key]) -> dict[Key, HostLease]:
    """Return the leases of these hosts of a project, by host."""
    named = HostLease.objects.filter(Among("hostname", {name for name, _ in keys}), group_id=group_id)
    leases = {(lease.hostname, lease.port): lease for lease in named}
    return {key: leases[key] for key in keys & leases.keys()}


def watching(agent: Agent, now: datetime) -> Watching:
    """Return the hosts that the agents with this hostname hold leases of."""
    watchers = {watcher.id: watcher for watcher in agent.watchers.filter(until__gt=now)}
    held = HostLease.objects.filter(group_id=agent.group_id, held_by__in=list(watchers))
    rows = held.filter(Q(free_from=None) | Q(free_from__gt=now)).order_by("hostname", "port")
    used: dict[tuple[str, int], int] = {}
    sets: list[Mapping[str, Any]] = []
    hosts = []
    for row in rows if watchers else ():
        watcher = watchers[str(row.held_by)]
        address = Address(row.hostname, row.port)
        place = watcher.metrics.get("hosts", {}).get(str(address))
        if place is not None and (watcher.id, place) not in used:
            used[watcher.id, place] = len(sets)
            sets.append(watcher.metrics["sets"][place])
        until = min(watcher.until, row.free_from or watcher.until)
        metric_set = None if place is None else used[watcher.id, place]
        hosts.append(WatchedHost(address, row.since, until, metric_set))
    return Watching(hosts, sets)
