"""Whatever one project has stored, the alert of another project reaches its receiver.

Each seed stores a random, dear combination of configurations, patterns, windows, labels, grouping and hosts
in one project. `OPSAPI_TEST_SEED` runs one of them. What is asserted is the order of work and not its speed:
at most two turns of the dear project come between the report of the other project and its evaluation, and
its message is decided at once.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.condition_documents import MatcherDocument
from alerting.engine import evaluation as evaluation_module
from alerting.engine.muting import MuteDesk, Muting
from alerting.engine.turns import Turn
from alerting.engine.worker import Worker
from alerting.models import MaintenanceWindow, Notification
from events.models import Signal
from opsapi import clock
from opsapi.api.documents import InvalidField
from tests.eventually import eventually
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import evaluate
from tests.receivers import LOOPBACK, HttpReceiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SEEDS = range(200) if LONG else range(1)
MOST_CONFIGS = 300 if LONG else 60
HOSTS = 200
_PATTERNS = 40
_FOUND = {"HOSTNAME": "db[0-9]", "LABEL": "v"}
"""A text in all host names and in all labels."""
_LABELS = [f"label{number}={'v' * 60}" for number in range(10)]


class DearProject:
    """What a seed stores."""

    def __init__(self, project: Project, receiver: HttpReceiver, seed: int) -> None:
        self.project, self.random = project, Random(seed)
        self.hosts = [
            f"{'a' * self.random.choice((1, 60))}.{'a' * 60}.{'a' * 60}.db{number}" for number in range(HOSTS)
        ]
        self._patterns = {field: self._dear_patterns(found) for field, found in _FOUND.items()}
        setting = {**WEBHOOK, "webhookUrl": receiver.url("/dear")}
        make_config(project, notifications=[setting])
        for _ in range(self.random.randint(MOST_CONFIGS // 2, MOST_CONFIGS)):
            self._config(setting)
        for number in range(self.random.randint(60, 100)):
            self._window(number)

    def _config(self, setting: dict[str, Any]) -> None:
        random = self.random
        grouping = random.choice(({}, {"grouping": "TOPOLOGY", "groupWaitSec": 0}))
        delayed = {**setting, "delayMin": random.choice((0, 0, 1))}
        notifications = [delayed] * random.choice((1, 1, 5))
        config = make_config(self.project, notifications=notifications, **grouping)
        config.matchers = [self._matcher("HOSTNAME") for _ in range(50)]
        config.save(update_fields=["matchers"])

    def _dear_patterns(self, found: str) -> list[str]:
        """Patterns that match all texts with `found`, and take as long as validation accepts."""
        random, accepted = self.random, []
        for _ in range(_PATTERNS):
            repeated = "|".join(f"a{{{random.randint(40, 60)}}}b" for _ in range(random.randint(1, 15)))
            dear = [f"{repeated}|{found}", f"([^x]{{1,60}}.*)+{found}", f"(.*a)*{found}"]
            for pattern in random.sample(dear, len(dear)):
                with suppress(InvalidField):
                    # The same patterns are accepted for labels.
                    stored = {"fieldName": "HOSTNAME", "operator": "REGEX", "value": f"{pattern}|{10**6}"}
                    MatcherDocument(data=stored).is_valid()
                    accepted.append(pattern)
                    break
        return accepted

    def _matcher(self, *fields: str) -> dict[str, str]:
        """A matcher of its own pattern, because workers remember what a pattern matches."""
        field, number = self.random.choice(fields), self.random.randint(0, 10**6)
        if not self._patterns[field]:
            return {"fieldName": field, "operator": "NOT_CONTAINS", "value": f"x{number}"}
        pattern = f"{self.random.choice(self._patterns[field])}|{number}"
        return {"fieldName": field, "operator": "REGEX", "value": pattern}

    def _window(self, number: int) -> None:
        now = clock.now()
        matchers = [self._matcher("HOSTNAME", "LABEL") for _ in range(9)]
        never = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "never"}
        recurrence = {"rrule": "FREQ=DAILY", "timeZone": "Europe/Berlin"} if number % 3 == 0 else None
        MaintenanceWindow.objects.create(
            group=self.project,
            alert_types=["HOST"],
            start=now - timedelta(minutes=5),
            end=now + timedelta(hours=1),
            recurrence=recurrence,
            matchers=[*matchers, never],
            created=now,
            updated=now,
        )

    def report(self, now: datetime) -> None:
        """All hosts are down."""
        ingest(
            self.project,
            *(host_report(name, reachable=False) for name in self.hosts),
            labels=dict(label.split("=") for label in _LABELS),
            now=now,
        )


class WorkerWatch:
    """What the worker does, in order: the projects that have turns, and the notifications it leaves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.turns: list[str | None] = []
        self.undecided: set[str] = set()
        real_turn, real_settle = evaluation_module._evaluate_turn, MuteDesk.settle

        def turn(taken: Turn, *given: Any) -> int:
            self.turns.append(taken.group_id)
            return real_turn(taken, *given)

        def settle(desk: MuteDesk, claimed: Sequence[Notification], *, now: datetime) -> Muting:
            found = real_settle(desk, claimed, now=now)
            self.undecided |= found.undecided
            return found

        monkeypatch.setattr(evaluation_module, "_evaluate_turn", turn)
        monkeypatch.setattr(MuteDesk, "settle", settle)


@contextmanager
def working() -> Iterator[None]:
    """A worker works until the block ends."""
    worker = Worker("test:1")
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dear_project_delays_no_other(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    other: Project = ProjectFactory.create()
    with HttpReceiver().running() as receiver:
        make_config(other, notifications=[{**WEBHOOK, "webhookUrl": receiver.url("/other")}])
        dear = DearProject(project, receiver, int(os.environ.get("OPSAPI_TEST_SEED", seed)))
        evaluate()
        for _ in range(2):
            dear.report(clock.now())
        watch = WorkerWatch(monkeypatch)
        with working():
            eventually(lambda: watch.undecided, message="decisions about windows of the dear project wait")
            before = len(watch.turns)
            ingest(other, host_report("db1", reachable=False), now=clock.now())
            eventually(
                lambda: any(request.path == "/other" for request in receiver.requests),
                message="the message of the other project",
            )
            is_working = Signal.objects.filter(group_id=project.id, failed=None).exists()
    turns = watch.turns[before : watch.turns.index(other.id, before)]
    assert len(turns) <= 2
    assert is_working  # otherwise the seed is too cheap to show anything
    assert not Notification.objects.filter(group=other, id__in=watch.undecided).exists()
    assert not Signal.objects.exclude(failed=None).exists()
