"""Decides which hosts the agent watches. The platform shares hosts among agents."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Callable

from automation.agent.client import Client, NoChallenge, PlatformAnswer, Unreachable
from automation.agent.engine import ServerAddress, address_of
from automation.agent.faults import printable
from automation.agent.files import write_whole
from automation.agent.rates import Why

log = logging.getLogger("opsapi.agent")

FILE = "leases"
"""In the spool directory, which belongs to a single process at a time."""

ASK_ANEW = 600.0
"""Seconds until the agent asks a platform without host sharing again; it may have been upgraded."""
SOONEST = 0.2
"""Minimum seconds between two requests, whatever the platform says."""

MOST_HOSTS = 10_000
MOST_METRIC_SETS = 100
_LONGEST_LEASE = 64
_PROBLEM = "updateProblem"
_STATES = {
    # Values appear after two samples, once something has happened.
    **dict.fromkeys((Why.REPORTED, Why.WAITS, Why.IDLE), "reported"),
    Why.ABSENT: "absent",
    Why.REFUSED: "refused",
    Why.FAILED: "failed",
}

Metrics = Mapping[str, Why]
MetricSet = Mapping[str, object]
"""Names of metrics by state, and the missing `role`, in the format of a report."""


class Leases:
    """The hosts assigned to this agent. Not thread-safe.

    Before the first answer, the agent watches all hosts without a valid lease: the platform stores such
    reports only for the time before any agent held the host. While the platform does not answer, the agent
    keeps its last hosts. A platform without host sharing rejects the request; the agent then watches all
    hosts without leases.
    """

    def __init__(
        self,
        client: Client,
        directory: Path,
        *,
        hostname: str,
        version: str,
        interval: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hostname` and `version` identify the agent; `directory` stores its hosts across restarts."""
        self._client, self._path, self._clock = client, directory / FILE, clock
        self._head = {"agentType": "MONITORING", "hostname": hostname, "version": version}
        self.interval = interval
        """Seconds between two rounds."""
        self._instance, self._held = _read(self._path)
        self._is_alone = False
        self._alone_until = 0.0
        self._failure = ""
        self.has_answer = False
        self.update_problem = ""
        """Why the agent did not update itself; empty if nothing prevents it."""
        self._sends_problem = True
        self.again: float | None = None
        """Seconds until a host may become free; None for the usual interval."""
        self._write()

    def ask(
        self,
        candidates: Sequence[ServerAddress],
        metrics: Iterable[tuple[str, Mapping[ServerAddress, Metrics]]],
        together: Mapping[ServerAddress, str],
    ) -> None:
        """Ask which hosts to watch. Hosts with the same text in `together` go to one agent.

        `metrics` is the metric coverage of hosts, by the missing role if metrics are refused.
        """
        self.has_answer, self.again = False, None
        if self._is_alone and self._clock() < self._alone_until:
            return
        mine = [(role, {host: of[host] for host in of if self.watches(host)}) for role, of in metrics]
        sets, places = metric_sets(mine)
        hosts = [
            {
                "hostname": host.hostname,
                "port": host.port,
                **({"together": together[host]} if host in together else {}),
                **({"metricSet": places[host]} if host in places else {}),
            }
            for host in candidates[:MOST_HOSTS]
        ]
        answer = self._send({"hosts": hosts, "metricSets": sets})
        if answer is not None:
            self._take(answer)

    def watches(self, host: ServerAddress) -> bool:
        return self._is_alone or self._held is None or host in self._held

    def lease_of(self, host: ServerAddress) -> str | None:
        """The lease to send in a report of the host."""
        if self._is_alone:
            return None
        return self._instance if self._held is None else self._held.get(host)

    def give_back(self) -> None:
        """Release the hosts before the agent stops. The state for a restart stays."""
        if self._held and not self._is_alone and not self._failure:
            self._send({"stopping": True})

    def _send(self, request: Mapping[str, Any]) -> PlatformAnswer | None:
        """The answer of the platform; None if there is none."""
        asked = {"instance": self._instance, "intervalSeconds": self.interval, **request}
        problem = {_PROBLEM: self.update_problem} if self.update_problem and self._sends_problem else {}
        body = json.dumps({**self._head, **problem, "leases": asked}, separators=(",", ":")).encode()
        try:
            return self._client.report(body)
        except (Unreachable, NoChallenge) as error:
            self._fails(f"the platform did not assign hosts: {error}")
            return None

    def _take(self, answer: PlatformAnswer) -> None:
        if answer.status == 400 and "leases" in answer.bad_fields:
            if not self._is_alone:
                log.info("the platform does not share hosts among agents; this agent watches all its hosts")
            self._is_alone, self._alone_until = True, self._clock() + ASK_ANEW
            return
        if answer.status == 400 and _PROBLEM in answer.bad_fields:
            self._sends_problem = False  # An older platform, after a newer platform.
        given = answer.document.get("leases")
        if not answer.accepted or not isinstance(given, dict):
            self._fails(f"the platform did not assign hosts: {answer.detail}")
            return
        self._is_alone, self._failure, self.has_answer = False, "", True
        held = dict(_leases_in(given.get("hosts")))
        if held.keys() != (self._held or {}).keys() or self._held is None:
            log.info("watching %d hosts", len(held))
        if held != self._held:
            self._held = held
            self._write()
        again = given.get("askAgainInSeconds")
        if isinstance(again, (int, float)) and isfinite(again):
            self.again = max(SOONEST, float(again))

    def _write(self) -> None:
        held = None if self._held is None else [[*host, lease] for host, lease in self._held.items()]
        try:
            write_whole(self._path, json.dumps({"instance": self._instance, "held": held}).encode())
        except OSError as error:
            log.error("%s: the assigned hosts cannot be saved: %s", FILE, error.strerror)

    def _fails(self, why: str) -> None:
        if why != self._failure:
            log.warning("%s; the agent keeps its current hosts", why)
        self._failure = why


def metric_sets(
    metrics: Iterable[tuple[str, Mapping[ServerAddress, Metrics]]],
) -> tuple[Sequence[MetricSet], Mapping[ServerAddress, int]]:
    """The distinct metric sets, and the index of each host's set."""
    sets: list[MetricSet] = []
    known: dict[str, int] = {}
    places: dict[ServerAddress, int] = {}
    for role, hosts in metrics:
        for host, reasons in hosts.items():
            named: dict[str, list[str]] = {}
            for metric in sorted(reasons):
                named.setdefault(_STATES[reasons[metric]], []).append(metric)
            states: MetricSet = named
            if "refused" in states:
                states = {**states, "role": role}
            text = json.dumps(states)
            if states and text not in known and len(sets) < MOST_METRIC_SETS:
                known[text] = len(sets)
                sets.append(states)
            if text in known:
                places[host] = known[text]
    return sets, places


def _leases_in(document: object) -> Iterable[tuple[ServerAddress, str]]:
    """The hosts of an answer with their leases; unreadable entries are skipped."""
    for entry in document if isinstance(document, list) else ():
        if isinstance(entry, dict):
            yield from _lease(entry.get("hostname"), entry.get("port"), entry.get("lease"))


def _lease(hostname: object, port: object, lease: object) -> Iterable[tuple[ServerAddress, str]]:
    text = printable(lease, _LONGEST_LEASE)
    if isinstance(hostname, str) and isinstance(port, int) and text:
        address = address_of(hostname, port)
        if address is not None:
            yield address, text


def _read(path: Path) -> tuple[str, Mapping[ServerAddress, str] | None]:
    """The instance name and the assigned hosts; a new name if the file is unreadable."""
    try:
        kept = json.loads(path.read_bytes())
        instance, held = kept["instance"], kept["held"]
        known = None if held is None else dict(pair for entry in held for pair in _lease(*entry))
    except (OSError, ValueError, KeyError, TypeError):
        return uuid.uuid4().hex, None
    text = printable(instance, _LONGEST_LEASE)
    return (text, known) if text else (uuid.uuid4().hex, None)
