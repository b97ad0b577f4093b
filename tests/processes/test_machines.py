"""Several web machines and workers with different clocks work as one platform."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from itertools import cycle, islice
from typing import Any

import pytest
import requests

from opsapi import clock
from opsapi.api.links import AGENTS, PUBLIC
from opsapi.clock import wire_time
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.conftest import ProcessCaller, log_in_console
from tests.processes.machines import web_machines
from tests.processes.platform import RunningPlatform
from tests.processes.scenario import RunningSite, Scenario, running_site
from tests.processes.workers import worker_starter
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

MACHINES = 20 if LONG else 3
WORKERS = 4 if LONG else 1
RIGHT, DAY, SMALL = 0, 86_400, 20
STEPS = list(islice(cycle((RIGHT, DAY, -DAY, SMALL, 600, -600)), MACHINES))
"""How far the clock of each machine is ahead, in seconds."""
WRONG = 30
"""A difference of more seconds is a fault of the clock."""
HOST = {"hostname": "db1.example.com", "port": 27017, "typeName": "STANDALONE"}


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """A platform with a web process and a worker of its own."""
    with running_site(OPSAPI_DB_POOLER="none") as made:
        yield made


@pytest.fixture(scope="module")
def machines(site: RunningSite) -> Iterator[list[RunningPlatform]]:
    """Web machines with their clocks. More workers with the same clocks run next to the last machines."""
    with web_machines(site.platform, STEPS) as made, ExitStack() as stack:
        for machine in made[-WORKERS:]:
            worker = stack.enter_context(worker_starter(machine)).start()
            worker.wait_seen()
            stack.callback(worker.end)
        yield made


@pytest.fixture
def scenario(site: RunningSite) -> Iterator[Scenario]:
    """A project with its receivers."""
    with HttpReceiver().running() as receiver:
        yield Scenario(site, receiver)


def report(caller: ProcessCaller, group: str, key: str, **said: Any) -> requests.Response:
    """The answer to a report with this Idempotency-Key."""
    body = {"agentType": "MONITORING", "hostname": "agent1", "version": "1.0", **said}
    url = f"{caller.platform.base_url}{AGENTS}/groups/{group}/reports"
    return requests.post(url, json=body, auth=caller.auth, headers={"Idempotency-Key": key}, timeout=60)


def agents(machines: list[RunningPlatform], scenario: Scenario) -> list[ProcessCaller]:
    """The agent of the project, at each machine."""
    key = {"publicKey": scenario.agent.public_key, "privateKey": scenario.agent.private_key}
    return [ProcessCaller(machine, key) for machine in machines]


def test_a_report_that_is_repeated_at_all_machines_counts_once_and_notifies_once(
    site: RunningSite, machines: list[RunningPlatform], scenario: Scenario
) -> None:
    callers = agents(machines, scenario)

    def at_once(key: str, **said: Any) -> list[tuple[int, Any]]:
        with ThreadPoolExecutor(len(callers)) as pool:
            answers = pool.map(lambda caller: report(caller, scenario.group, key, **said), callers)
            return [(answer.status_code, answer.json()) for answer in answers]

    answers = at_once("down", hosts=[{**HOST, "reachable": False}])
    assert [status for status, _ in answers] == [202] * len(machines)
    assert all(document == answers[0][1] for _, document in answers)
    eventually(lambda: scenario.is_notified("alert.open", "OPEN") and site.is_idle())

    assert [status for status, _ in at_once("up", hosts=[{**HOST, "reachable": True}])] == [202] * len(
        machines
    )
    eventually(lambda: scenario.is_notified("alert.close", "CLOSED") and site.is_idle())
    late = at_once("down", hosts=[{**HOST, "reachable": False}])
    assert late == answers
    eventually(site.is_idle)

    assert [event for event in scenario.log() if event.startswith("HOST_")] == [
        "HOST_DOWN",
        "HOST_DOWN of alert",
        "HOST_UP",
        "HOST_UP of alert",
    ]
    assert [each.headers["X-Ops-Event"] for each in scenario.receiver.requests] == [
        "alert.open",
        "alert.close",
    ]
    assert [len(scenario.mails(label)) for label in ("OPEN", "CLOSED")] == [1, 1]


def test_each_machine_refuses_what_another_has_refused(
    machines: list[RunningPlatform], scenario: Scenario
) -> None:
    callers = agents(machines, scenario)
    assert report(callers[0], scenario.group, "one", hosts=[]).status_code == 202
    reused = [report(caller, scenario.group, "one", hosts=[HOST | {"reachable": True}]) for caller in callers]
    assert {(each.status_code, each.json()["errorCode"]) for each in reused} == {
        (422, "IDEMPOTENCY_KEY_REUSED")
    }
    early, late = (_measured(minutes) for minutes in (-62, 6))
    for number, caller in enumerate(callers):
        for name, host in (("early", early), ("late", late)):
            refused = report(caller, scenario.group, f"{name}-{number}", hosts=[host])
            (fault,) = refused.json()["badFields"]
            assert (number, fault["field"]) == (number, "hosts[0].measurements[0].timestamp")
        taken = report(caller, scenario.group, f"now-{number}", hosts=[_measured(0)])
        assert taken.status_code == 202, taken.text


def test_a_session_and_a_nonce_of_one_machine_hold_at_all_others(
    site: RunningSite, machines: list[RunningPlatform]
) -> None:
    auth = site.owner.auth
    answers = [
        requests.get(f"{machine.base_url}{PUBLIC}/groups", auth=auth, timeout=60)
        for machine in (site.platform, *machines)
    ]
    assert [answer.status_code for answer in answers] == [200] * (MACHINES + 1)
    assert not any(answer.history for answer in answers[1:]), "a machine asked for another nonce"
    for opened in machines:
        cookies = log_in_console(opened)
        pages = [
            requests.get(f"{machine.base_url}/admin/", cookies=cookies, timeout=60, allow_redirects=False)
            for machine in machines
        ]
        assert [page.status_code for page in pages] == [200] * MACHINES
        if not LONG:
            break


def test_readiness_names_the_machines_and_workers_whose_clock_is_wrong(
    site: RunningSite, machines: list[RunningPlatform]
) -> None:
    found = [machine.get("/health/ready").json()["missing"]["clock"] for machine in machines]
    is_own = [words.startswith("the clock of this machine") for words in found]
    assert is_own == [abs(step) > WRONG for step in STEPS]
    named = [worker for worker in site.workers() if worker in found[STEPS.index(RIGHT)]]
    assert len(named) == 1, "the right machine names a worker"


def _measured(minutes: int) -> Mapping[str, Any]:
    """A host with a value whose time is this number of minutes ahead of now."""
    moment = wire_time(clock.now() + timedelta(minutes=minutes))
    sample = {"metricName": "CONNECTIONS", "number": 1, "timestamp": moment}
    return {**HOST, "reachable": True, "measurements": [sample]}
