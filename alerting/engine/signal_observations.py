"""The observations of signals and of the current fleet: read from the database for the rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.utils.functional import cached_property

from accesslist.login.store import groups_without_second_factor, orgs_without_second_factor
from accesslist.models import Project
from alerting.configs.store import is_concerned
from alerting.engine.observations import (
    OF_PLANS,
    Condition,
    Observation,
    of_agent,
    of_event,
    of_host,
    of_plan,
    of_replica_set,
    of_samples,
    of_second_factors,
)
from alerting.engine.transition import target_of
from automation.addresses import Address
from automation.agents.store import agent_state, known_agents
from automation.choices import AgentType
from automation.hosts.store import host_state, replica_set_state, replica_sets_there
from automation.measurements.store import (
    MeasuredReport,
    SeriesMoment,
    measurements_of_reports,
    newest_measurements,
    outdated_metrics,
    outdated_series,
)
from automation.models import Agent, Host
from automation.reports.rules import HOLD, Samples, known_moment, newest_moments, newest_numbers
from automation.turns.store import plan_states
from events.choices import SignalKind
from events.models import Signal
from events.outbox.changes import LATE
from events.types import EVENT_TYPES, EventType, Target, closing_type
from opsapi.clock import AHEAD
from opsapi.fields import Among
from opsapi.sql import fetch_rows

Payload = Mapping[str, Any]


def observations_of(signals: Sequence[Signal], *, group_id: str) -> dict[int, list[Observation]]:
    """The observations of a project's events and reports, by signal id."""
    known = _read_known(signals, group_id)
    return {
        signal.pk: _of_event(signal.payload, known)
        if signal.kind == SignalKind.EVENT.value
        else _of_report(signal.payload, known)
        for signal in signals
    }


@dataclass(frozen=True, slots=True)
class _KnownFleet:
    """Resources named by signals that still exist: hosts by address, agents and measurements."""

    hosts: Mapping[str, tuple[str, int]]
    reported_by: Mapping[str, str | None]
    agents: AbstractSet[tuple[str, str]]
    measured: Mapping[tuple[str, int | str], Samples]
    now: datetime
    plans: AbstractSet[tuple[EventType, str]] = frozenset()
    """The conditions of plans that hold, each with its target. Read if an event could end one."""
    outdated: AbstractSet[SeriesMoment] = frozenset()
    """The series of hosts in held signals for which a newer sample is stored, with the time in the signal."""

    def has_host(self, state: Payload) -> bool:
        """Whether the host still exists at this address; otherwise nothing would end its alerts."""
        return self.hosts.get(state["hostId"]) == (state["hostname"].lower(), state["port"])

    def is_newest(self, state: Payload, holder: str | None) -> bool:
        """Whether no other agent has reported the host since the agent `holder` held its signal.

        If the agent `holder` was deleted meanwhile, the host has no agent.
        """
        return holder is None or self.reported_by.get(state["hostId"]) in {holder, None}

    def samples_of(self, state: Payload) -> Samples:
        return self.measured.get((state["hostId"], state["measurementId"])) or {}

    def series_of(self, state: Payload) -> list[SeriesMoment]:
        moments = newest_moments(self.samples_of(state))
        return [
            (state["hostId"], metric, known_moment(moment, self.now)) for metric, moment in moments.items()
        ]

    def has_agent(self, payload: Payload) -> bool:
        return _agent_of(payload) in self.agents


def _read_known(signals: Sequence[Signal], group_id: str) -> _KnownFleet:
    events = [signal.payload for signal in signals if signal.kind == SignalKind.EVENT.value]
    states = [
        state
        for signal in signals
        if signal.kind == SignalKind.HOSTS.value
        for state in signal.payload["hosts"]
    ]
    about_agents = [event for event in events if _names_agent(event)]
    host_ids = {state["hostId"] for state in (*states, *events) if state.get("hostId") is not None}
    measured = {
        (state["hostId"], state["measurementId"]) for state in states if state["measurementId"] is not None
    }
    named = Host.objects.filter(Among("id", host_ids))
    hosts = list(named.values_list("id", "hostname", "port", "reported_by_id")) if host_ids else []
    known = _KnownFleet(
        hosts={host_id: Address(hostname, port).key for host_id, hostname, port, _ in hosts},
        reported_by={host_id: agent for host_id, _, _, agent in hosts},
        agents=known_agents(group_id, {_agent_of(agent) for agent in about_agents}),
        # Reports have many metrics, of which configurations evaluate few or none.
        measured=measurements_of_reports(measured)
        if measured and is_concerned(group_id, EventType.OUTSIDE_METRIC_THRESHOLD)
        else {},
        plans=_plan_conditions(group_id)
        if any(event["eventTypeName"] == EventType.AUTOMATION_PLAN_CONTINUED.value for event in events)
        else frozenset(),
        now=max(signal.created for signal in signals),
    )
    compared = [
        series
        for signal in signals
        if signal.payload.get(LATE)
        for state in signal.payload.get("hosts", ())
        if not known.is_newest(state, signal.payload[LATE])
        for series in known.series_of(state)
    ]
    return replace(known, outdated=frozenset(outdated_series(compared, known.now)))


def _plan_conditions(group_id: str) -> AbstractSet[tuple[EventType, str]]:
    states = _of_each(of_plan, plan_states(group_id))
    holding = [observation for observation in states if observation.condition is Condition.HOLDS]
    return {(observation.event_type, target_of(observation)) for observation in holding}


def _names_agent(payload: Payload) -> bool:
    """Whether the event is about a known agent; events about keys or versions may not be."""
    is_about = EventType(payload["eventTypeName"]).spec.target is Target.AGENT
    return is_about and {"sourceTypeName", "hostname"} <= payload.keys()


def _agent_of(payload: Payload) -> tuple[str, str]:
    return AgentType(payload["sourceTypeName"]).value, payload["hostname"].lower()


def _of_event(payload: Payload, known: _KnownFleet) -> list[Observation]:
    """An event of a deleted host or agent opens no alert; one-shot events are still notified.

    A plan that has stopped and waits does not end both at once.
    """
    seen = [
        observation
        for observation in of_event(payload)
        if observation.condition is not Condition.ENDED
        or (observation.event_type, target_of(observation)) not in known.plans
    ]
    begins = any(observation.condition is Condition.HOLDS for observation in seen)
    return [] if begins and _is_gone(payload, known) else seen


def _is_gone(payload: Payload, known: _KnownFleet) -> bool:
    if EventType(payload["eventTypeName"]).spec.target is Target.AGENT:
        return not known.has_agent(payload)
    return payload.get("hostId") is not None and not known.has_host(payload)


def _of_report(payload: Payload, known: _KnownFleet) -> list[Observation]:
    late = payload.get(LATE)
    seen = []
    for state in payload["hosts"]:
        if not known.has_host(state):
            continue
        older = frozenset(state.get("olderMetrics", ()))
        numbers = {
            name: some for name, some in _numbers(known.samples_of(state)).items() if name not in older
        }
        if known.is_newest(state, late):
            numbers = {**numbers, **state.get("samplesApart", {})}
            seen += of_samples(state, numbers) if state.get("samplesOnly") else of_host(state, numbers)
        else:  # Another agent has reported the newest state, but perhaps not these metrics.
            newest = {series[1].value for series in known.series_of(state) if series not in known.outdated}
            seen += of_samples(state, {name: some for name, some in numbers.items() if name in newest})
    # Signals of an older version have none.
    return [*seen, *_of_each(of_replica_set, payload.get("replicaSets", ()))]


# A host that has moved since is left out, and so is the state of a host that another agent has reported since
# the signal was held, as in `observations_of`. Held signals have an index of their own.
_WAITING = """
WITH waiting AS MATERIALIZED (
    SELECT payload FROM events_signal
     WHERE group_id = %(group)s AND failed IS NULL AND held_by IS NULL AND kind = %(kind)s
     UNION ALL
    SELECT payload FROM events_signal
     WHERE held_by IS NOT NULL AND group_id = %(group)s AND failed IS NULL AND kind = %(kind)s
)
"""
_WAITING_HOSTS = f"""
{_WAITING}
SELECT host.id,
       bool_or(state ->> 'samplesOnly' IS NULL
               AND coalesce(payload ->> '{LATE}' = host.reported_by_id, true)),
       array_agg(state ->> 'measurementId')
  FROM waiting CROSS JOIN LATERAL jsonb_array_elements(payload -> 'hosts') AS state
  JOIN automation_host AS host ON host.id = state ->> 'hostId'
 WHERE host.deleted IS NULL
   AND lower(host.hostname) = lower(state ->> 'hostname') AND host.port = (state ->> 'port')::integer
 GROUP BY host.id
"""  # noqa: S608 - built from constants
_WAITING_SETS = f"""
{_WAITING}
SELECT DISTINCT state ->> 'replicaSetName', state ->> 'clusterName'
  FROM waiting CROSS JOIN LATERAL jsonb_array_elements(payload -> 'replicaSets') AS state
"""  # noqa: S608 - built from constants
_WAITING_EVENTS = f"""
{_WAITING}
SELECT payload::text FROM waiting WHERE payload ->> 'eventTypeName' = ANY(%(types)s)
"""  # noqa: S608 - built from constants


# Agents whose other reports wait, as in `automation.agents.changes.waiting_agents`.
_WAITING_AGENTS = """
SELECT host.id, host.replica_set_name, agent.id
  FROM automation_agent AS agent JOIN automation_host AS host ON host.reported_by_id = agent.id
 WHERE agent.group_id = %(group)s AND host.deleted IS NULL
   AND agent.waiting_since > %(after)s AND agent.waiting_since <= %(until)s
"""


MOST_WAITING_HOSTS = 20_000
"""The most hosts in the signals that `UnevaluatedSignals` reads, which take about 0.3 s."""
# Without the payloads, which take long to read. A signal counts as at least one host.
_WAITING_HOLDERS = """
SELECT held_by, sum(greatest(number_of_hosts, 1)) FROM (
    (SELECT held_by, number_of_hosts FROM events_signal
      WHERE group_id = %(group)s AND failed IS NULL AND held_by IS NULL LIMIT %(most)s)
    UNION ALL
    (SELECT held_by, number_of_hosts FROM events_signal
      WHERE held_by IS NOT NULL AND group_id = %(group)s AND failed IS NULL LIMIT %(most)s)
) AS waiting
 GROUP BY held_by ORDER BY 2 DESC, held_by
"""


class TooManyWaitError(Exception):
    """The signals of the project that wait have more than MOST_WAITING_HOSTS hosts.

    `holder`: the agent that holds most of them; None if most of them are next in the queue.
    """

    def __init__(self, holder: str | None) -> None:
        super().__init__(holder)
        self.holder = holder


_NOTHING: tuple[bool, AbstractSet[str | None]] = False, frozenset()


class UnevaluatedSignals:
    """Unevaluated signals of a project, which decide about their targets. They are read when they matter."""

    def __init__(self, group_id: str, event_types: AbstractSet[EventType], now: datetime) -> None:
        """`event_types`: of the observations that it will be asked about.

        Raises:
            TooManyWaitError: too many hosts wait to read the signals now.
        """
        self._group_id, self._event_types, self._now = group_id, event_types, now
        holders = fetch_rows(_WAITING_HOLDERS, {"group": group_id, "most": MOST_WAITING_HOSTS + 1})
        if sum(hosts for _, hosts in holders) > MOST_WAITING_HOSTS:
            raise TooManyWaitError(holders[0][0])

    def decide(self, observation: Observation) -> bool:
        """Whether a signal that waits has an observation of the same condition and target."""
        match EVENT_TYPES[observation.event_type].target:
            case Target.HOST if observation.event_type not in OF_PLANS:
                waits, _ = self._hosts.get(observation.facts["hostId"], _NOTHING)
            case Target.HOST_METRIC:
                _, measurements = self._hosts.get(observation.facts["hostId"], _NOTHING)
                waits = observation.facts["measurementId"] in measurements
            case Target.REPLICA_SET:
                waits = _set_of(observation.facts) in self._sets
            case _:
                waits = False
        return waits or (observation.event_type, target_of(observation)) in self._events

    def awaited(self, observation: Observation) -> str | None:
        """The agent of the host, or of a member of the replica set, whose other reports wait.

        Plans do not follow from reports.
        """
        if observation.event_type in OF_PLANS:
            return None
        name = "hostId" if EVENT_TYPES[observation.event_type].target in _OF_HOSTS else "replicaSetName"
        return self._agents.get(observation.facts.get(name))

    @cached_property
    def _agents(self) -> Mapping[str | None, str]:
        """The agents whose other reports wait, by the id of a host and by the name of a replica set."""
        times = {"after": self._now - HOLD, "until": self._now + AHEAD}
        rows = fetch_rows(_WAITING_AGENTS, {"group": self._group_id, **times})
        return {key: agent for host, name, agent in rows for key in (host, name) if key is not None}

    @cached_property
    def _hosts(self) -> Mapping[str, tuple[bool, AbstractSet[str | None]]]:
        """Whether signals have the state of a host, and which measurements, by the id of the host."""
        rows = fetch_rows(_WAITING_HOSTS, {"group": self._group_id, "kind": SignalKind.HOSTS.value})
        return {host_id: (has_state, set(measurements)) for host_id, has_state, measurements in rows}

    @cached_property
    def _sets(self) -> AbstractSet[tuple[str | None, str | None]]:
        rows = fetch_rows(_WAITING_SETS, {"group": self._group_id, "kind": SignalKind.HOSTS.value})
        return {(name, cluster) for name, cluster in rows}

    @cached_property
    def _events(self) -> AbstractSet[tuple[EventType, str]]:
        closing = {closing_type(event_type) for event_type in self._event_types} - {None}
        types = [event_type.value for event_type in self._event_types | closing if event_type]
        parameters = {"group": self._group_id, "kind": SignalKind.EVENT.value, "types": types}
        waiting = [of_event(orjson.loads(payload)) for (payload,) in fetch_rows(_WAITING_EVENTS, parameters)]
        return {(observation.event_type, target_of(observation)) for seen in waiting for observation in seen}


_OF_HOSTS = frozenset({Target.HOST, Target.HOST_METRIC})


def _set_of(facts: Payload) -> tuple[str | None, str | None]:
    return facts.get("replicaSetName"), facts.get("clusterName")


HOSTS_AT_ONCE = 1_000
"""The hosts of a part of the fleet."""


class FleetPart(NamedTuple):
    """Observations of a part of the fleet. `last_host`: the id of its last host; None if no part follows."""

    observations: Sequence[Observation]
    last_host: str | None


def observations_of_fleet(
    group_id: str, event_types: AbstractSet[EventType], *, after: str, now: datetime
) -> FleetPart:
    """The current state of the hosts after an id, for these event types; "" is before the first.

    The last part also has the agents, replica sets, plan and people of the project.
    """
    targets = {event_type.spec.target for event_type in event_types}
    hosts = _hosts_after(group_id, after) if targets & {Target.HOST, Target.HOST_METRIC} else []
    seen = [*_of_hosts(hosts[:HOSTS_AT_ONCE], targets, now)]
    last_host = hosts[HOSTS_AT_ONCE - 1].id if len(hosts) > HOSTS_AT_ONCE else None
    if last_host is None:
        agents = Agent.objects.filter(group_id=group_id).order_by("id") if Target.AGENT in targets else ()
        sets = replica_sets_there(group_id) if Target.REPLICA_SET in targets else ()
        seen += _of_each(of_agent, map(agent_state, agents))
        seen += _of_each(of_replica_set, map(replica_set_state, sets))
        seen += _of_each(of_plan, plan_states(group_id)) if event_types & set(OF_PLANS) else ()
        seen += _of_people(group_id) if Target.GROUP in targets else ()
    return FleetPart(
        [observation for observation in seen if observation.event_type in event_types], last_host
    )


def _hosts_after(group_id: str, after: str) -> list[Host]:
    """The hosts of a part of the fleet, and one more if another part follows."""
    reported = Host.objects.filter(group_id=group_id, id__gt=after).exclude(last_report=None)
    return list(reported.order_by("id")[: HOSTS_AT_ONCE + 1])


def _of_hosts(hosts: Sequence[Host], targets: AbstractSet[Target], now: datetime) -> list[Observation]:
    newest = _deciding(hosts, now) if Target.HOST_METRIC in targets else {}
    states = []
    for host in hosts:
        measured = newest.get(host.id)
        state = {**host_state(host), "measurementId": measured.at.wire if measured else None}
        states.append((state, measured.samples if measured else None))
    return _of_states(states)


def _deciding(hosts: Sequence[Host], now: datetime) -> Mapping[str, MeasuredReport]:
    """The newest measurements of hosts, without metrics of which a newer sample is stored."""
    newest = newest_measurements((host.id for host in hosts), until=now + AHEAD)
    outdated = outdated_metrics(newest, {host.id: host.measured for host in hosts}, now)
    for host_id, metrics in outdated.items():
        samples = {metric: some for metric, some in newest[host_id].samples.items() if metric not in metrics}
        newest[host_id] = replace(newest[host_id], samples=samples)
    return newest


def observations_of_host(host: Host, now: datetime) -> tuple[list[Observation], datetime | None]:
    """The observations of a host, its replica set and plan now, and the time of its newest measurements."""
    newest = _deciding([host], now).get(host.id)
    seen = of_host(host_state(host), _numbers(newest.samples if newest else {}))
    if host.replica_set_id:
        replica_set = replica_sets_there(host.group_id).filter(id=host.replica_set_id)
        seen += _of_each(of_replica_set, map(replica_set_state, replica_set))
    plans = {state.get("hostId"): state for state in plan_states(host.group_id)}
    seen += of_plan(plans.get(host.id, {**host_state(host), "planStopped": False, "planWaits": False}))
    return seen, newest.at.reported if newest else None


def _of_people(group_id: str) -> list[Observation]:
    org_ids = Project.objects.filter(id=group_id).values_list("org_id", flat=True)
    return of_second_factors(
        missing_in_group=bool(groups_without_second_factor([group_id])),
        missing_in_org=bool(orgs_without_second_factor([id_ for id_ in org_ids if id_])),
    )


def _of_each(
    say: Callable[[Mapping[str, Any]], list[Observation]], states: Iterable[Mapping[str, Any]]
) -> list[Observation]:
    return [observation for state in states for observation in say(state)]


def _of_states(states: Iterable[tuple[Mapping[str, Any], Samples | None]]) -> list[Observation]:
    return [
        observation for state, samples in states for observation in of_host(state, _numbers(samples or {}))
    ]


def _numbers(samples: Samples) -> Mapping[str, Sequence[float]]:
    return {metric.value: newest_numbers(values) for metric, values in samples.items()}
