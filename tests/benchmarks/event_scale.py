"""Lists of events in a small and in a large event log: time at 50 % of each request, and the ratio.

    python -m tests.benchmarks.event_scale --events 10000 10000000

All events belong to one project, one event every four seconds; other projects do not slow its lists down.
Pages have ten events, so that the smaller log has a page 1,000, too.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import urlencode

from tests.benchmarks.client import LoadConnection, UnexpectedAnswer
from tests.benchmarks.figures import percentile
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import ENVIRONMENT, HOST, forget_foreign_settings
from tests.benchmarks.signer import Signer, SigningKey
from tests.processes.platform import RunningPlatform, installation

_REQUESTS = 40
_PAGE = 10


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill an event log of each size, and print a row for each list."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.event_scale", description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 10_000_000])
    sizes = parser.parse_args(arguments).events
    forget_foreign_settings()
    measured = [_measure(size) for size in sizes]
    sizes_shown = [f"{size:,} events" for size in sizes]
    _print_row("list", *sizes_shown, "ratio")
    _print_row(*("---" for _ in range(len(sizes) + 2)))
    for name, smallest in measured[0].items():
        times = [figures[name] for figures in measured]
        _print_row(name, *(f"{each:.1f} ms" for each in times), f"{times[-1] / smallest:.2f}")


def _measure(count: int) -> Mapping[str, float]:
    """Milliseconds of each list, by what is asked for."""
    with installation(**ENVIRONMENT) as platform:
        platform.start()
        filled = _filled(platform, count)
        signer = Signer((HOST, platform.port), SigningKey(*filled["key"]))
        project, organization = f"groups/{filled['group_id']}", f"orgs/{filled['org_id']}"
        with closing(LoadConnection((HOST, platform.port))) as connection:
            figures = {
                name: _milliseconds(connection, signer, path, query)
                for name, path, query in [
                    (f"{what}, page {page:,}{counting}", path, {**query, "pageNum": page, **counted})
                    for what, path, query, pages in [
                        ("of a project", project, {}, (1, 1_000)),
                        ("of a type", project, {"eventType": "HOST_DOWN"}, (1, 100)),
                        ("of an hour", project, filled["hour"], (1, 50)),
                        ("of an organization", organization, {}, (1, 1_000)),
                    ]
                    for page in pages
                    for counting, counted in (("", {"includeCount": "false"}), (", counted", {}))
                ]
            }
        platform.stop()
    return figures


def _filled(platform: RunningPlatform, count: int) -> Mapping[str, Any]:
    filled: Mapping[str, Any] = run_in_own_process(platform, "fill_events", count)
    return filled


def _milliseconds(
    connection: LoadConnection, signer: Signer, path: str, query: Mapping[str, str | int]
) -> float:
    target = f"/api/public/v1.0/{path}/events?{urlencode({**query, 'itemsPerPage': _PAGE})}"
    times = []
    for _ in range(_REQUESTS):
        answer = connection.exchange(signer.signed("GET", target))
        if answer.status != 200:
            raise UnexpectedAnswer(f"status {answer.status}: {answer.body[:300]!r}")
        times.append((time.monotonic() - connection.sent) * 1000)
    return percentile(times, 0.5)


def _print_row(*cells: str) -> None:
    sys.stdout.write("| " + " | ".join(cells) + " |\n")


if __name__ == "__main__":
    main()
