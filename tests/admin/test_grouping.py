"""Grouped messages in the console: the form of a configuration, and the incident on the page of an alert."""

from datetime import timedelta

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.models import Alert, AlertConfig
from opsapi import clock
from tests.admin.alert_pages import alert_page
from tests.admin.configs import ADD, do, facts, send, typed_config
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.each import each
from tests.factories.alerting import EMAIL, make_alert, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.conftest import outside
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

__all__ = ["outside"]
pytestmark = pytest.mark.django_db
WAIT = timedelta(seconds=15)


@each("wait, kept", [("", 15), ("60", 60)])
def test_a_configuration_is_grouped_in_the_form(
    console: Client, operator: User, project: Project, wait: str, kept: int
) -> None:
    typed = typed_config(project.id, grouping="TOPOLOGY", groupWaitSec=wait)
    assert send(console, ADD, typed).status_code == 302
    made = AlertConfig.objects.get()
    assert (facts(made)["grouping"], facts(made)["groupWaitSec"]) == ("TOPOLOGY", kept)
    page = do(made, "change")
    again = typed_in(shown(console, page))
    assert (again["grouping"], again["groupWaitSec"]) == (["TOPOLOGY"], [str(kept)])


def test_a_configuration_is_not_grouped_unless_asked(
    console: Client, operator: User, project: Project
) -> None:
    assert send(console, ADD, typed_config(project.id)).status_code == 302
    assert "grouping" not in facts(AlertConfig.objects.get())


def test_a_wait_without_grouping_is_refused_next_to_it(
    console: Client, operator: User, project: Project
) -> None:
    answer = send(console, ADD, typed_config(project.id, groupWaitSec="15"))
    assert "Is only allowed if grouping is TOPOLOGY." in answer.content.decode()
    assert not AlertConfig.objects.exists()


def test_the_page_of_each_alert_shows_its_incident(
    console: Client, project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[EMAIL], grouping="TOPOLOGY")
    now = clock.now()
    ingest(
        project, *(host_report(name, reachable=False, replica_set_name="rs0") for name in ("a", "b")), now=now
    )
    evaluate(now)
    deliver_all(now + WAIT)
    for alert in Alert.objects.all():
        text = shown(console, alert_page(alert))
        assert "The root is replica set rs0." in text
        assert "Open alerts: 2." in text
        assert "oncall@example.com was notified that the alert opened" in text
        other = Alert.objects.exclude(id=alert.id).get()
        assert alert_page(other) in text
        assert "was not notified" not in text


def test_a_pending_message_of_an_incident_is_announced_after_the_first_alert_ended(
    console: Client, project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[EMAIL], grouping="TOPOLOGY")
    now = clock.now()
    ingest(project, *(host_report(name, replica_set_name="rs0") for name in ("a", "b", "c")), now=now)
    for name in ("a", "b"):
        ingest(project, host_report(name, reachable=False, replica_set_name="rs0"), now=now)
        evaluate(now)
    deliver_all(now + WAIT)
    ingest(project, host_report("a", replica_set_name="rs0"), now=now + WAIT)
    evaluate(now + WAIT)
    open_alert = Alert.objects.get(status="OPEN")
    assert "will be notified that the alert is still open" in shown(console, alert_page(open_alert))


def test_an_alert_without_an_incident_shows_none(console: Client, project: Project) -> None:
    assert "alert-incident" not in shown(console, alert_page(make_alert(project)))
