"""What a signal, or the fleet as it stands, says: read from the database for the rules."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alerting.models import AlertConfig
from alerting.rules.observations import Observation, of_event, of_host
from automation.models import Host, Measurement
from automation.selectors import host_state, newest_measurements
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType

Samples = Mapping[str, Sequence[float]]


def observations_of(signal: Signal) -> list[Observation]:
    """The observations of a signal; of a configuration's, what the fleet says now."""
    match SignalKind(signal.kind):
        case SignalKind.EVENT:
            return of_event(signal.payload)
        case SignalKind.HOSTS:
            return _of_report(signal)
        case SignalKind.CONFIG:
            return _of_fleet(signal.group_id)


def _of_report(signal: Signal) -> list[Observation]:
    states = _of_hosts_still_there(signal.payload["hosts"])
    ids = [state["measurementId"] for state in states if state["measurementId"] is not None]
    measured = Measurement.objects.in_bulk(ids) if ids and _metrics_matter(signal.group_id) else {}
    return _of_states((state, measured.get(state["measurementId"])) for state in states)


def _of_hosts_still_there(states: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without hosts deleted or moved since the report: nothing would end an alert about them."""
    there = {
        host.id: host.address.key for host in Host.objects.filter(id__in=[one["hostId"] for one in states])
    }
    return [one for one in states if there.get(one["hostId"]) == (one["hostname"].lower(), one["port"])]


def _metrics_matter(group_id: str) -> bool:
    """Whether any configuration would look at measurements: most reports hold many, few are asked for."""
    return AlertConfig.objects.filter(
        group_id=group_id, deleted=None, enabled=True, event_type=EventType.OUTSIDE_METRIC_THRESHOLD.value
    ).exists()


def _of_fleet(group_id: str) -> list[Observation]:
    hosts = list(Host.objects.filter(group_id=group_id).exclude(last_report=None).order_by("id"))
    newest = newest_measurements(host.id for host in hosts)
    return _of_states((host_state(host), newest.get(host.id)) for host in hosts)


def _of_states(states: Iterable[tuple[Mapping[str, Any], Measurement | None]]) -> list[Observation]:
    return [one for state, measured in states for one in of_host(state, _samples(measured))]


def _samples(measured: Measurement | None) -> Samples:
    if measured is None:
        return {}
    return {metric: [number for _, number in taken] for metric, taken in measured.metrics.items()}
