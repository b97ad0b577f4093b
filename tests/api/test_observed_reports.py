"""Reports with `observed` and `waiting`: which values are accepted, and which observation decides."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.models import Agent, Host, Reading
from events.models import Event
from opsapi.api.catalogue import ErrorCode
from opsapi.clock import wire_time
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _at_noon(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The platform's clock does not move."""
    monkeypatch.setattr("automation.reports.views.database_time", lambda: NOW)
    with time_machine.travel(NOW, tick=False):
        yield


def observed(age: timedelta, *hosts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A report of this age."""
    return report(*hosts, observed=wire_time(NOW - age), **fields)


@each("age", [timedelta(0), HOUR, DAY, -5 * MINUTE])
def test_it_takes_times_from_a_day_before_to_five_minutes_ahead(
    agent: ApiClient, project: Project, age: timedelta
) -> None:
    assert agent.report(project.id, observed(age, host())).status_code == 202


@each("age", [DAY + timedelta(seconds=1), 30 * DAY, -5 * MINUTE - timedelta(seconds=1)])
def test_it_refuses_other_times(agent: ApiClient, project: Project, age: timedelta) -> None:
    answer = agent.report(project.id, observed(age, host()))
    assert answer.status_code == 400
    assert answer.json()["errorCode"] == ErrorCode.INVALID_ATTRIBUTE
    [fault] = answer.json()["badFields"]
    assert fault["field"] == "observed"
    assert f"{wire_time(NOW - DAY)} to {wire_time(NOW + 5 * MINUTE)}" in fault["message"]
    assert "allowed" not in fault
    assert not Host.objects.exists()


@each("value", ["yesterday", "2099-11-21", 5, True, [], {}, ""])
def test_it_refuses_what_is_no_time(agent: ApiClient, project: Project, value: Any) -> None:
    answer = agent.report(project.id, report(host(), observed=value))
    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["badFields"]] == ["observed"]
    assert answer.json()["errorCode"] == ErrorCode.INVALID_ATTRIBUTE


@each("value", [-1, 1.5, True, "3", [], 2**31])
def test_it_refuses_what_is_no_number_of_reports(agent: ApiClient, project: Project, value: Any) -> None:
    answer = agent.report(project.id, report(host(), waiting=value))
    assert answer.status_code == 400
    assert [fault["field"] for fault in answer.json()["badFields"]] == ["waiting"]
    assert answer.json()["errorCode"] == ErrorCode.INVALID_ATTRIBUTE


def test_its_samples_and_events_may_be_as_old(agent: ApiClient, project: Project) -> None:
    sample = {"metricName": "CONNECTIONS", "number": 5, "timestamp": wire_time(NOW - DAY)}
    event = {"eventTypeName": "PRIMARY_ELECTED", "created": wire_time(NOW - DAY)}
    late = observed(2 * HOUR, host(measurements=[sample]), events=[event])
    assert agent.report(project.id, late).status_code == 202
    assert Event.objects.get(event_type="PRIMARY_ELECTED").created == NOW - DAY
    untimed = report(host(measurements=[sample]), events=[event])
    answer = agent.report(project.id, untimed)
    assert [fault["field"] for fault in answer.json()["badFields"]] == [
        "hosts[0].measurements[0].timestamp",
        "events[0].created",
    ]


def test_samples_without_a_time_have_the_time_of_the_report(agent: ApiClient, project: Project) -> None:
    measured = host(measurements=[{"metricName": "CONNECTIONS", "number": 5}])
    late = observed(3 * HOUR, measured, events=[{"eventTypeName": "PRIMARY_ELECTED"}])
    assert agent.report(project.id, late).status_code == 202
    reading = Reading.objects.get()
    assert (reading.reported, reading.age) == (NOW - 3 * HOUR, 0)
    for event_type in ("PRIMARY_ELECTED", "NEW_HOST"):
        assert Event.objects.get(event_type=event_type).created == NOW - 3 * HOUR


def test_an_older_report_shows_in_measurements_and_not_in_the_host(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    sample = [{"metricName": "CONNECTIONS", "number": 5}]
    agent.report(project.id, observed(timedelta(0), host(measurements=sample, version="7.0.2")))
    late = host(measurements=[{"metricName": "CONNECTIONS", "number": 1}], reachable=False, version="7.0.1")
    assert agent.report(project.id, observed(10 * MINUTE, late)).status_code == 202
    known = Host.objects.get()
    assert (known.down, known.version) == (False, "7.0.2")
    page = reader.get(f"/groups/{project.id}/hosts/{known.id}/measurements?granularity=PT1M&period=PT1H")
    [series] = page.json()["measurements"]
    assert [point["value"] for point in series["dataPoints"]] == [1, 5]


def test_a_repeat_gets_the_first_answer_and_changes_nothing(agent: ApiClient, project: Project) -> None:
    body = observed(MINUTE, host(reachable=False), waiting=2)
    first = agent.report(project.id, body, HTTP_IDEMPOTENCY_KEY="one")
    agent.report(project.id, observed(timedelta(0), host(), waiting=0))
    again = agent.report(project.id, body, HTTP_IDEMPOTENCY_KEY="one")
    assert (again.status_code, again.content) == (202, first.content)
    assert not Host.objects.get().down
    assert Agent.objects.get().waiting_since is None


def test_reports_without_the_fields_count_from_their_arrival(agent: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(reachable=False)))
    assert Host.objects.get().observed == NOW
    assert Agent.objects.get().waiting_since is None


def test_of_reports_that_arrive_together_the_newest_decides_about_the_agent(
    agent: ApiClient, project: Project
) -> None:
    for age, version, waiting in ((10 * MINUTE, "2.0", {}), (MINUTE, "2.0", {"waiting": 0})):
        assert agent.report(project.id, observed(age, version=version, **waiting)).status_code == 202
    assert agent.report(project.id, observed(5 * MINUTE, version="1.0", waiting=5)).status_code == 202
    known = Agent.objects.get()
    assert (known.version, known.waiting_since, known.observed) == ("2.0", None, NOW - MINUTE)
