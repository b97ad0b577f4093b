"""Agents that ask for leases at the same time: no host is given to two, and nobody waits in a circle."""

from collections import Counter
from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Agent, Host, HostLease, Reading, Watcher
from tests.api import bodies
from tests.client import ApiClient
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db(transaction=True)

HOSTS: list[dict[str, Any]] = [{"hostname": f"db{number}", "port": 27017} for number in range(40)]


def leases(client: ApiClient, project: Project, name: str, **changes: Any) -> dict[str, str]:
    """The lease of each host that this agent watches from now on."""
    asked = {"instance": name, "intervalSeconds": 60, "hosts": HOSTS, **changes}
    answer = client.report(project.id, bodies.report(hostname=name, leases=asked))
    assert answer.status_code == 202, answer.json()
    return {host["hostname"]: host["lease"] for host in answer.json()["leases"]["hosts"]}


def reported(client: ApiClient, project: Project, name: str, held: dict[str, str]) -> int:
    """Report these hosts under their leases; the status of the answer."""
    sample = {"metricName": "CONNECTIONS", "number": 1}
    hosts = [bodies.host(hostname=host, lease=lease, measurements=[sample]) for host, lease in held.items()]
    status: int = client.report(project.id, bodies.report(*hosts, hostname=name)).status_code
    return status


def test_agents_that_ask_for_the_first_time_at_once_are_given_each_host_once(
    agent: ApiClient, project: Project
) -> None:
    found = at_once(lambda number: leases(agent, project, f"agent{number}"))
    given = Counter(host for held in found for host in held)
    assert given == {host["hostname"]: 1 for host in HOSTS}
    assert (Watcher.objects.count(), HostLease.objects.count()) == (THREADS, len(HOSTS))


def test_asks_of_one_agent_that_race_agree(agent: ApiClient, project: Project) -> None:
    found = at_once(lambda _: leases(agent, project, "agent1"))
    assert found == [found[0]] * THREADS
    assert (len(found[0]), Watcher.objects.count(), Agent.objects.count()) == (len(HOSTS), 1, 1)


@pytest.mark.slow
def test_agents_that_ask_report_and_stop_at_once_share_all_hosts_in_the_end(
    agent: ApiClient, project: Project
) -> None:
    def live(number: int) -> None:
        name = f"agent{number}"
        for turn in range(6):
            held = leases(agent, project, name)
            assert reported(agent, project, name, held) == 202
            if number % 3 == turn % 3:
                leases(agent, project, name, stopping=True)

    at_once(live)
    assert Host.objects.count() == len(HOSTS)
    assert Reading.objects.count() >= len(HOSTS)
    found = [leases(agent, project, f"agent{number}") for number in range(THREADS)]
    given = Counter(host for held in found for host in held)
    assert max(given.values()) == 1


def test_of_reports_under_an_older_and_a_newer_lease_that_race_the_newer_is_the_state(
    agent: ApiClient, project: Project
) -> None:
    older = leases(agent, project, "agent1", hosts=HOSTS[:1])
    leases(agent, project, "agent1", stopping=True)
    newer = leases(agent, project, "agent2", hosts=HOSTS[:1])
    assert older.keys() == newer.keys()
    (name,) = older

    def send(number: int) -> int:
        held, reachable = (newer[name], True) if number % 2 else (older[name], False)
        sent = bodies.report(
            bodies.host(hostname=name, lease=held, reachable=reachable), hostname=f"agent{1 + number % 2}"
        )
        status: int = agent.report(project.id, sent).status_code
        return status

    assert at_once(send) == [202] * THREADS
    assert not Host.objects.get().down
