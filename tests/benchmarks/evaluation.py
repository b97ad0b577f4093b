"""The cost of a signal with 10, 500 and 5,000 configurations that do not apply to it.

And with 500 configurations that all apply: 20 metrics of a host, each with 25 thresholds that it keeps, also
in batches of a single signal. And the cost of a host in a signal of a hundred hosts.

Runs in a process with Django set up (see `scene`), while the worker of the platform is suspended. Calls
`evaluate_signals` as the worker does.
"""

import json
import sys
import time
from datetime import datetime

from django.db import transaction

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.models import AlertConfig
from automation.hosts.signals import host_signal_state
from automation.measurements.store import newest_measurements
from automation.metrics import Metric, base_unit
from automation.models import Host
from automation.units import Unit
from events.choices import SignalKind
from events.models import Signal
from events.outbox.changes import signal_record
from opsapi import clock
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import measure

COUNTS = (10, 500, 5_000)
_SIGNALS = 200
_ROUNDS = 3
_METRICS = 20
_ALONE = "the same, in sets of one signal"
_HOSTS = 100
_OTHER_TYPES = ("OPLOG_BEHIND", "NO_PRIMARY", "MONITORING_AGENT_DOWN", "TEAM_CREATED", "RESYNC_REQUIRED")


def main() -> None:
    """Writes {what is evaluated: milliseconds per signal, or per host of it} to stdout, as JSON."""
    now = clock.now()
    projects = {f"beside {count:,} configurations": _project(count, now) for count in COUNTS}
    projects["beside 500 thresholds, 20 metrics"] = _thresholds(now)
    projects[_ALONE] = projects["beside 500 thresholds, 20 metrics"]
    projects[f"per host, {_HOSTS} in a signal"] = _project(COUNTS[0], now, hosts=_HOSTS)
    # In turn, so that all see the same machine; the best round is the least disturbed.
    rounds = [
        {
            name: _milliseconds(project, 1 if name == _ALONE else _SIGNALS)
            for name, project in projects.items()
        }
        for _ in range(_ROUNDS)
    ]
    sys.stdout.write(json.dumps({name: min(round_[name] for round_ in rounds) for name in projects}))


def _thresholds(now: datetime) -> Project:
    project = _project(0, now)
    metrics = [metric for metric in Metric if base_unit(metric) is Unit.RAW][:_METRICS]
    AlertConfig.objects.bulk_create(
        AlertConfig(
            group=project,
            event_type="OUTSIDE_METRIC_THRESHOLD",
            metric_threshold={
                "metricName": metrics[number % _METRICS].value,
                "operator": "GREATER_THAN",
                "threshold": 1_000 + number,
                "units": "RAW",
                "mode": "AVERAGE",
            },
            created=now,
            updated=now,
        )
        for number in range(500)
    )
    measure(Host.objects.get(group=project), now, {metric: [(now, 1.0)] for metric in metrics})
    return project


def _project(configs: int, now: datetime, *, hosts: int = 1) -> Project:
    project: Project = ProjectFactory.create(name=f"{hosts} beside {configs} configurations")
    Host.objects.bulk_create(
        Host(group=project, hostname=f"db{number}.example.com", port=27017, created=now, last_report=now)
        for number in range(hosts)
    )
    AlertConfig.objects.bulk_create(
        (
            AlertConfig(
                group=project, event_type=_OTHER_TYPES[number % len(_OTHER_TYPES)], created=now, updated=now
            )
            for number in range(configs)
        ),
        batch_size=1000,
    )
    return project


def _milliseconds(project: Project, at_once: int) -> float:
    hosts = list(Host.objects.filter(group=project))
    newest = newest_measurements(host.id for host in hosts)
    payload = {
        "hosts": [
            host_signal_state(host, newest[host.id].at if host.id in newest else None) for host in hosts
        ]
    }
    waiting, seconds = Signal.objects.filter(group_id=project.id), 0.0
    for _ in range(_SIGNALS // at_once):
        with transaction.atomic():
            for _ in range(at_once):
                signal_record(group_id=project.id, kind=SignalKind.HOSTS, payload=payload, now=clock.now())
        begin = time.monotonic()
        while waiting.exists():
            evaluate_signals(now=clock.now())
        seconds += time.monotonic() - begin
    return seconds * 1000 / (_SIGNALS * len(hosts))
