"""Reads the state that the platform knows of a unit, for the guards of turns."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from automation.desired_state.store import hosts_of_processes, reported_process
from automation.hooks import set_alerts_asked
from automation.hosts.models import Host
from automation.hosts.store import observation_delays
from automation.measurements.store import newest_measurements
from automation.metrics import Metric
from automation.plan.known import KnownProcess, KnownUnit
from automation.plan.reported import OLD
from automation.plan.values import GoalUnit
from automation.reports.rules import Samples
from automation.turns.models import PlanTurn
from automation.turns.rules import TurnState, planned_until
from opsapi.fields import Among

_METRICS = (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, Metric.OPLOG_MASTER_TIME, Metric.OPLOG_RATE_GB_PER_HOUR)
_REMEMBERED = timedelta(days=1)


def turns_of_unit(group_id: str, document: Mapping[str, Any], unit: GoalUnit, key: str) -> QuerySet[PlanTurn]:
    """Return the turns of a unit: of its processes, of their hosts, and of all members of their replica sets.

    A turn outlives publications, which can plan its process together with others, or under another name.
    """
    names = [process.name for process in unit.processes]
    by_name = hosts_of_processes(group_id, document, names)
    hosts = [host for of_process in by_name.values() for host in of_process]
    sets = {unit.replica_set, *(host.replica_set_name or "" for host in hosts)} - {""}
    members = Host.objects.filter(Among("replica_set_name", list(sets)), group_id=group_id)
    ids = {host.id for host in hosts} | set(members.values_list("id", flat=True) if sets else ())
    is_of_unit = Q(unit=key) | Q(process__in=names) | Q(host_id__in=ids) | Q(replica_set__in=sets)
    return PlanTurn.objects.filter(is_of_unit, group_id=group_id)


def known_unit(
    group_id: str,
    document: Mapping[str, Any],
    unit: GoalUnit,
    *,
    turns: QuerySet[PlanTurn],
    holder: str,
    now: datetime,
) -> KnownUnit:
    """Return the knowledge of a unit, from reports, measurements, open alerts, and its turns."""
    by_name = hosts_of_processes(group_id, document, {process.name for process in unit.processes})
    hosts = {name: of_process[0] for name, of_process in by_name.items()}
    if unit.replica_set:
        known_ids = {host.id for of_process in by_name.values() for host in of_process}
        members = Host.objects.filter(group_id=group_id, replica_set_name=unit.replica_set)
        hosts |= {str(host.address): host for host in members if host.id not in known_ids}
    measured = newest_measurements(
        [host.id for host in hosts.values()], since=now - OLD, until=now + OLD, metrics=_METRICS
    )
    delay = max(observation_delays({host.id for host in hosts.values()}).values(), default=timedelta())
    reported = {
        name: _known(host, unit, measured[host.id].samples if host.id in measured else {})
        for name, host in hosts.items()
    }
    return KnownUnit(
        processes={name: process for name, process in reported.items() if process is not None},
        holder=holder,
        alerts=_open_alerts(group_id, unit, turns.filter(until__gt=now - _REMEMBERED), delay),
    )


def _known(host: Host, unit: GoalUnit, samples: Samples) -> KnownProcess | None:
    reported = reported_process(host)
    if reported is None:
        return None
    lag, window = _last(samples, _METRICS[0]), _last(samples, _METRICS[1])
    # An agent that measures how fast the oplog grows reports its window only when entries are being lost.
    is_growing = window is None and _last(samples, _METRICS[2]) is not None
    return KnownProcess(
        observed=reported.observed,
        arrived=host.last_report or reported.observed,
        is_down=reported.is_down,
        state=reported.state,
        is_member=bool(unit.replica_set) and host.replica_set_name == unit.replica_set,
        version=reported.version,
        lag=None if lag is None else timedelta(seconds=lag),
        oplog=timedelta() if is_growing else None if window is None else timedelta(seconds=window),
        oplog_lost=not is_growing,
    )


def _last(samples: Samples, metric: Metric) -> float | None:
    series = samples.get(metric)
    return series[-1][1] if series else None


def _open_alerts(
    group_id: str, unit: GoalUnit, turns: Iterable[PlanTurn], delay: timedelta
) -> tuple[str, ...] | None:
    """The open alerts of the replica set that began outside the turns; None if nobody answers.

    `delay`: how far the clocks of the agents are behind at most, by which alerts seem to begin earlier.
    """
    if not unit.replica_set:
        return ()
    asked: Any = set_alerts_asked.send(sender=PlanTurn, group_id=group_id, replica_set=unit.replica_set)
    answers: Sequence[tuple[object, Iterable[tuple[str, datetime]]]] = asked
    if not answers:
        return None
    planned = [
        (turn.granted, planned_until(TurnState(turn.state), until=turn.until, ended=turn.ended))
        for turn in turns
    ]
    return tuple(
        event_type
        for _, alerts in answers
        for event_type, began in alerts
        if not any(start <= began + delay <= end for start, end in planned)
    )
