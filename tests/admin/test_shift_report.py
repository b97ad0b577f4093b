"""The shift report: its sections, who sees what, its Markdown, and how it is sent."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings
from time_machine import Traveller

from accesslist.models import Project, User
from alerting.configs.changes import alert_config_delete
from alerting.models import MaintenanceWindow
from alerting.overview import shift_report
from alerting.overview.shift_report import ReportSection
from events.types import EventType
from integrations.models import Integration
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import wire_time
from opsapi.first_rows import MOST_COUNTED
from opsapi.roles import Role
from tests.admin.operators import operator_with, page_of
from tests.admin.reading import shown
from tests.admin.test_fleet import ADD
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config, make_global_config, make_notification
from tests.factories.integrations import make_integration
from tests.receivers import HttpReceiver, MailReceiver, http_receiver, mail_receiver

__all__ = ["http_receiver", "mail_receiver"]

pytestmark = pytest.mark.django_db
PAGE = "/admin/shift-report/"
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def now() -> datetime:
    return clock.now()


def sections(browser: Client, **query: Any) -> dict[str, ReportSection]:
    answer = browser.get(PAGE, query)
    assert answer.status_code == 200
    return {section.title: section for section in answer.context["report"].sections}


def make_window(project: Project, start: timedelta, end: timedelta) -> MaintenanceWindow:
    """A window for hosts; its ends are relative to now."""
    now = clock.now()
    return MaintenanceWindow.objects.create(
        group=project, alert_types=["HOST"], start=now + start, end=now + end, created=now, updated=now
    )


@pytest.fixture
def address(operator: User) -> str:
    """The address of the operator."""
    User.objects.filter(id=operator.id).update(email_address="ada@example.com")
    return "ada@example.com"


def urls(section: ReportSection) -> list[str]:
    return [row[0].url for row in section.rows]


def times(created: datetime, **more: Any) -> dict[str, Any]:
    return {"created": created, "opens": created, **more}


def test_alerts_are_listed_by_what_happened_to_them(console: Client, project: Project, now: datetime) -> None:
    before = make_alert(project, **times(now - 20 * HOUR))
    opened = make_alert(project, **times(now - HOUR))
    ended = times(now - 20 * HOUR, status="CLOSED", resolved=now - HOUR)
    closed = make_alert(project, **ended)
    make_alert(project, **times(now - 20 * HOUR, status="CLOSED", resolved=now - 10 * HOUR))
    make_alert(project, created=now - HOUR, opens=now + HOUR, status="TRACKING")
    never_opened = {"created": now - HOUR, "opens": now - 30 * MINUTE, "resolved": now - 40 * MINUTE}
    make_alert(project, status="CLOSED", **never_opened)
    report = sections(console)
    assert set(urls(report["Still open"])) == {page_of(before), page_of(opened)}
    assert urls(report["Opened"]) == [page_of(opened)]
    assert urls(report["Closed"]) == [page_of(closed)]


@each(("query", "number"), [({"hours": "8"}, 0), ({"hours": "12"}, 1), ({"hours": "24"}, 2)])
def test_a_shift_has_a_length(
    query: dict[str, str], number: int, console: Client, project: Project, now: datetime
) -> None:
    for hours in (9, 20, 40):
        make_alert(project, **times(now - hours * HOUR))
    assert sections(console, **query)["Opened"].count == number
    assert sections(console, since=wire_time(now - 41 * HOUR))["Opened"].count == 3


def test_an_acknowledgement_has_its_comment(console: Client, project: Project, now: datetime) -> None:
    make_alert(
        project,
        acknowledged_until=now + HOUR,
        acknowledging_username="mira",
        acknowledgement_comment="raised the pool",
    )
    [row] = sections(console)["Still open"].rows
    assert row[-1].text == "by mira: raised the pool"


def test_changes_by_people_are_listed(console: Client, operator: User, project: Project) -> None:
    confirm(console, ADD, group=project.id, hostname="db1.example.com", port="27018")
    config = make_config(project)
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    changes = sections(console)["Changes by people and keys"]
    assert [(row[0].text, row[1].text) for row in changes.rows] == [
        ("Add host: db1.example.com:27018", operator.username)
    ]


def test_quiet_times_that_end_soon_are_listed(console: Client, project: Project, now: datetime) -> None:
    soon = make_window(project, -HOUR, HOUR)
    make_window(project, -HOUR, 48 * HOUR)
    make_window(project, HOUR, 2 * HOUR)
    assert urls(sections(console)["Quiet times that end within a day"]) == [page_of(soon)]


def test_failed_deliveries_are_listed(console: Client, project: Project, now: datetime) -> None:
    failed = make_notification(project, status="FAILED", due=now - HOUR, reason="refused")
    make_notification(project, status="SENT", due=now - HOUR)
    make_notification(project, status="FAILED", due=now - 20 * HOUR, reason="refused")
    assert urls(sections(console)["Failed deliveries"]) == [page_of(failed)]


def test_a_reader_sees_their_projects_only(project: Project, now: datetime) -> None:
    mine = ProjectFactory.create(name="mine")
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=mine)
    make_alert(project)
    make_notification(project, status="FAILED", due=now - HOUR)
    make_window(project, -HOUR, HOUR)
    alert = make_alert(mine)
    report = sections(browser)
    assert urls(report["Still open"]) == [page_of(alert)]
    assert not report["Failed deliveries"].rows
    assert not report["Quiet times that end within a day"].rows
    assert not report["Changes by people and keys"].rows


def test_rows_that_are_not_listed_are_counted(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shift_report, "_MOST", 2)
    for _ in range(3):
        make_alert(project)
    still_open = sections(console)["Still open"]
    assert (len(still_open.rows), still_open.count) == (2, 3)
    assert still_open.more in console.get(PAGE).content.decode()


def test_a_number_that_is_not_exact_says_so(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shift_report, "bounded_count", lambda _: MOST_COUNTED + 1)
    monkeypatch.setattr(shift_report, "MOST_COUNTED", 1)
    for _ in range(2):
        make_window(project, -HOUR, HOUR)
    report = sections(console)
    assert report["Quiet times that end within a day"].count == 2
    assert report["Still open"].number == "1,000+"
    assert report["Still open"].more == "… and at least 1,001 more"
    assert "## Still open: 1,000+" in console.get(PAGE, {"format": "markdown"}).content.decode()


def test_the_markdown_has_the_same_rows_and_no_marks_of_strangers(console: Client, project: Project) -> None:
    make_alert(project, facts={"hostname": "<b>*db*`1`[x](y)", "port": 27017})
    answer = console.get(PAGE, {"format": "markdown"})
    text = answer.content.decode()
    assert answer["Content-Type"].startswith("text/markdown")
    assert ".md" in answer["Content-Disposition"]
    assert "## Still open: 1" in text
    assert "- **Host down** · Critical · \\<b\\>\\*db\\*\\`1\\`\\[x\\](y):27017" in text


@each(
    "query",
    [
        {"hours": "7"},
        {"hours": "-8"},
        {"since": "yesterday"},
        {"since": "2020-01-01T00:00:00Z"},
        {"since": "2999-01-01T00:00:00Z"},
    ],
)
def test_a_wrong_time_is_refused_by_name(query: dict[str, str], console: Client) -> None:
    answer = console.get(PAGE, query)
    assert answer.status_code == 400
    [name] = query
    assert answer.context["fault"].lower().startswith(f"{name} must be")
    assert answer.context["report"] is None


def test_it_is_sent_to_the_own_address(
    console: Client, address: str, project: Project, mail_receiver: MailReceiver
) -> None:
    make_alert(project)
    assert console.post(f"{PAGE}?hours=12").status_code == 302
    [sent] = mail_receiver.mails
    assert sent.recipients == (address,)
    assert "## Still open: 1" in sent.message.get_content()


def test_without_an_address_it_is_not_offered(console: Client, project: Project) -> None:
    assert "Send to" not in console.get(PAGE).content.decode()
    assert "no e-mail address" in console.post(PAGE, follow=True).content.decode()


def test_a_refused_mail_is_said(console: Client, address: str, mail_receiver: MailReceiver) -> None:
    mail_receiver.recipient_answer = "550 5.1.1 no such mailbox"
    answer = console.post(PAGE, follow=True)
    assert "did not accept the report" in answer.content.decode()


def test_it_is_not_sent_without_limit(
    console: Client, address: str, mail_receiver: MailReceiver, settings: Settings
) -> None:
    settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 2
    for _ in range(3):
        console.post(PAGE)
    assert len(mail_receiver.mails) == 2


def test_global_recipients_stay_hidden_from_a_project(project: Project, now: datetime) -> None:
    config = make_global_config(forAllGroups=True)
    alert = make_alert(project, config_id=config.id, is_global=True)
    make_notification(project, alert=alert, status="FAILED", due=now - HOUR)
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    assert not sections(browser)["Failed deliveries"].rows


def webhook_of(project: Project, receiver: HttpReceiver, **more: Any) -> Integration:
    return make_integration(project, "WEBHOOK", url=receiver.url("/hook"), **more)


def sent_to(receiver: HttpReceiver) -> dict[str, list[str]]:
    """The lines of the report that the receiver got, by section."""
    [request] = receiver.requests
    sections = json.loads(request.body)["report"]["sections"]
    return {section["title"]: section["lines"] for section in sections}


def test_a_service_gets_the_report_of_its_project(
    console: Client, operator: User, project: Project, http_receiver: HttpReceiver
) -> None:
    service = webhook_of(project, http_receiver)
    make_alert(project, facts={"hostname": "db1.example.com", "port": 27017})
    make_alert(ProjectFactory.create(), facts={"hostname": "secret.example.com", "port": 27017})
    with leaves_events(operator, EventType.SHIFT_REPORT_SENT_AUDIT) as events:
        answer = post(console, f"{PAGE}?hours=12", service=service.pk)
    assert events[0].group_id == project.id
    lines = sent_to(http_receiver)
    assert next(iter(lines)) == "Still open (1)"
    [line] = lines["Still open (1)"]
    assert line.startswith("Host down · Critical · db1.example.com:27017 · ")
    assert "accepted the report after" in shown(console, answer["Location"])
    # The link leads to the page of the report of this project.
    links = {link["rel"]: link["href"] for link in json.loads(http_receiver.requests[0].body)["links"]}
    path = "/admin/" + links["urn:opsapi:rel:console"].partition("/admin/")[2]
    assert f"· {project}</h2>" in shown(console, path)
    assert sections(console, project=project.id)["Still open"].count == 1
    # An accepted report proves the service as a test does.
    service.refresh_from_db()
    assert service.tested is not None


def test_a_long_report_is_cut_and_says_so(
    console: Client, project: Project, http_receiver: HttpReceiver, now: datetime
) -> None:
    service = webhook_of(project, http_receiver, body={"text": "{{title}} {{facts:700}} {{link}}"})
    for number in range(12):  # They opened before the report begins, so only one section has them.
        facts = {"hostname": f"{number}-{'x' * 40}.example.com", "port": 27017}
        make_alert(project, facts=facts, **times(now - 9 * HOUR))
    answer = post(console, PAGE, service=service.pk)
    text = json.loads(http_receiver.requests[0].body)["text"]
    rows = text.count("Host down")
    assert 0 < rows < 12
    assert f"… and {12 - rows} more" in text
    assert "/admin/shift-report/?since=" in text
    assert f"Each section has at most {rows} row" in shown(console, answer["Location"])


def test_a_service_that_does_not_accept_the_report_is_said(
    console: Client, project: Project, http_receiver: HttpReceiver
) -> None:
    service = webhook_of(project, http_receiver)
    http_receiver.answer(404)
    page = shown(console, post(console, PAGE, service=service.pk)["Location"])
    assert "did not accept the report" in page
    assert "404" in page
    service.refresh_from_db()
    assert service.tested is None
    assert "404" in (service.test_error or "")


def test_a_report_has_the_guard_and_the_limit_of_tests(
    console: Client, project: Project, http_receiver: HttpReceiver, settings: Settings
) -> None:
    service = webhook_of(project, http_receiver)
    settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
    settings.OPSAPI_OUTBOUND_ALLOW = []
    page = shown(console, post(console, PAGE, service=service.pk)["Location"])
    assert "did not accept the report" in page
    page = shown(console, post(console, PAGE, service=service.pk)["Location"])
    assert "Not sent." in page
    assert http_receiver.requests == []


@each(
    ("role", "may"),
    [(Role.GROUP_READ_ONLY, False), (Role.GROUP_USER_ADMIN, False), (Role.GROUP_MONITORING_ADMIN, True)],
)
def test_only_roles_that_test_services_send_to_services(
    project: Project, http_receiver: HttpReceiver, role: Role, may: bool
) -> None:
    service = webhook_of(project, http_receiver)
    http_receiver.requests.clear()
    _, browser = operator_with(role, project=project)
    assert ("Send to the service" in shown(browser, PAGE)) is may
    post(browser, PAGE, service=service.pk)
    assert len(http_receiver.requests) == int(may)


def test_services_of_other_projects_and_of_incidents_are_not_offered(
    console: Client, project: Project, http_receiver: HttpReceiver
) -> None:
    other = webhook_of(ProjectFactory.create(), http_receiver)
    jira = webhook_of(project, http_receiver, template="jira-service-management", authorization="GenieKey 0")
    pager = make_integration(project, "PAGER_SERVICE")
    slack = make_integration(project, "CHAT_SERVICE")
    _, browser = operator_with(Role.GROUP_OWNER, project=project)
    page = shown(browser, PAGE)
    assert slack.pk in page
    for service in (other, jira, pager):
        assert service.pk not in page
        assert post(browser, PAGE, service=service.pk).status_code == 404
    assert http_receiver.requests == []


def test_the_time_is_typed_and_shown_in_the_zone_of_the_operator(
    noon: Traveller, console: Client, operator: User
) -> None:
    User.objects.filter(id=operator.id).update(time_zone="Europe/Berlin")
    answer = console.get(PAGE, {"since": "2099-11-21 07:30"})
    assert wire_time(answer.context["report"].since) == "2099-11-21T06:30:00Z"
    page = answer.content.decode()
    assert 'name="since" value="2099-11-21 07:30"' in page
    assert "Since (Europe/Berlin, at most" in page
    assert "?since=2099-11-21T06:30:00Z&amp;format=markdown" in page
