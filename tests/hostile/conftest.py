"""A project with one of everything, and the number of requests that were tried."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import client
from hypothesis import configuration

from alerting.engine import lag, workers
from alerting.engine.leases import worker_seen
from automation.agents import rules as heartbeats
from automation.agents.changes import sweep_begin
from opsapi import clock
from opsapi.wsgi import Request
from tests.api.conftest import known
from tests.client import ApiClient
from tests.hostile.assailant import Assailant
from tests.hostile.budget import COUNTED
from tests.hostile.pairs import LINES

__all__ = ["known"]

TALLIES = {COUNTED: "hostile requests were answered", **LINES}
"""The name under which a test records its number of attempts → the words of the summary."""


@pytest.fixture(scope="session", autouse=True)
def _hypothesis_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What Hypothesis keeps for itself goes where the run's other files go."""
    home: Path = tmp_path_factory.mktemp("hypothesis")
    configuration.set_hypothesis_home_dir(home)


@pytest.fixture
def assailant(
    owner: ApiClient, known: Mapping[str, str], record_property: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Assailant]:
    """A Global owner who means no good, and whose requests are read as the web server's are."""
    monkeypatch.setattr(client, "WSGIRequest", Request)
    # Else the platform is not ready, which is no fault; all attempts may take longer than its minutes.
    monkeypatch.setattr(workers, "_SEEN_WITHIN", timedelta(days=1))
    monkeypatch.setattr(lag, "LATE_AFTER", timedelta(days=1))
    worker_seen(name="worker", now=clock.now())
    sweep_begin(now=clock.now())
    monkeypatch.setattr(heartbeats, "ABSENCE", timedelta(days=1))
    made = Assailant(owner, known)
    yield made
    record_property(COUNTED, made.tried)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the numbers of attempts; workers of pytest-xdist send their numbers with each test's report."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    counted: Counter[str] = Counter()
    for report in reports:
        if getattr(report, "when", None) == "teardown":
            for name, number in report.user_properties:
                counted[name] += number if name in TALLIES else 0
    for name, line in TALLIES.items():
        terminalreporter.write_line(f"{counted[name]} {line}")
