"""Hosts that are reachable and not measured, over the API."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from automation.models import Host
from opsapi import clock
from opsapi.clock import wire_time
from tests.api import bodies
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db
REFUSED = "password authentication failed for user ops"


@each(
    ("sent", "stored"),
    [
        (REFUSED, REFUSED),
        ("postgresql://ops:secret@db1/orders is refused", "postgresql://******@db1/orders is refused"),
        # The text is longer without its secrets.
        ("x://a@b " * 62, ("x://******@b " * 62)),
        ("a\nb", "a\nb"),
    ],
)
def test_the_problem_of_a_host_is_stored_without_secrets(
    agent: ApiClient, project: Project, sent: str, stored: str
) -> None:
    answer = agent.report(project.id, report(host(problem=sent)))
    assert answer.status_code == 202
    assert Host.objects.get().problem == stored


def test_the_newest_report_says_whether_there_is_a_problem(agent: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(problem=REFUSED)))
    agent.report(project.id, report(host()))
    assert Host.objects.get().problem is None
    agent.report(project.id, report(host(problem=REFUSED, reachable=False)))
    assert Host.objects.get().problem is None


def test_a_host_without_a_known_type_is_listed(agent: ApiClient, reader: ApiClient, project: Project) -> None:
    agent.report(project.id, report(host(typeName="NO_DATA", problem=REFUSED)))
    (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
    assert (found["typeName"], found["reachable"]) == ("NO_DATA", True)


def test_a_report_without_a_type_keeps_the_known_type(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, report(host(typeName="REPLICA_PRIMARY", replicaSetName="rs0")))
    for said in ({"reachable": True, "problem": REFUSED}, {"reachable": False}):
        agent.report(project.id, report(host(typeName="NO_DATA", **said)))
        (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
        assert (found["typeName"], found["reachable"]) == ("REPLICA_PRIMARY", said["reachable"])
        assert found["replicaSetName"] == "rs0"


def ago(minutes: int) -> str:
    """A time of observation."""
    return wire_time(clock.now() - timedelta(minutes=minutes))


def test_a_refused_host_shows_since_when_and_why(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    value = [{"metricName": "CONNECTIONS", "number": 5}]
    times = [ago(minutes) for minutes in (12, 10, 5)]
    reports: list[dict[str, Any]] = [{"measurements": value}, {"problem": REFUSED}, {}]
    for observed, said in zip(times, reports, strict=True):
        assert agent.report(project.id, report(host(**said), observed=observed)).status_code == 202
    (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
    assert (found["lastMeasured"], found["unmeasuredSince"]) == (times[0], times[1])
    assert "problem" not in found
    agent.report(project.id, report(host(problem=REFUSED)))
    path = f"/groups/{project.id}/hosts/{found['id']}"
    assert reader.get(path).json()["problem"] == REFUSED
    events = reader.get(f"/groups/{project.id}/events?eventType=HOST_NOT_MEASURED").json()["results"]
    assert [(event["created"], event["hostname"]) for event in events] == [(times[2], "db1.example.com")]
    agent.report(project.id, report(host(measurements=value)))
    measured = reader.get(path).json()
    assert not {"unmeasuredSince", "problem"} & measured.keys()
    assert measured["lastMeasured"] > times[0]


def test_an_alert_opens_after_four_minutes_and_closes_with_the_first_measurement(
    owner: ApiClient, agent: ApiClient, project: Project
) -> None:
    config = bodies.alert_config(eventTypeName="HOST_NOT_MEASURED", matchers=[])
    assert owner.post(f"/groups/{project.id}/alertConfigs", config).status_code == 201
    alerts = f"/groups/{project.id}/alerts"
    began = ago(5)
    for observed in (ago(10), began):
        agent.report(project.id, report(host(typeName="NO_DATA", problem=REFUSED), observed=observed))
        evaluate_signals(now=clock.now())
    (alert,) = owner.get(alerts).json()["results"]
    assert (alert["status"], alert["eventTypeName"], alert["created"]) == ("OPEN", "HOST_NOT_MEASURED", began)
    agent.report(project.id, report(host(reachable=False)))
    evaluate_signals(now=clock.now())
    assert [alert["status"] for alert in owner.get(alerts).json()["results"]] == ["OPEN"]
    agent.report(project.id, report(host(measurements=[{"metricName": "CONNECTIONS", "number": 5}])))
    evaluate_signals(now=clock.now())
    assert [alert["status"] for alert in owner.get(alerts).json()["results"]] == ["CLOSED"]
