"""Shares hosts among the agents of a project (`automation.leases.rules`), and fences their reports."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from secrets import token_hex

from django.conf import settings

from automation.agents.store import leases_named
from automation.leases import rules
from automation.leases.models import HostLease, Watcher
from automation.leases.rules import Ask, Key, Lease, LeaseAnswer, lease_end, shares_given_back
from automation.reports.rules import LATEST, HostReport, LeaseRequest, Report, Samples
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.batches import ROWS_AT_ONCE
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.sql import execute, update_from_arrays
from opsapi.wire_json import JsonObject

EARLIER_KEPT = LATEST + timedelta(hours=1)
"""How long the ends of leases are kept. Reports are at most one day old."""
MOST_EARLIER = 50

_LOCK_CLASS = 0x6C65  # "le": distinguishes these advisory locks from others
_COLUMNS: Mapping[str, str] = {
    "held_by": "text",
    "free_from": "timestamptz",
    "wanted_by": "text",
    "together": "text",
    "token": "text",
    "since": "timestamptz",
    "earlier": "jsonb",
}
_UPDATE = update_from_arrays("automation_hostlease", _COLUMNS)

# --- requests for leases --------------------------------------------------------------------------


def leases_give(*, group_id: str, agent_id: str, request: LeaseRequest, now: datetime) -> JsonObject:
    """Assign hosts to an agent in the transaction of its report. Return the `leases` of the answer.

    Requests of a project run one after another, so no two watchers get the same host.

    Raises: ApiError: LIMIT_REACHED, if the project would have too many leases or agents that share hosts.
    """
    execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, group_id])
    watchers = {watcher.id: watcher for watcher in Watcher.objects.filter(group_id=group_id).defer("metrics")}
    rows = {(row.hostname, row.port): row for row in HostLease.objects.filter(group_id=group_id)}
    known = {key: Lease(row.held_by, row.free_from, row.wanted_by, row.together) for key, row in rows.items()}
    asking = (agent_id, request.instance)
    me = next(
        (watcher for watcher in watchers.values() if (watcher.agent_id, watcher.instance) == asking), None
    )
    _forget_watchers([watcher for watcher in watchers.values() if watcher is not me], now)
    if request.stops:
        if me is not None:
            _write(group_id, rows, shares_given_back(me.id, leases=known, now=now), frozenset(), now)
            Watcher.objects.filter(id=me.id).update(until=now)
        return {"hosts": []}
    me_id = me.id if me else new_id()
    shares = _shares(me_id, request, known, watchers.values(), now)
    _check_limit(shares, known)
    if me is None and len(watchers) >= settings.OPSAPI_MAX_SHARING_AGENTS:
        most, note = str(settings.OPSAPI_MAX_SHARING_AGENTS), "The setting is OPSAPI_MAX_SHARING_AGENTS."
        raise ApiError(ErrorCode.LIMIT_REACHED, "agents that share hosts", most, note=note)
    beat = _watcher_columns(request, me, now)
    if me is None:
        owner = {"group_id": group_id, "agent_id": agent_id, "instance": request.instance}
        Watcher.objects.create(id=me_id, **owner, **beat)
    else:
        Watcher.objects.filter(id=me_id).update(**beat)
    HostLease.objects.filter(id__in=[rows[key].id for key in shares.forgotten]).delete()
    tokens = _write(group_id, rows, shares.changed, shares.gained, now)
    hostnames = {address.key: address.hostname for address in request.hosts}
    held = {key: (hostnames[key], tokens.get(key) or rows[key].token) for key in sorted(shares.held)}
    return _answer(shares, held, now)


def _shares(
    me_id: str,
    request: LeaseRequest,
    known: Mapping[Key, Lease],
    watchers: Iterable[Watcher],
    now: datetime,
) -> LeaseAnswer:
    """Decide which hosts the watcher gets; `known` and `watchers` are all of the project."""
    together = {host.key: text for host, text in zip(request.hosts, request.together, strict=True)}
    return Ask(
        me_id,
        candidates=together,
        leases=known,
        watchers={
            watcher.id: rules.LeaseWatcher(watcher.asked, watcher.interval, watcher.until)
            for watcher in watchers
        },
        interval=request.interval,
        now=now,
    ).shares()


def _check_limit(shares: LeaseAnswer, known: Mapping[Key, Lease]) -> None:
    """Refuse new leases if the project would have more than OPSAPI_MAX_HOSTS."""
    fresh = shares.changed.keys() - known.keys()
    if fresh and len(known) + len(fresh) - len(shares.forgotten) > settings.OPSAPI_MAX_HOSTS:
        most, note = str(settings.OPSAPI_MAX_HOSTS), "The setting is OPSAPI_MAX_HOSTS."
        raise ApiError(ErrorCode.LIMIT_REACHED, "hosts", most, note=note)


def _forget_watchers(watchers: Iterable[Watcher], now: datetime) -> None:
    gone = [watcher.id for watcher in watchers if watcher.until < now - rules.FORGOTTEN_AFTER]
    if gone:
        Watcher.objects.filter(id__in=gone).delete()


def _watcher_columns(request: LeaseRequest, known: Watcher | None, now: datetime) -> JsonObject:
    """The columns of the watcher that a request changes; the metric coverage only if it is new."""
    digest = hashlib.sha256(json.dumps(request.metrics, sort_keys=True).encode()).hexdigest()
    beat: JsonObject = {
        "interval": request.interval,
        "asked": now,
        "until": lease_end(now, request.interval),
    }
    if known is None or known.metrics_digest != digest:
        beat |= {"metrics": request.metrics, "metrics_digest": digest}
    return beat


def _write(
    group_id: str,
    rows: Mapping[Key, HostLease],
    changed: Mapping[Key, Lease],
    gained: frozenset[Key],
    now: datetime,
) -> Mapping[Key, str]:
    """Write the changed leases. Return the tokens of new leases."""
    token = token_hex(8)  # The same for all leases that begin now, because a host has only one of them.
    fresh, updated = [], []
    for key, lease in changed.items():
        row = rows.get(key)
        if row is None:
            row = HostLease(group_id=group_id, hostname=key[0], port=key[1], since=now, created=now)
            fresh.append(row)
        else:
            updated.append(row)
        if key in gained:
            row.earlier = _earlier(row, now)
            row.token, row.since = token, now
        row.held_by, row.free_from, row.wanted_by = lease.watcher, lease.free_from, lease.wanted_by
        row.together = lease.together
    HostLease.objects.bulk_create(fresh, batch_size=ROWS_AT_ONCE)
    if updated:
        columns = {name: [getattr(row, name) for row in updated] for name in ("id", *_COLUMNS)}
        columns["earlier"] = [json.dumps(row.earlier) for row in updated]
        execute(_UPDATE, columns)
    return dict.fromkeys(gained, token)


def _earlier(row: HostLease, now: datetime) -> dict[str, str]:
    """Tokens of ended leases with their ends, newest last."""
    ended = {**row.earlier, row.token: now.isoformat()} if row.token else row.earlier
    limit = now - EARLIER_KEPT
    kept = [(token, end) for token, end in ended.items() if datetime.fromisoformat(end) > limit]
    return dict(sorted(kept, key=lambda lease: lease[1])[-MOST_EARLIER:])


def _answer(shares: LeaseAnswer, held: Mapping[Key, tuple[str, str]], now: datetime) -> JsonObject:
    hosts = [
        {"hostname": hostname, "port": key[1], "lease": token, "until": wire_time(shares.held[key])}
        for key, (hostname, token) in held.items()
    ]
    if shares.ask_again is None:
        return {"hosts": hosts}
    seconds = round((shares.ask_again - now).total_seconds(), 3)
    return {"hosts": hosts, "askAgainInSeconds": seconds}


# --- reports --------------------------------------------------------------------------------------


def fence_report(*, group_id: str, report: Report) -> tuple[Report, Sequence[HostReport]]:
    """Split a report by the leases of its hosts.

    Return the report with the hosts that its agent still holds, and the reports of other hosts with only the
    samples from before their lease ended. In this way a late report leaves no gap, and nothing is stored
    twice. The caller has locked the hosts, so an agent that gets a lease afterwards also writes afterwards.
    """
    fenced = [host for host in report.hosts if host.lease is not None]
    if not fenced:
        return report, ()
    rows = leases_named(group_id, {host.address.key for host in fenced})
    over = {
        host.address.key: end
        for host in fenced
        if (row := rows.get(host.address.key)) and (end := _end_of(str(host.lease), row))
    }
    if not over:
        return report, ()
    late = [_until(host, over[host.address.key]) for host in fenced if host.address.key in over]
    return replace(report, hosts=[host for host in report.hosts if host.address.key not in over]), late


def _end_of(token: str, row: HostLease) -> datetime | None:
    """The end of a lease; None if it is the newest lease of the host."""
    if token == row.token:
        return None
    end = row.earlier.get(token)
    # An unknown lease covers the time before the first lease of the host. An end after the start of the
    # newest lease was written by a clock that was ahead.
    return min(datetime.fromisoformat(end) if end else row.created, row.since)


def _until(report: HostReport, end: datetime) -> HostReport:
    def before(samples: Samples) -> Samples:
        kept = {
            metric: [sample for sample in values if sample[0] < end] for metric, values in samples.items()
        }
        return {metric: values for metric, values in kept.items() if values}

    databases = {name: before(samples) for name, samples in (report.databases or {}).items()}
    return replace(report, samples=before(report.samples), databases=databases)
