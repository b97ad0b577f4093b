"""The heartbeat bars of hosts, from measurements and from events of hosts that went down or came back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from automation.choices import Granularity
from automation.hosts.models import Host
from automation.measurements.fleet_query import FleetQuery
from automation.measurements.fleet_series import fleet_series
from automation.measurements.query import bucket_start
from automation.measurements.tiers import chosen_tier, kept_tiers
from automation.metrics import Metric
from events.models import Event
from events.types import EventType
from opsapi.console.heartbeats import CELL, CELLS, CellState, HeartbeatBar, muted_times

MOST_HOSTS: Final = 50
_MOST_EVENTS: Final = 2_000
_BUCKET: Final = timedelta(minutes=5)
_MEASURED: Final = Metric.CONNECTIONS
"""The metric that shows that a host was measured: agents report it for each engine."""
_TYPES = (EventType.HOST_DOWN.value, EventType.HOST_UP.value)

Times = Sequence[tuple[datetime, datetime]]


def heartbeats(hosts: Sequence[Host], now: datetime) -> dict[str, HeartbeatBar]:
    """The bars of hosts of a project, by id, at most MOST_HOSTS.

    The number of statements does not depend on the number of hosts. A cell without measurements is never up.
    """
    hosts = hosts[:MOST_HOSTS]
    if not hosts:
        return {}
    start = bucket_start(now, CELL) - (CELLS - 1) * CELL
    measured, down = _measured(hosts, start, now), _down_times(hosts, start, now)
    muted: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    mutes = muted_times(hosts, start, now)
    for host_id, since, until in mutes.times:
        muted[host_id].append((since, until))
    cells = [start + place * CELL for place in range(CELLS)]
    return {
        host.id: HeartbeatBar(
            [_state(cell, measured[host.id], down.get(host.id, ()), now) for cell in cells],
            frozenset(_places(cells, muted.get(host.id, ()))),
            mutes.is_cut,
        )
        for host in hosts
    }


def _state(cell: datetime, measured: frozenset[datetime], down: Times, now: datetime) -> CellState:
    """Down if it was down at any time of the cell; up if half of the buckets that are over have values."""
    if _overlaps(cell, down):
        return CellState.DOWN
    buckets = [cell + place * _BUCKET for place in range(CELL // _BUCKET)]
    # A report takes a while: the newest bucket that must have values ended a bucket ago.
    over = [bucket for bucket in buckets if bucket + 2 * _BUCKET <= now] or buckets[:1]
    seen = sum(bucket in measured for bucket in buckets)
    return CellState.UP if seen and 2 * seen >= len(over) else CellState.NO_DATA


def _overlaps(cell: datetime, times: Times) -> bool:
    return any(since < cell + CELL and until > cell for since, until in times)


def _places(cells: Sequence[datetime], times: Times) -> Iterator[int]:
    return (place for place, cell in enumerate(cells) if times and _overlaps(cell, times))


def _measured(hosts: Sequence[Host], start: datetime, now: datetime) -> Mapping[str, frozenset[datetime]]:
    """The buckets in which each host was measured."""
    tier, granularity = chosen_tier(Granularity.PT5M, start, now=now, kept=kept_tiers())
    query = FleetQuery(granularity, start, now, [_MEASURED], tier=tier)
    measured = {host.id: frozenset[datetime]() for host in hosts}
    for series in fleet_series(hosts, query):
        if series.host is not None:
            seconds = series.points.buckets.tolist()
            measured[series.host.id] = frozenset(datetime.fromtimestamp(second, tz=UTC) for second in seconds)
    return measured


def _down_times(hosts: Sequence[Host], start: datetime, now: datetime) -> Mapping[str, Times]:
    """When each host was down, from its events; a host without events was all the time as it is now."""
    groups = {host.group_id for host in hosts}
    rows = Event.objects.filter(
        group_id__in=groups, event_type__in=_TYPES, created__gte=start, alert_id=None
    ).order_by("-created", "-id")
    of_host: dict[str, list[tuple[datetime, bool]]] = defaultdict(list)
    newest = list(rows.values_list("created", "event_type", "details__hostId")[:_MOST_EVENTS])
    for created, event_type, host_id in reversed(newest):
        of_host[host_id or ""].append((created, event_type == EventType.HOST_DOWN))
    return {host.id: list(_spans(host, of_host.get(host.id, ()), start, now)) for host in hosts}


def _spans(
    host: Host, changes: Iterable[tuple[datetime, bool]], start: datetime, now: datetime
) -> Iterator[tuple[datetime, datetime]]:
    changes = list(changes)
    is_down = not changes[0][1] if changes else host.down
    since = start
    for moment, goes_down in changes:
        if is_down and not goes_down:
            yield since, moment
        if goes_down and not is_down:
            since = moment
        is_down = goes_down
    if is_down:
        yield since, now
