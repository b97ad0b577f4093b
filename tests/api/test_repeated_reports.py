"""A report that is sent again with its Idempotency-Key is stored once."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.models import Host, Reading, ReportAnswer
from automation.reports.repeats import report_answers_trim
from events.models import Event
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db
KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"
HOUR = timedelta(hours=1)


def measured(number: int = 1, **changes: Any) -> Any:
    """A report of one host with one measurement."""
    return bodies.report(
        bodies.host(measurements=[{"metricName": "CONNECTIONS", "number": number}]), **changes
    )


def send(agent: ApiClient, project: Project, body: Any, key: str = KEY) -> Any:
    return agent.report(project.id, body, HTTP_IDEMPOTENCY_KEY=key)


def test_a_repeat_stores_nothing_and_gets_the_first_answer(agent: ApiClient, project: Project) -> None:
    events = [{"eventTypeName": "HOST_ROLLBACK", "hostname": "db1.example.com", "port": 27017}]
    answers = [send(agent, project, measured(events=events)) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202] * 3
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json() == {"accepted": {"hosts": 1, "measurements": 1, "events": 1}}
    assert Reading.objects.count() == 1
    assert Event.objects.filter(event_type="HOST_ROLLBACK").count() == 1


def test_a_late_repeat_does_not_restore_earlier_labels(agent: ApiClient, project: Project) -> None:
    earlier, later = measured(labels={"env": "test"}), measured(labels={"env": "production"})
    for body, key in ((earlier, "1"), (later, "2"), (earlier, "1")):
        assert send(agent, project, body, key).status_code == 202
    assert Host.objects.get().labels == {"env": "production"}


def test_a_repeat_is_answered_when_its_times_are_too_old_by_then(agent: ApiClient, project: Project) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        host = bodies.host(
            measurements=[
                {"metricName": "CONNECTIONS", "number": 1, "timestamp": wire_time(clock.now() - HOUR / 2)}
            ]
        )
        first = send(agent, project, bodies.report(host))
        traveller.shift(23 * HOUR)
        assert send(agent, project, bodies.report(host)).content == first.content
        assert send(agent, project, bodies.report(host), key="another").status_code == 400


def test_after_a_day_the_key_may_be_used_again(agent: ApiClient, project: Project) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        send(agent, project, measured(1))
        traveller.shift(24 * HOUR)
        assert send(agent, project, measured(2)).status_code == 202
        assert Reading.objects.count() == 2
        assert send(agent, project, measured(1)).status_code == 422


def test_another_body_with_the_same_key_is_refused(agent: ApiClient, project: Project) -> None:
    send(agent, project, measured(1))
    answer = send(agent, project, measured(2))
    assert (answer.status_code, answer.json()["errorCode"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert answer.json()["parameters"] == [KEY]
    assert Reading.objects.count() == 1


def test_another_key_another_project_or_another_api_key_stores_it_again(
    agent: ApiClient, project: Project
) -> None:
    other: Project = ProjectFactory.create()
    roles = [Grant(Role.GROUP_AGENT, group_id=a_project.id) for a_project in (project, other)]
    colleague = ApiClient(make_key(*roles))
    send(agent, project, measured())
    for client, place, key in [(agent, project, "b"), (colleague, project, KEY), (colleague, other, KEY)]:
        assert send(client, place, measured(), key=key).status_code == 202
    assert Reading.objects.count() == 4


def test_without_the_header_each_report_is_stored(agent: ApiClient, project: Project) -> None:
    for _ in range(2):
        assert agent.report(project.id, measured()).status_code == 202
    assert Reading.objects.count() == 2
    assert not ReportAnswer.objects.exists()


@each("key", ["", "a" * 256, "a b", "clé", "a\tb"])
def test_a_key_of_another_form_is_refused_by_name(agent: ApiClient, project: Project, key: str) -> None:
    answer = send(agent, project, measured(), key=key)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ATTRIBUTE")
    assert [bad["field"] for bad in answer.json()["badFields"]] == ["Idempotency-Key"]
    assert not Host.objects.exists()


@each("key", ["a", "a" * 255, '"8e03978e"'])
def test_a_key_of_any_visible_characters_is_taken(agent: ApiClient, project: Project, key: str) -> None:
    assert send(agent, project, measured(), key=key).status_code == 202


def test_a_refused_report_uses_no_key(agent: ApiClient, project: Project) -> None:
    assert send(agent, project, {"agentType": "MONITORING"}).status_code == 400
    assert send(agent, project, measured()).status_code == 202


@pytest.mark.django_db(transaction=True)
def test_of_repeats_at_the_same_time_one_is_stored(agent: ApiClient, project: Project) -> None:
    answers = at_once(lambda _: send(agent, project, measured()))
    assert [answer.status_code for answer in answers] == [202] * THREADS
    assert len({answer.content for answer in answers}) == 1
    assert Reading.objects.count() == 1


def test_answers_are_forgotten_after_a_day(agent: ApiClient, project: Project) -> None:
    send(agent, project, measured())
    assert not report_answers_trim(now=clock.now() + 23 * HOUR)
    assert report_answers_trim(now=clock.now() + 24 * HOUR + timedelta(seconds=1))
    assert not ReportAnswer.objects.exists()
