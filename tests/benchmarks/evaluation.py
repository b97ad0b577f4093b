"""Row 6: what a signal costs beside 10, 500 and 5,000 configurations that cannot concern it.

Runs in a process with Django set up (see `scene`), the platform's worker held: `evaluate_signals` is called
as the worker calls it.
"""

import json
import sys
import time
from datetime import datetime

from django.db import transaction

from accesslist.models import Project
from alerting.evaluation import evaluate_signals
from alerting.models import AlertConfig
from automation.models import Host
from automation.selectors.hosts import host_state
from events.choices import SignalKind
from events.models import Signal
from events.services import signal_record
from opsapi import clock
from tests.factories.accesslist import ProjectFactory

COUNTS = (10, 500, 5_000)
_SIGNALS = 200
_ROUNDS = 3
_OTHER_TYPES = ("OPLOG_BEHIND", "NO_PRIMARY", "MONITORING_AGENT_DOWN", "TEAM_CREATED", "RESYNC_REQUIRED")


def main() -> None:
    """Writes {number of configurations: milliseconds per signal} to stdout, as JSON."""
    now = clock.now()
    projects = {count: _project(count, now) for count in COUNTS}
    # In turn, so that all see the same machine; the best round is the least disturbed.
    rounds = [{count: _milliseconds(project) for count, project in projects.items()} for _ in range(_ROUNDS)]
    sys.stdout.write(json.dumps({count: min(one[count] for one in rounds) for count in COUNTS}))


def _project(configs: int, now: datetime) -> Project:
    project: Project = ProjectFactory.create(name=f"beside {configs} configurations")
    Host.objects.create(group=project, hostname="db1.example.com", port=27017, created=now, last_report=now)
    AlertConfig.objects.bulk_create(
        AlertConfig(
            group=project, event_type=_OTHER_TYPES[number % len(_OTHER_TYPES)], created=now, updated=now
        )
        for number in range(configs)
    )
    return project


def _milliseconds(project: Project) -> float:
    host = Host.objects.get(group=project)
    payload = {"hosts": [{**host_state(host), "measurementId": None}]}
    with transaction.atomic():
        for _ in range(_SIGNALS):
            signal_record(group_id=project.id, kind=SignalKind.HOSTS, payload=payload, now=clock.now())
    waiting = Signal.objects.filter(group_id=project.id)
    begin = time.monotonic()
    while waiting.exists():
        evaluate_signals(now=clock.now())
    return (time.monotonic() - begin) * 1000 / _SIGNALS
