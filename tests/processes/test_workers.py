"""Many workers and many concurrent reports: one alert, notified once."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.conftest import make_first_user
from tests.processes.platform import ROOT, RunningPlatform, prepared_installation
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.processes

WORKERS = 10 if LONG else 4
REPORTS = 40
START_SECONDS = 240.0


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """A platform with WORKERS workers."""
    with ExitStack() as stack:
        mail_server = stack.enter_context(MailReceiver().running())
        platform = stack.enter_context(
            prepared_installation(
                OPSAPI_OUTBOUND_ALLOW="127.0.0.0/8",
                EMAIL_URL=f"smtp://127.0.0.1:{mail_server.port}",
                OPSAPI_THREADS="16",
            )
        )
        platform.start()
        site = RunningSite(platform, mail_server, make_first_user(platform))
        stack.enter_context(_more_workers(platform, WORKERS - 1))
        eventually(lambda: len(site.workers()) == WORKERS, START_SECONDS, message="all workers are seen")
        yield site


@contextmanager
def _more_workers(platform: RunningPlatform, count: int) -> Iterator[None]:
    """Workers next to the platform's own, as on other machines with the same database."""
    command = [sys.executable, str(ROOT / "manage.py"), "run_worker"]
    log = platform.directory / "more_workers.txt"
    with log.open("wb") as stderr:
        started = [
            subprocess.Popen(command, env=platform.environment, cwd=ROOT, stderr=stderr) for _ in range(count)
        ]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        assert [process.wait() for process in started] == [0] * count, log.read_text()
        assert "Traceback" not in log.read_text()


def test_many_workers_and_forty_racing_reports_make_one_alert_that_is_notified_once(
    site: RunningSite,
) -> None:
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver)
        _race(scenario, reachable=False)
        eventually(lambda: scenario.is_notified("alert.open", "OPEN") and site.is_idle(), START_SECONDS)
        (alert,) = scenario.alerts()
        assert alert["status"] == "OPEN"
        logged = [name for name in scenario.log() if name.startswith("HOST_")]
        assert logged == ["HOST_DOWN", "HOST_DOWN of alert"]

        _race(scenario, reachable=True)
        eventually(lambda: scenario.is_notified("alert.close", "CLOSED") and site.is_idle(), START_SECONDS)
        (closed,) = scenario.alerts()
        assert (closed["id"], closed["status"]) == (alert["id"], "CLOSED")

        received = [request.headers["X-Ops-Event"] for request in receiver.requests]
        assert received == ["alert.open", "alert.close"]
        assert [len(scenario.mails(label)) for label in ("OPEN", "CLOSED")] == [1, 1]
        assert site.ask("SELECT count(*) FROM events_signal") == 0


def test_many_workers_notify_each_event_of_an_organization_once(site: RunningSite) -> None:
    with HttpReceiver().running() as receiver:
        scenario = Scenario(site, receiver, {"eventTypeName": "ORG_API_KEY_ADDED"})
        key = {"desc": "one of many", "roles": ["ORG_MEMBER"]}
        with ThreadPoolExecutor(REPORTS) as threads:
            made = list(
                threads.map(
                    lambda _: scenario.owner.post(f"/orgs/{scenario.org}/apiKeys", key), range(REPORTS)
                )
            )
        eventually(lambda: len(receiver.requests) >= REPORTS and site.is_idle(), START_SECONDS)
        received = [json.loads(request.body)["targetPublicKey"] for request in receiver.requests]
        assert sorted(received) == sorted(key["publicKey"] for key in made)


def _race(scenario: Scenario, *, reachable: bool) -> None:
    """Forty reports of the same host at once."""
    with ThreadPoolExecutor(REPORTS) as threads:
        for report in [threads.submit(scenario.report, reachable=reachable) for _ in range(REPORTS)]:
            report.result()
