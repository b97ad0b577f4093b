"""What the fleet leaves alerting to look at (architecture, "the way of a signal")."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Any

from automation.measured_at import MeasuredAt
from automation.models import Host
from automation.selectors.hosts import host_state
from events.choices import SignalKind
from events.services import signal_record, signals_record
from opsapi.batches import batches
from opsapi.wire_json import JsonObject

STATES_AT_ONCE = 200
"""So many hosts and replica sets stand in one signal, which is evaluated in one transaction."""


def hosts_signal(
    *,
    group_id: str,
    hosts: Iterable[Mapping[str, Any]],
    replica_sets: Iterable[Mapping[str, Any]],
    clusters_left: Iterable[str] = (),
    now: datetime,
) -> None:
    """The state of hosts and replica sets, frozen; the caller holds their rows. Nothing, without any.

    Of the clusters that hosts left, which may have been their last ones, the ids.
    """
    parts = (hosts, replica_sets, clusters_left)
    payloads = [
        dict(zip(("hosts", "replicaSets", "clustersLeft"), some, strict=True))
        for some in zip_longest(*(batches(part, STATES_AT_ONCE) for part in parts), fillvalue=[])
    ]
    signals_record(kind=SignalKind.HOSTS, payloads=((group_id, one) for one in payloads), now=now)


def versions_signal(*, group_id: str, now: datetime) -> None:
    """A version came, went or changed: which are behind has to be weighed anew."""
    signal_record(group_id=group_id, kind=SignalKind.VERSIONS, payload={}, now=now)


def host_signal_state(host: Host, measured: MeasuredAt | None = None) -> JsonObject:
    """What a signal says of one host: its state, and where its measurements are."""
    return {**host_state(host), "measurementId": measured.wire if measured else None}
