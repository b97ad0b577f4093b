"""`/metrics` of a running platform: what all of its processes counted, added up."""

import os
import signal

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.eventually import eventually
from tests.processes.platform import RunningPlatform
from tests.processes.scenario import RunningSite, Scenario

pytestmark = pytest.mark.processes

REQUESTS = 30


def metric(platform: RunningPlatform, name: str, **labels: str) -> float:
    """The value of a series; 0 while it is absent."""
    answer = platform.get("/metrics")
    assert answer.status_code == 200, answer.text
    families = text_string_to_metric_families(answer.text)
    found = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for of in families
        for sample in of.samples
    }
    return found.get((f"opsapi_{name}", frozenset(labels.items())), 0.0)


def test_what_web_processes_and_worker_count_is_added_up_and_outlives_them(
    site: RunningSite, scenario: Scenario
) -> None:
    platform = site.platform

    def counted() -> list[float]:
        attempts = [
            metric(platform, "delivery_attempts_total", channel=channel, outcome="delivered")
            for channel in ("WEBHOOK", "EMAIL")
        ]
        return [*attempts, metric(platform, "alerts", status="OPEN")]

    expected = [before + 1 for before in counted()]
    scenario.report(reachable=False)
    eventually(lambda: scenario.is_notified("alert.open", "OPEN") and site.is_idle())
    eventually(lambda: counted() == expected)
    # The workers of other tests have ended, and count for a minute.
    eventually(lambda: metric(platform, "workers") == 1, message="one worker is counted")

    not_found = {"method": "GET", "status": "4xx"}
    before = metric(platform, "http_requests_total", **not_found)
    for _ in range(REQUESTS):
        assert platform.get("/nowhere").status_code == 404
    assert metric(platform, "http_requests_total", **not_found) == before + REQUESTS

    os.kill(platform.child("gunicorn worker"), signal.SIGKILL)
    eventually(platform.answers)
    assert metric(platform, "http_requests_total", **not_found) == before + REQUESTS


def test_a_new_start_counts_from_the_beginning(running: RunningPlatform) -> None:
    assert running.get("/nowhere").status_code == 404
    running.stop()
    running.start()
    assert metric(running, "http_requests_total", method="GET", status="4xx") == 0
