"""The notification log: the alert or event, the recipient and the result."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, Team
from alerting.engine.messages import messages_of
from alerting.models import AlertConfig, MaintenanceWindow, Notification
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from integrations.models import Integration
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.admin.rows import record_event
from tests.each import each
from tests.factories.alerting import make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import make_host
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db

LOG = "/admin/alerting/notification/"
HOUR = timedelta(hours=1)
CHAT: dict[str, Any] = {
    "typeName": "CHAT_SERVICE",
    "apiToken": "token-0123456789",
    "channelName": "oncall",
    "delayMin": 0,
}


def cell(page: str, name: str) -> str:
    """What the first row of a list has in a column, links and all."""
    found = re.search(rf'<t[dh][^>]*class="[^"]*field-{name}\b[^"]*"[^>]*>(.*?)</t[dh]>', page, re.DOTALL)
    assert found, name
    return unescape(found[1])


def words(html: str) -> str:
    """Without its marks."""
    return " ".join(re.sub(r"<[^>]*>", "", html).split())


def notified_by(config: AlertConfig, **changes: Any) -> Notification:
    """A notification of an alert of the configuration, as its first setting makes it."""
    setting, project = config.settings.get(), changes.pop("project", config.group)
    alert = make_alert(project, config_id=config.id, is_global=config.group is None)
    shown_first = next((value for name, value in setting.fields.items() if name == "apiToken"), "")
    made = {"type_name": setting.type_name, "channel": setting.type_name, "recipient": shown_first}
    return make_notification(project, alert=alert, setting_id=setting.id, **{**made, **changes})


def test_a_notification_says_about_which_alert_and_host(console: Client, project: Project) -> None:
    host = make_host(project, "db1.example.com")
    notification = notified_by(make_config(project))
    for page in (cell(shown(console, LOG), "about"), shown(console, page_of(notification))):
        assert f'href="{page_of(notification.alert)}"' in page
        assert f'href="{page_of(host)}"' in page
        assert "Host down" in words(page)


def test_one_of_an_event_leads_to_the_event_for_who_may_see_it(console: Client, project: Project) -> None:
    event = record_event(project)
    config = make_config(project)
    make_notification(project, event_id=event.id, setting_id=config.settings.get().id)
    page = cell(shown(console, LOG), "about")
    assert (words(page), f'href="{page_of(event)}"' in page) == ("Host down: db1:27017", True)
    event.group_id, event.org_id = None, None
    event.save()
    mine = cell(shown(browser_with(Role.GROUP_OWNER, project=project), LOG), "about")
    assert (words(mine), "href" in mine) == ("Host down: db1:27017", False)


def test_one_of_a_person_names_the_person_and_the_project(console: Client, project: Project) -> None:
    with transaction.atomic():
        joined = event_record(
            event_type=EventType.JOINED_GROUP,
            actor=SYSTEM,
            now=clock.now(),
            group_id=project.id,
            facts=EventFacts(target_username="nina"),
        )
    setting = make_config(project).settings.get()
    failed = {"status": "FAILED", "attempts": 1, "reason": "refused", "kind": "alert.inform"}
    made = make_notification(project, event_id=joined.id, setting_id=setting.id, **failed)
    expected = f"nina joined {project.name}"
    assert words(cell(shown(console, LOG), "about")) == expected
    overview = shown(console, "/admin/")
    assert f'<a href="{page_of(joined)}"><span>{expected}</span></a>' in overview
    (message,) = messages_of([made], incidents={}, settings=[], now=clock.now()).values()
    assert message.what == expected
    joined.delete()
    assert "an event that is no longer stored" in shown(console, "/admin/")


def test_slack_is_called_slack_and_its_channel_is_named(console: Client, project: Project) -> None:
    notification = notified_by(make_config(project, notifications=[CHAT]))
    assert words(cell(shown(console, LOG), "to")) == "Slack #oncall"
    assert "Slack #oncall" in shown(console, page_of(notification.alert))


def test_a_channel_of_the_integration_is_named(console: Client, project: Project) -> None:
    make_integration(project, "CHAT_SERVICE", channelName="night")
    config = make_config(project, notifications=[{"typeName": "CHAT_SERVICE", "delayMin": 0}])
    token = Integration.objects.get().fields["apiToken"]
    notified_by(config, recipient=token)
    assert words(cell(shown(console, LOG), "to")) == "Slack #night"


def test_a_channel_is_not_named_once_the_credentials_are_others(console: Client, project: Project) -> None:
    notified_by(make_config(project, notifications=[CHAT]), recipient="******gone")
    page = shown(console, LOG)
    assert words(cell(page, "to")) == "Slack"
    assert "******" not in page


def test_a_team_is_called_by_its_name(console: Client, project: Project) -> None:
    team = Team.objects.create(org_id=project.org_id, name="night watch", created=clock.now())
    config = make_config(project, notifications=[{"typeName": "TEAM", "teamId": team.id, "delayMin": 0}])
    notified_by(config, channel=None, recipient=team.id)
    assert words(cell(shown(console, LOG), "to")) == "Team: night watch"


@each("kind", ["alert.update", "alert.open"])
def test_what_is_to_come_is_not_in_the_log(kind: str, console: Client, project: Project) -> None:
    notification = notified_by(make_config(project), kind=kind, due=clock.now() + HOUR)
    assert page_of(notification) not in shown(console, LOG)
    assert page_of(notification) not in shown(console, f"{LOG}?status__exact=PENDING")
    scheduled = shown(console, f"{LOG}?status__exact=SCHEDULED")
    assert page_of(notification) in scheduled
    assert words(cell(scheduled, "state")) == "Scheduled"
    Notification.objects.update(due=clock.now())
    assert words(cell(shown(console, LOG), "state")) == "Waiting"


def test_one_that_is_held_back_names_the_window(console: Client, project: Project) -> None:
    now = clock.now()
    window = MaintenanceWindow.objects.create(
        group=project,
        alert_types=["HOST"],
        start=now,
        end=now + HOUR,
        description="new disks",
        created=now,
        updated=now,
    )
    held = {"silenced_by": window.id, "reason": f"silenced by maintenance window {window.id}"}
    notification = notified_by(make_config(project), due=now + HOUR, **held)
    for page in (cell(shown(console, LOG), "why"), shown(console, page_of(notification.alert))):
        assert re.search(rf'href="{page_of(window)}"[^>]*>new disks</a>', page)
        assert f"window {window.id}" not in page


def test_times_stay_in_one_line(console: Client, project: Project) -> None:
    notified_by(make_config(project))
    assert re.search(
        r'<time class="console-age" datetime="[^"]*">\d{4}-\d\d-\d\d [\d:]*Z</time>', shown(console, LOG)
    )


def test_the_way_to_the_configuration_is_for_who_may_see_it(console: Client, project: Project) -> None:
    own, of_all = make_config(project), make_global_config()
    owner = browser_with(Role.GROUP_OWNER, project=project)
    notification = notified_by(own)
    assert f'href="{page_of(own)}"' in shown(owner, page_of(notification))
    other = notified_by(of_all, project=project)
    assert f'href="{page_of(of_all)}"' in shown(console, page_of(other))
    assert owner.get(page_of(other)).status_code in {302, 404}


@pytest.mark.slow
def test_the_log_takes_as_many_statements_however_long_it_is(console: Client, project: Project) -> None:
    costs = []
    for more in (1, 20):
        for _ in range(more):
            notified_by(make_config(project, notifications=[CHAT]))
            make_notification(project, event_id=record_event(project).id)
        console.get(LOG)
        with CaptureQueriesContext(connection) as statements:
            console.get(LOG)
        costs.append(len(statements))
    assert costs[0] == costs[1]


def test_the_newest_notification_comes_first_whatever_its_id(console: Client, project: Project) -> None:
    now = clock.now()
    alert = make_alert(project)
    older = make_notification(
        project, alert=alert, id="f" * 24, created=now - timedelta(days=1), status="FAILED"
    )
    newer = make_notification(project, alert=alert, id="0" * 24, created=now, status="FAILED")
    page = console.get("/admin/alerting/notification/")
    assert [row.id for row in page.context["cl"].result_list] == [newer.id, older.id]


def test_the_page_of_a_notification_says_what_it_is_in_words(console: Client, project: Project) -> None:
    sent = make_notification(project, alert=make_alert(project), lease_until=clock.now())
    page = shown(console, page_of(sent))
    assert "“opened” to oncall@example.com" in page.partition("</title>")[0]
    assert "Being sent, at most until" in page
    assert "Lease" not in page
    to_members = make_notification(project, alert=make_alert(project), recipient="", type_name="GROUP")
    assert str(to_members) == "“opened” to Project members"
