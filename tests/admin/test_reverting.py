"""Changes are reverted: the page of an event leads to a form with the values before its change."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Organization, Project, User
from alerting.models import AlertConfig
from automation.models import Host
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.roles import Role
from tests.admin.configs import do, facts, send
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db
REVERT = "Revert this change"
CHANGED_SINCE = "Changed again since:"
MAIL = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}
# As the form sends it.
_CONDITION = {
    **CONNECTIONS_ABOVE_100,
    "metricThreshold": {**CONNECTIONS_ABOVE_100["metricThreshold"], "mode": "AVERAGE"},
}
ALERT_CONFIG_CHANGED = EventType.ALERT_CONFIG_CHANGED_AUDIT


def change(console: Client, url: str, **typed: Any) -> Event:
    """The event of a change that an operator makes in the form at the URL."""
    before = set(Event.objects.values_list("id", flat=True))
    send(console, url, {**typed_in(shown(console, url)), **typed})
    return Event.objects.exclude(id__in=before).get()


def page_of(event: Event) -> str:
    return f"/admin/events/event/{event.id}/change/"


def reverting(event: Event, url: str) -> str:
    return f"{url}?event={event.id}"


@pytest.fixture
def config(project: Project) -> AlertConfig:
    return make_config(project, **_CONDITION, name="Too busy", notifications=[MAIL])


def test_a_change_of_a_rule_is_reverted(console: Client, operator: User, config: AlertConfig) -> None:
    before = facts(config)
    typed = {"metricThreshold.threshold": "200", "name": "Busy", "notifications[0].delayMin": "5"}
    event = change(console, do(config, "change"), **typed)
    url = reverting(event, do(config, "change"))
    assert f'href="{url}"' in shown(console, page_of(event))
    form = shown(console, url)
    assert "Earlier values: Metric threshold, Notifications, Name." in form
    assert CHANGED_SINCE not in form
    with leaves_events(operator, ALERT_CONFIG_CHANGED):
        send(console, do(config, "change"), typed_in(form))
    config.refresh_from_db()
    assert {**facts(config), "updated": before["updated"]} == before


def test_the_difference_is_shown_by_leaf(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200"})
    page = " ".join(shown(console, page_of(event)).split())
    assert '<th scope="row" data-label="Field">Metric threshold</th>' in page
    assert "<del> 100 </del>" in page
    assert "<ins> 200 </ins>" in page
    assert "OUTSIDE_METRIC_THRESHOLD" not in page.partition("console-changes")[2].partition("</table>")[0]


def test_fields_that_were_changed_again_are_named(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200", "name": "Busy"})
    change(console, do(config, "change"), **{"metricThreshold.threshold": "300"})
    form = shown(console, reverting(event, do(config, "change")))
    assert f"{CHANGED_SINCE}</strong> Metric threshold." in form


def test_a_revert_keeps_what_the_change_did_not_touch(console: Client, config: AlertConfig) -> None:
    event = change(console, do(config, "change"), **{"metricThreshold.threshold": "200"})
    change(console, do(config, "change"), name="Later")
    send(console, do(config, "change"), typed_in(shown(console, reverting(event, do(config, "change")))))
    config.refresh_from_db()
    assert config.metric_threshold is not None
    assert (config.name, config.metric_threshold["threshold"]) == ("Later", 100)


def test_a_revert_is_refused_if_somebody_changed_the_rule_meanwhile(
    console: Client, operator: User, config: AlertConfig
) -> None:
    event = change(console, do(config, "change"), name="Busy")
    AlertConfig.objects.filter(id=config.id).update(updated=clock.now() - timedelta(minutes=1))
    typed = typed_in(shown(console, reverting(event, do(config, "change"))))
    change(console, do(config, "change"), name="Later")
    with leaves_events(operator):
        answer = send(console, do(config, "change"), typed)
    assert "Somebody else has changed this configuration." in answer.content.decode()


def test_a_removed_notification_comes_back_as_a_new_one(console: Client, config: AlertConfig) -> None:
    [removed] = config.settings.all()
    typed = {
        "notifications[0].id": "",
        "notifications[0].typeName": "SMS",
        "notifications[0].emailAddress": "",
        "notifications[0].mobileNumber": "+12025550100",
    }
    event = change(console, do(config, "change"), **typed)
    form = typed_in(shown(console, reverting(event, do(config, "change"))))
    assert form["notifications[0].emailAddress"] == ["oncall@example.com"]
    assert send(console, do(config, "change"), form).status_code == 302
    [setting] = config.settings.all()
    assert setting.type_name == "EMAIL"
    assert setting.id != removed.id


def test_who_may_not_change_the_rule_is_not_offered_a_revert(
    console: Client, project: Project, config: AlertConfig
) -> None:
    event = change(console, do(config, "change"), name="Busy")
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert REVERT not in shown(reader, page_of(event))
    assert reader.get(reverting(event, do(config, "change"))).status_code == 403


def test_a_rule_without_the_event_says_so_and_shows_itself(
    console: Client, config: AlertConfig, project: Project
) -> None:
    other = make_config(project)
    event = change(console, do(other, "change"), name="Other")
    form = shown(console, reverting(event, do(config, "change")))
    assert "The change cannot be found." in form
    assert 'value="Too busy"' in form


def test_an_added_or_deleted_rule_is_not_reverted(console: Client, config: AlertConfig) -> None:
    added = Event.objects.get(event_type="ALERT_CONFIG_ADDED_AUDIT")
    assert REVERT not in shown(console, page_of(added))


def test_changes_of_a_host_a_project_and_an_organization_are_reverted(
    console: Client, project: Project
) -> None:
    ingest(project, host_report("db1"))
    host, org = Host.objects.get(), Organization.objects.get(id=project.org_id)
    for url, typed, read in (
        (
            f"/admin/automation/host/{host.id}/do/change/",
            {"hostname": "db2"},
            lambda: Host.objects.get().hostname,
        ),
        (
            f"/admin/accesslist/project/{project.id}/do/change/",
            {"tags": "prod, core", "name": "other"},
            lambda: (Project.objects.get(id=project.id).name, Project.objects.get(id=project.id).tags),
        ),
        (
            f"/admin/accesslist/organization/{org.id}/do/rename/",
            {"name": "Others"},
            lambda: Organization.objects.get(id=org.id).name,
        ),
    ):
        before = read()
        event = change(console, url, **typed)
        assert read() != before
        assert f'href="{reverting(event, url)}"' in shown(console, page_of(event))
        assert send(console, url, typed_in(shown(console, reverting(event, url)))).status_code == 302
        assert read() == before


def test_a_change_of_an_integration_is_reverted_without_its_secrets(
    console: Client, project: Project
) -> None:
    integration = make_integration(project, "CHAT_SERVICE", channelName="one")
    url = f"/admin/integrations/integration/{integration.id}/do/change/"
    event = change(console, url, channelName="two")
    form = shown(console, reverting(event, url))
    assert "Secrets are not stored in events" in form
    send(console, url, typed_in(form))
    integration.refresh_from_db()
    assert integration.fields["channelName"] == "one"
