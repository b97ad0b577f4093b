"""Writes the signals of the fleet, which alerting evaluates."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Any

from automation.agents.models import Agent
from automation.hosts.models import Host
from automation.hosts.store import host_state
from automation.measurements.changes import HostMeasured
from automation.measurements.rules import MeasuredAt
from automation.reports.rules import holds_at
from events.choices import SignalKind
from events.outbox.changes import signals_record
from opsapi.batches import batches
from opsapi.wire_json import JsonObject

STATES_AT_ONCE = 200
"""Maximum number of hosts and of replica sets in a signal, which is evaluated in one transaction."""


def hosts_signal(
    *,
    group_id: str,
    hosts: Iterable[Mapping[str, Any]],
    replica_sets: Iterable[Mapping[str, Any]],
    clusters_left: Iterable[str] = (),
    now: datetime,
    observed: datetime | None = None,
    held_by: str | None = None,
    agent_id: str | None = None,
) -> None:
    """Write signals with the current state of hosts and replica sets, whose rows the caller has locked.

    `clusters_left` are ids of clusters that may have lost their last host. Without content, no signal is
    written. `observed`, `held_by` and `agent_id` apply to all signals
    (`events.outbox.changes.signals_record`).
    """
    parts = (hosts, replica_sets, clusters_left)
    payloads = [
        dict(zip(("hosts", "replicaSets", "clustersLeft"), some, strict=True))
        for some in zip_longest(*(batches(part, STATES_AT_ONCE) for part in parts), fillvalue=[])
    ]
    signals_record(
        kind=SignalKind.HOSTS,
        payloads=((group_id, payload) for payload in payloads),
        now=now,
        observed=observed,
        held_by=held_by,
        agent_id=agent_id,
    )


def known_hosts_signal(
    *,
    group_id: str,
    states: Iterable[tuple[Host, JsonObject]],
    now: datetime,
    observed: datetime | None = None,
) -> None:
    """Write signals with the states of hosts, whose rows the caller has locked.

    An agent whose other reports wait holds them, as it holds the signals of its reports. `observed`: when
    their cause was observed, if that was before `now`.
    """
    of_host = list(states)
    agents = Agent.objects.filter(id__in={host.reported_by_id for host, _ in of_host})
    waiting = dict(agents.values_list("id", "waiting_since"))
    of_holder: dict[str | None, list[JsonObject]] = {}
    for host, state in of_host:
        holder = host.reported_by_id if holds_at(waiting.get(host.reported_by_id), now) else None
        of_holder.setdefault(holder, []).append(state)
    for holder, some in of_holder.items():
        hosts_signal(
            group_id=group_id,
            hosts=some,
            replica_sets=(),
            now=now,
            observed=observed,
            held_by=holder,
            agent_id=holder,
        )


def versions_signal(*, group_id: str, now: datetime, observed: datetime | None = None) -> None:
    """Write a signal that versions changed, so that versions are compared again.

    `observed`: when the change was observed, if that was before `now`.
    """
    signals_record(kind=SignalKind.VERSIONS, payloads=[(group_id, {})], now=now, observed=observed)


def host_signal_state(host: Host, measured: MeasuredAt | None = None) -> JsonObject:
    """Return the state of a host and the place of its measurements, for a signal."""
    return {**host_state(host), "measurementId": measured.wire if measured else None}


def report_signal_state(host: Host, measured: HostMeasured | None, *, is_newest: bool) -> JsonObject | None:
    """Return what a report says about a host: its state if it is the newest, and the deciding samples.

    None if newer observations of the state and of all metrics are stored.
    """
    decides = measured is not None and (measured.decides or measured.apart)
    if not is_newest and not decides:
        return None
    state = host_signal_state(host, measured.at if measured and measured.decides else None)
    if not is_newest:
        state["samplesOnly"] = True
    if measured is not None and measured.older:
        state["olderMetrics"] = sorted(metric.value for metric in measured.older)
    if measured is not None and measured.apart:
        state["samplesApart"] = {metric.value: numbers for metric, numbers in measured.apart.items()}
    return state
