"""A fleet that reports once a minute: whether the platform keeps up, how late it evaluates, what it costs.

    python -m tests.benchmarks.simulator --hosts 1000 10000 100000 --projects 1 1000

Agents report 20 measurements of each host, in reports of 100 hosts or of all hosts of a project if it has
fewer. Each project has 500 alert configurations. The first minute is not measured: it creates the hosts.
"""

import argparse
import itertools
import math
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field

import orjson

from tests.benchmarks.bare_rows import BareRows
from tests.benchmarks.client import Address, LoadConnection
from tests.benchmarks.cpu import cpu_seconds_by_kind
from tests.benchmarks.figures import percentile
from tests.benchmarks.fleet import ACCEPTED, HOSTS_PER_REPORT, METRICS
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import ENVIRONMENT, HOST, forget_foreign_settings
from tests.benchmarks.signer import Signer, SigningKey
from tests.processes.platform import RunningPlatform, installation

CONFIGS = 500
MINUTE = 60.0
_SENDERS = 8
_LOOK_SECONDS = 0.25
_LATE_SECONDS = 2.0
"""The platform keeps up if no report of the last seconds is sent later, and evaluated later, than this."""
_SECONDS_A_DAY = 86_400
_MOST_ADDED_SECONDS = 900.0


@dataclass(frozen=True)
class Fleet:
    """Projects with the same number of hosts, and a key that may report for all of them."""

    groups: Sequence[str]
    hosts_of_each: int
    key: SigningKey

    def reports(self) -> Iterator[tuple[str, range]]:
        """The reports of a minute: project and numbers of hosts, projects in turn."""
        for first in range(0, self.hosts_of_each, HOSTS_PER_REPORT):
            numbers = range(first, min(first + HOSTS_PER_REPORT, self.hosts_of_each))
            for group in self.groups:
                yield group, numbers


@dataclass
class Sending:
    """What senders saw: refused reports, and by how many seconds each report was sent late."""

    late: list[float] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate each number of hosts in each number of projects, and print a row for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.simulator", description=__doc__)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--projects", type=int, nargs="+", default=[1, 1_000])
    parser.add_argument("--seconds", type=float, default=MINUTE, help="how long is measured")
    options = parser.parse_args(arguments)
    forget_foreign_settings()
    columns = ("hosts", "projects", "kept up", "sent late", "lag 50 %", "lag 95 %")
    costs = ("CPU s/min web", "worker", "PostgreSQL", "GB a day")
    _print_row(*columns, *costs)
    _print_row(*("---" for _ in (*columns, *costs)))
    for projects, hosts in itertools.product(options.projects, options.hosts):
        _print_row(*_simulate(hosts, projects, options.seconds))


def _simulate(hosts: int, projects: int, seconds: float) -> Sequence[str]:
    with installation(**ENVIRONMENT, OPSAPI_MAX_HOSTS=str(hosts)) as platform:
        platform.start()
        fleet = _fill(platform, projects, math.ceil(hosts / projects))
        with closing(BareRows(platform.data_dir)) as database:
            _send(platform, fleet, MINUTE)
            _wait_until_evaluated(database)
            size, cpu = database.readings_size(), cpu_seconds_by_kind(platform.pid)
            lags: list[float] = []
            sending = _send(platform, fleet, seconds, database, lags)
            spent = cpu_seconds_by_kind(platform.pid)
            size = database.readings_size() - size
        platform.stop()
    minutes = seconds / MINUTE
    last = slice(-int(5 / _LOOK_SECONDS), None)
    late = max(sending.late[-max(1, len(sending.late) // 20) :])
    keeps_up = not sending.refused and late < _LATE_SECONDS and min(lags[last]) < _LATE_SECONDS
    return (
        f"{hosts:,}",
        f"{projects:,}",
        "yes" if keeps_up else f"no ({len(sending.refused)} refused)",
        f"{late:.1f} s",
        f"{percentile(lags, 0.5):.2f} s",
        f"{percentile(lags, 0.95):.2f} s",
        *(f"{(spent[kind] - cpu[kind]) / minutes:.1f}" for kind in ("web", "worker", "PostgreSQL")),
        f"{size / seconds * _SECONDS_A_DAY / 1e9:.2f}",
    )


def _fill(platform: RunningPlatform, projects: int, hosts_of_each: int) -> Fleet:
    filled = run_in_own_process(platform, "fill_fleet", projects, CONFIGS)
    return Fleet(filled["groups"], hosts_of_each, SigningKey(*filled["key"]))


def _send(
    platform: RunningPlatform,
    fleet: Fleet,
    seconds: float,
    database: BareRows | None = None,
    lags: list[float] | None = None,
) -> Sending:
    """Send the reports evenly for so many seconds; note meanwhile how old the oldest signal is."""
    reports = list(fleet.reports())
    gap = MINUTE / len(reports)
    due = enumerate(itertools.islice(itertools.cycle(reports), max(1, round(seconds / gap))))
    lock, sending, begin = threading.Lock(), Sending(), time.monotonic()

    def work() -> None:
        address: Address = (HOST, platform.port)
        signer = Signer(address, fleet.key)
        while True:
            with lock:
                place, (group, numbers) = next(due, (-1, ("", range(0))))
            if place < 0:
                return
            target = f"/agents/v1.0/groups/{group}/reports"
            request = signer.signed("POST", target, _body(numbers))
            planned = begin + place * gap
            time.sleep(max(0.0, planned - time.monotonic()))
            sending.late.append(time.monotonic() - planned)
            with closing(LoadConnection(address)) as connection:
                status = connection.exchange(request).status
            if status != ACCEPTED:
                sending.refused.append(status)

    senders = [threading.Thread(target=work) for _ in range(_SENDERS)]
    for sender in senders:
        sender.start()
    while any(sender.is_alive() for sender in senders):
        time.sleep(_LOOK_SECONDS)
        if database is not None and lags is not None:
            lags.append(database.oldest_signal_seconds())
    return sending


def _body(numbers: range) -> bytes:
    hosts = [
        {
            "hostname": f"db{number:06}.example.com",
            "port": 27017,
            "typeName": "REPLICA_SECONDARY" if number % 3 else "REPLICA_PRIMARY",
            "replicaSetName": f"rs{number // 3}",
            "reachable": True,
            "version": "7.0.1",
            "measurements": [{"metricName": name, "number": random.random()} for name in METRICS],
        }
        for number in numbers
    ]
    report = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", "hosts": hosts}
    return orjson.dumps(report)


def _wait_until_evaluated(database: BareRows) -> None:
    """Wait until no signal is left; a platform that cannot keep up gets fifteen minutes more."""
    end = time.monotonic() + _MOST_ADDED_SECONDS
    while database.oldest_signal_seconds() and time.monotonic() < end:
        time.sleep(_LOOK_SECONDS)


def _print_row(*cells: str) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
