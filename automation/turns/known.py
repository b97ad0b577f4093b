"""Reads the state that the platform knows of a unit, for the guards of turns."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from automation.desired_state.store import hosts_of_processes, reported_process
from automation.hooks import set_alerts_asked
from automation.hosts.models import Host
from automation.measurements.store import newest_measurements
from automation.metrics import Metric
from automation.plan.known import KnownProcess, KnownUnit
from automation.plan.reported import OLD
from automation.plan.values import GoalUnit
from automation.reports.rules import Samples
from automation.turns.models import PlanTurn
from automation.turns.rules import TurnState, planned_until

_METRICS = (Metric.OPLOG_SLAVE_LAG_MASTER_TIME, Metric.OPLOG_MASTER_TIME, Metric.OPLOG_RATE_GB_PER_HOUR)
_REMEMBERED = timedelta(days=1)


def known_unit(
    group_id: str, document: Mapping[str, Any], unit: GoalUnit, *, key: str, holder: str, now: datetime
) -> KnownUnit:
    """Return the knowledge of a unit, from reports, measurements and open alerts."""
    hosts = hosts_of_processes(group_id, document, {process.name for process in unit.processes})
    if unit.replica_set:
        known_ids = {host.id for host in hosts.values()}
        members = Host.objects.filter(group_id=group_id, replica_set_name=unit.replica_set)
        hosts |= {str(host.address): host for host in members if host.id not in known_ids}
    measured = newest_measurements(
        [host.id for host in hosts.values()], since=now - OLD, until=now + OLD, metrics=_METRICS
    )
    reported = {
        name: _known(host, unit, measured[host.id].samples if host.id in measured else {})
        for name, host in hosts.items()
    }
    return KnownUnit(
        processes={name: process for name, process in reported.items() if process is not None},
        holder=holder,
        alerts=_open_alerts(group_id, unit, key, now),
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


def _open_alerts(group_id: str, unit: GoalUnit, key: str, now: datetime) -> tuple[str, ...] | None:
    """The open alerts of the replica set that began outside the turns; None if nobody answers."""
    if not unit.replica_set:
        return ()
    asked: Any = set_alerts_asked.send(sender=PlanTurn, group_id=group_id, replica_set=unit.replica_set)
    answers: Sequence[tuple[object, Iterable[tuple[str, datetime]]]] = asked
    if not answers:
        return None
    turns = PlanTurn.objects.filter(group_id=group_id, unit=key, until__gt=now - _REMEMBERED)
    planned = [
        (turn.granted, planned_until(TurnState(turn.state), until=turn.until, ended=turn.ended))
        for turn in turns
    ]
    return tuple(
        event_type
        for _, alerts in answers
        for event_type, began in alerts
        if not any(start <= began <= end for start, end in planned)
    )
