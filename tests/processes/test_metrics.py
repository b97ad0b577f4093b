"""`/metrics` of a running platform: what all of its processes counted, added up."""

import os
import signal
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.eventually import eventually
from tests.processes.conftest import make_first_user
from tests.processes.platform import RunningPlatform, prepared_installation
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.processes

REQUESTS = 30


@pytest.fixture(scope="module")
def mail_server() -> Iterator[MailReceiver]:
    """Where mail goes."""
    with MailReceiver().running() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def platform(mail_server: MailReceiver) -> Iterator[RunningPlatform]:
    """A platform with two web processes."""
    environment = {
        "OPSAPI_OUTBOUND_ALLOW": "127.0.0.0/8",
        "EMAIL_URL": f"smtp://127.0.0.1:{mail_server.port}",
        "OPSAPI_WORKERS": "2",
    }
    with prepared_installation(**environment) as made:
        made.start()
        yield made


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
    platform: RunningPlatform, mail_server: MailReceiver
) -> None:
    site = RunningSite(platform, mail_server, make_first_user(platform))
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver)
        scenario.report(reachable=False)
        eventually(lambda: scenario.is_notified("alert.open", "OPEN") and site.is_idle())
    for channel in ("WEBHOOK", "EMAIL"):
        labels = {"channel": channel, "outcome": "delivered"}
        assert eventually(lambda labels=labels: metric(platform, "delivery_attempts_total", **labels)) == 1  # type: ignore[misc]  # a default binds the loop's value
    assert metric(platform, "alerts", status="OPEN") == 1
    assert metric(platform, "workers") == 1

    not_found = {"method": "GET", "status": "4xx"}
    before = metric(platform, "http_requests_total", **not_found)
    for _ in range(REQUESTS):
        assert platform.get("/nowhere").status_code == 404
    assert metric(platform, "http_requests_total", **not_found) == before + REQUESTS

    os.kill(platform.child("gunicorn worker"), signal.SIGKILL)
    eventually(platform.answers)
    assert metric(platform, "http_requests_total", **not_found) == before + REQUESTS


def test_a_new_start_counts_from_the_beginning(platform: RunningPlatform) -> None:
    assert platform.get("/nowhere").status_code == 404
    platform.stop()
    platform.start()
    assert metric(platform, "http_requests_total", method="GET", status="4xx") == 0
