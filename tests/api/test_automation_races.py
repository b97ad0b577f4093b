"""Publishes, and requests for turns, that race: one wins, and nothing is lost."""

import pytest

from accesslist.models import Project
from automation.models import AutomationRevision, Host, PlanTurn
from events.models import Event
from tests.api import bodies
from tests.api.automation import named, path, published, publisher
from tests.api.turns import ask, asked, measured, replica_set, why_not
from tests.client import ApiClient
from tests.racing import THREADS, at_once

__all__ = ["path", "publisher"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_publishes_that_race_one_wins(publisher: ApiClient, path: str, project: Project) -> None:
    answers = at_once(lambda number: publisher.put(path, named(f"p{number}")))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * (THREADS - 1)
    assert {tuple(answer.json()["parameters"]) for answer in answers if answer.status_code == 409} == {
        ("0", "1")
    }
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert publisher.get(path).json() == won
    project.refresh_from_db()
    recorded = Event.objects.filter(event_type="AUTOMATION_CONFIG_PUBLISHED_AUDIT")
    assert (AutomationRevision.objects.count(), recorded.count()) == (1, 1)
    assert Host.objects.count() == project.host_count == 1


@pytest.mark.slow
def test_who_tries_again_with_what_is_there_loses_nothing(publisher: ApiClient, path: str) -> None:
    def add(number: int) -> None:
        for _ in range(THREADS):
            current = publisher.get(path).json()
            wanted = named(f"p{number}", version=current["version"])
            wanted["processes"] += current["processes"]
            if publisher.put(path, wanted).status_code == 200:
                return

    at_once(add)
    document = publisher.get(path).json()
    assert document["version"] == THREADS
    assert sorted(process["name"] for process in document["processes"]) == sorted(
        f"p{number}" for number in range(THREADS)
    )


def test_a_publish_that_races_with_reports_adds_each_host_once(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    names = [f"p{number}" for number in range(4)]

    def call(number: int) -> int:
        if number % 2:
            return int(publisher.put(path, named(*names, numCores=number + 1)).status_code)
        turned = names[number % 4 :] + names[: number % 4]
        hosts = [bodies.host(hostname=f"{name}.example.com") for name in turned]
        return int(agent.report(project.id, bodies.report(*hosts)).status_code)

    assert sorted(at_once(call)) == [200] + [202] * 5 + [409] * 4
    project.refresh_from_db()
    assert Host.objects.count() == project.host_count == 4
    added = Event.objects.filter(event_type__in=["NEW_HOST", "ADD_HOST_AUDIT"])
    assert len({event.details["hostId"] for event in added}) == added.count() == 4


def test_of_agents_that_ask_for_a_turn_at_once_one_gets_it(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    measured(project)
    answers = at_once(lambda number: ask(agent, project, asked(1 + number % 2, request_id=f"r{number}")))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * (THREADS - 1)
    assert {why_not(answer) for answer in answers if answer.status_code == 409} == {"TURN"}
    assert PlanTurn.objects.count() == 1


def test_requests_that_repeat_each_other_at_once_get_one_turn(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    measured(project)
    answers = at_once(lambda _: ask(agent, project, asked()))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Event.objects.filter(event_type="AUTOMATION_MOVE_BEGUN_AUDIT").count() == 1


def test_no_turn_follows_a_pause_that_was_answered(
    publisher: ApiClient, agent: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    measured(project)

    def call(number: int) -> int:
        if number % 2:
            return int(publisher.request("POST", f"{path}/pause").status_code)
        return int(ask(agent, project, asked(request_id=f"r{number}")).status_code)

    answered = at_once(call)
    assert set(answered) <= {200, 201, 409}
    assert answered.count(201) <= 1
    assert Event.objects.filter(event_type="AUTOMATION_PLAN_PAUSED_AUDIT").count() == 1
    assert ask(agent, project, asked(2, request_id="after")).status_code == 409
