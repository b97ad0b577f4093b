"""The cost of a report that waited on the disk of its agent, and of the same report when it arrives at once.

Runs in a process with Django set up (see `scene`), while the worker of the platform is suspended. Both ways
store and evaluate the reports of 1,000 hosts: 10 reports a minute of 100 hosts with 20 metrics each.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from accesslist.models import Project
from alerting.engine.evaluation import close_over, evaluate_signals, open_tracked
from automation.metrics import Metric, base_unit
from automation.units import Unit
from opsapi import clock
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest

_HOSTS, _AT_ONCE = 1_000, 100
_MINUTE = timedelta(minutes=1)


def main() -> None:
    """Writes {"live" or "late": milliseconds per report} to stdout, as JSON. The argument is the minutes."""
    minutes = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    now = clock.now()
    ways: dict[str, Callable[[Project, int, datetime], None]] = {"live": _live, "late": _late}
    found = {}
    for name, way in ways.items():
        project: Project = ProjectFactory.create(name=f"{name} reports")
        make_config(project)
        _round(project, now - 3 * minutes * _MINUTE, observed=None, waiting=None)
        _work(now - 3 * minutes * _MINUTE)
        began = time.perf_counter()
        way(project, minutes, now)
        found[name] = (time.perf_counter() - began) * 1_000 / (minutes * _HOSTS / _AT_ONCE)
    sys.stdout.write(json.dumps(found))


def _live(project: Project, minutes: int, now: datetime) -> None:
    for minute in range(minutes):
        moment = now - (minutes - minute) * _MINUTE
        _round(project, moment, observed=None, waiting=None)
        _work(moment)


def _late(project: Project, minutes: int, now: datetime) -> None:
    for minute in range(minutes):
        waiting = (minutes - 1 - minute) * _HOSTS // _AT_ONCE
        _round(project, now, observed=now - (minutes - 1 - minute) * _MINUTE, waiting=waiting)
    _work(now)


def _round(project: Project, now: datetime, *, observed: datetime | None, waiting: int | None) -> None:
    metrics = [metric for metric in Metric if base_unit(metric) is Unit.RAW][:20]
    values: dict[str, Any] = {metric.value: 1.0 for metric in metrics}
    for first in range(0, _HOSTS, _AT_ONCE):
        hosts = [host_report(f"db{number}", **values) for number in range(first, first + _AT_ONCE)]
        ingest(project, *hosts, observed=observed, waiting=waiting, now=now)


def _work(now: datetime) -> None:
    while evaluate_signals(now=now):
        pass
    close_over(now=now)
    open_tracked(now=now)
