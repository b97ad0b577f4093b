"""Many workers and many concurrent reports: one alert, notified once."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.platform import RunningPlatform
from tests.processes.scenario import RunningSite, Scenario
from tests.processes.workers import worker_starter
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

WORKERS = 10 if LONG else 4
REPORTS = 40


@pytest.fixture(scope="module", autouse=True)
def more_workers(running: RunningPlatform) -> Iterator[None]:
    """Workers next to the platform's own, as on other machines with the same database."""
    with worker_starter(running) as starter:
        started = [starter.start() for _ in range(WORKERS - 1)]
        for worker in started:
            worker.wait_seen()
        yield
        for worker in started:
            worker.end()
        assert "Traceback" not in starter.log


def test_many_workers_and_forty_racing_reports_make_one_alert_that_is_notified_once(
    site: RunningSite, scenario: Scenario
) -> None:
    _race(scenario, reachable=False)
    eventually(lambda: scenario.is_notified("alert.open", "OPEN") and site.is_idle())
    (alert,) = scenario.alerts()
    assert alert["status"] == "OPEN"
    logged = [name for name in scenario.log() if name.startswith("HOST_")]
    assert logged == ["HOST_DOWN", "HOST_DOWN of alert"]

    _race(scenario, reachable=True)
    eventually(lambda: scenario.is_notified("alert.close", "CLOSED") and site.is_idle())
    (closed,) = scenario.alerts()
    assert (closed["id"], closed["status"]) == (alert["id"], "CLOSED")

    received = [request.headers["X-Ops-Event"] for request in scenario.receiver.requests]
    assert received == ["alert.open", "alert.close"]
    assert [len(scenario.mails(label)) for label in ("OPEN", "CLOSED")] == [1, 1]
    of_project = f"SELECT count(*) FROM events_signal WHERE group_id = '{scenario.group}'"  # noqa: S608 - an id
    assert site.ask(of_project) == 0


def test_many_workers_notify_each_event_of_an_organization_once(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario = Scenario(site, receiver, {"eventTypeName": "ORG_API_KEY_ADDED"})
    key = {"desc": "one of many", "roles": ["ORG_MEMBER"]}
    with ThreadPoolExecutor(REPORTS) as threads:
        made = list(
            threads.map(lambda _: scenario.owner.post(f"/orgs/{scenario.org}/apiKeys", key), range(REPORTS))
        )
    eventually(lambda: len(receiver.requests) >= REPORTS and site.is_idle())
    received = [json.loads(request.body)["targetPublicKey"] for request in receiver.requests]
    assert sorted(received) == sorted(key["publicKey"] for key in made)


def _race(scenario: Scenario, *, reachable: bool) -> None:
    """Forty reports of the same host at once."""
    with ThreadPoolExecutor(REPORTS) as threads:
        for report in [threads.submit(scenario.report, reachable=reachable) for _ in range(REPORTS)]:
            report.result()
