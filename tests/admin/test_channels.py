"""The Channels page: states, figures of a day, rules, tests of a service and of all, and who may test."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.models import Project, User
from alerting.destinations import channel_cards
from alerting.destinations.channel_cards import ChannelCard, DayFigures
from alerting.engine.stored_times import times_repair
from alerting.models import Destination
from events.types import EventType
from integrations.credentials.changes import integrations_tested
from integrations.models import Integration
from opsapi import clock
from opsapi.clock import AHEAD
from opsapi.roles import Role
from opsapi.sql import database_time
from tests.admin.operators import action_url, browser_with, operator_with, page_of
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.admin.writing import leaves_events, post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, make_config, make_destination, make_notification
from tests.factories.integrations import make_integration
from tests.receivers import HttpReceiver, MailReceiver, http_receiver, mail_receiver
from tests.steps import STEPS

__all__ = ["http_receiver", "mail_receiver"]

pytestmark = pytest.mark.django_db

PAGE = "/admin/channels/"
HOUR = timedelta(hours=1)
STORED_WEBHOOK: Mapping[str, Any] = {"typeName": "WEBHOOK", "delayMin": 0}


def cards(browser: Client, **query: str) -> dict[str, ChannelCard]:
    """The cards of projects and of the installation by label."""
    context = browser.get(PAGE, query).context
    listed = [*context["shared"], *(card for project in context["projects"] for card in project["cards"])]
    return {shown["card"].label: shown["card"] for shown in listed}


def webhook_of(project: Project, receiver: HttpReceiver) -> Integration:
    return make_integration(project, "WEBHOOK", url=receiver.url("/hook"))


def test_a_service_that_nobody_tried_is_not_healthy(console: Client, project: Project) -> None:
    make_integration(project, "CHAT_SERVICE")
    assert cards(console)["Slack"].state[0] == "not tried yet"
    assert "Send a test" in shown(console, PAGE)


@each(
    ("changes", "state"),
    [
        ({"last_error": "the receiver answered 503"}, "failing"),
        ({"failures": 0, "failing_since": None, "pace_ms": 2000, "answered": timedelta()}, "slowed down"),
        ({"failures": 0, "failing_since": None, "answered": HOUR}, "healthy"),
        # Before its credentials were stored.
        ({"failures": 0, "failing_since": None, "answered": -HOUR}, "changed since"),
        ({"failures": 0, "failing_since": None}, "not tried yet"),
    ],
)
def test_the_destinations_of_a_service_are_its_state(
    console: Client, project: Project, changes: dict[str, Any], state: str
) -> None:
    make_integration(project, "WEBHOOK")
    if "answered" in changes:
        changes = {**changes, "answered": clock.now() + changes["answered"]}
    make_destination(project, **changes)
    assert cards(console)["Webhook"].state[0] == state
    if state == "failing":
        assert "the receiver answered 503" in shown(console, PAGE)


def test_one_of_two_failing_destinations_fails_the_service(console: Client, project: Project) -> None:
    make_integration(project, "WEBHOOK")
    make_destination(project, failures=0, failing_since=None, answered=clock.now() + HOUR)
    make_destination(project)
    assert cards(console)["Webhook"].state[0] == "failing"
    assert "1 of 2 destinations fail" in shown(console, PAGE)


def test_a_service_of_which_only_rules_have_credentials_has_a_card(console: Client, project: Project) -> None:
    make_destination(project)
    card = cards(console)["Webhook"]
    assert card.integration is None
    assert "Its credentials are in rules." in shown(console, PAGE)


def test_prometheus_is_no_receiver(console: Client, project: Project) -> None:
    make_integration(project, "SCRAPER")
    assert cards(console)["Prometheus"].state[0] == "not a receiver"
    assert post(console, PAGE, group=project.id, channel="SCRAPER").status_code == 404


def test_the_figures_are_of_the_last_day(console: Client, project: Project) -> None:
    make_integration(project, "WEBHOOK")
    destination = make_destination(project)
    values = {"type_name": "WEBHOOK", "channel": "WEBHOOK", "destination": destination.id}
    for milliseconds in range(1, 100):
        make_notification(project, status="DELIVERED", latency_ms=milliseconds, **values)
    make_notification(project, status="FAILED", **values)
    make_notification(project, status="PENDING", **values)
    make_notification(project, status="DROPPED", **values)
    make_notification(project, status="FAILED", created=clock.now() - 25 * HOUR, **values)
    make_notification(ProjectFactory.create(), status="FAILED", **values)
    day = cards(console, project=project.id)["Webhook"].day
    assert day == DayFigures(99, 1, 95)
    assert day.share == "99.0 %"


@each(
    ("delivered", "failed", "share"),
    [(1, 0, "100 %"), (99_999, 1, "99.9 %"), (1, 1, "50 %"), (0, 3, "0 %"), (995, 5, "99.5 %")],
)
def test_only_all_messages_are_100_percent(delivered: int, failed: int, share: str) -> None:
    assert DayFigures(delivered, failed).share == share


def test_the_page_says_what_its_figures_leave_out(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_cards, "MOST_MESSAGES", 2)
    monkeypatch.setattr(channel_cards, "MOST_CARDS", 1)
    monkeypatch.setattr(channel_cards, "MOST_DESTINATIONS", 1)
    make_integration(project, "WEBHOOK")
    make_integration(project, "CHAT_SERVICE")
    make_destination(project)
    make_notification(project)
    assert console.get(PAGE).context["notes"][1:] == [
        "The states are of the 1 destinations that fail or were used last."
    ]
    make_notification(project)
    assert len(console.get(PAGE).context["notes"]) == 3
    assert len(cards(console)) == 2


def test_a_service_leads_to_the_rules_that_use_it(console: Client, project: Project) -> None:
    make_integration(project, "WEBHOOK")
    config = make_config(project)
    make_config(project, eventTypeName="NO_PRIMARY", notifications=[EMAIL])
    found = cards(console)
    assert (found["Webhook"].rules, found["E-mail"].rules) == (1, 1)
    url = f"/admin/alerting/alertconfig/?notifies=WEBHOOK&project={project.id}"
    assert url.replace("&", "&amp;") in shown(console, PAGE)
    listed = shown(console, url)
    assert page_of(config) in listed


def test_a_test_is_sent_and_remembered(
    console: Client, operator: User, project: Project, http_receiver: HttpReceiver
) -> None:
    webhook_of(project, http_receiver)
    with leaves_events(operator, EventType.ALERT_CONFIG_TESTED_AUDIT):
        page = post(console, PAGE, group=project.id, channel="WEBHOOK").content.decode()
    assert len(http_receiver.requests) == 1
    assert "The test message was accepted after" in page
    assert cards(console)["Webhook"].state[0] == "healthy"


def test_a_refused_test_says_why(console: Client, project: Project, http_receiver: HttpReceiver) -> None:
    webhook_of(project, http_receiver)
    http_receiver.answer(404)
    page = post(console, PAGE, group=project.id, channel="WEBHOOK").content.decode()
    assert "The test message was not accepted." in page
    assert "test failed" in page
    assert "404" in page
    assert cards(console)["Webhook"].state[0] == "test failed"
    assert "404" in console.get(PAGE).content.decode()
    http_receiver.answer(200)
    post(console, PAGE, group=project.id, channel="WEBHOOK")
    assert cards(console)["Webhook"].state[0] == "healthy"


def test_a_failed_test_does_not_count_after_the_credentials_changed_or_a_message_was_accepted(
    console: Client, project: Project
) -> None:
    stored = make_integration(project, "CHAT_SERVICE")

    def fail() -> None:
        integrations_tested(group_id=project.id, errors={"CHAT_SERVICE": "refused"}, now=clock.now())
        assert cards(console)["Slack"].state[0] == "test failed"

    fail()
    url = action_url(stored, "change")
    form = typed_in(console.get(url).content.decode())
    assert post(console, url, **form | {"channelName": ["night"]}).status_code == 302
    assert cards(console)["Slack"].state[0] == "not tried yet"
    fail()
    make_destination(project, channel="CHAT_SERVICE", failures=0, failing_since=None, answered=clock.now())
    assert cards(console)["Slack"].state[0] == "healthy"


@each("step", STEPS, ids=str)
def test_a_failed_test_of_a_wrong_time_is_shown_until_a_message_or_a_test_is_accepted(
    console: Client, project: Project, step: timedelta
) -> None:
    now = database_time()
    stored = make_integration(project, "CHAT_SERVICE")
    Integration.objects.update(updated=now - timedelta(days=999))
    place = make_destination(project, channel="CHAT_SERVICE", failures=0, failing_since=None)

    def accept(at: datetime) -> str:
        Destination.objects.filter(id=place.id).update(answered=at)
        return cards(console)["Slack"].state[0]

    # An earlier test was accepted, by the same clock.
    for minute, error in ((-1, None), (0, "refused")):
        at = now + step + timedelta(minutes=minute)
        integrations_tested(group_id=project.id, errors={stored.type: error}, now=at)
    assert accept(now - timedelta(seconds=30)) == ("test failed" if step > timedelta(0) else "healthy")
    times_repair(clock=lambda: now)
    assert accept(now + timedelta(seconds=1)) == ("test failed" if step == AHEAD else "healthy")
    integrations_tested(group_id=project.id, errors={stored.type: "refused"}, now=now + timedelta(minutes=3))
    assert cards(console)["Slack"].state[0] == "test failed"
    integrations_tested(group_id=project.id, errors={stored.type: None}, now=now + timedelta(minutes=4))
    assert cards(console)["Slack"].state[0] == "healthy"


@each("step", STEPS, ids=str)
def test_an_accepted_test_counts_for_credentials_that_are_not_newer(
    console: Client, project: Project, step: timedelta
) -> None:
    now = clock.now()
    stored = make_integration(project, "CHAT_SERVICE")
    Integration.objects.update(updated=now)
    integrations_tested(group_id=project.id, errors={stored.type: None}, now=now + step)
    assert cards(console)["Slack"].state[0] == ("healthy" if step > timedelta(0) else "not tried yet")


def test_changed_credentials_need_a_new_test(console: Client, project: Project) -> None:
    stored = make_integration(project, "CHAT_SERVICE")
    integrations_tested(group_id=project.id, errors={"CHAT_SERVICE": None}, now=clock.now())
    assert cards(console)["Slack"].state[0] == "healthy"
    url = action_url(stored, "change")
    form = typed_in(console.get(url).content.decode())
    assert post(console, url, **form | {"channelName": ["night"]}).status_code == 302
    assert cards(console)["Slack"].state[0] == "not tried yet"


def test_all_services_of_a_project_are_tested_at_once(
    console: Client, operator: User, project: Project, http_receiver: HttpReceiver
) -> None:
    webhook_of(project, http_receiver)
    make_integration(project, "SCRAPER")
    make_integration(project, "CHAT_SERVICE")
    elsewhere = ProjectFactory.create()
    webhook_of(elsewhere, http_receiver)
    with leaves_events(operator, EventType.ALERT_CONFIG_TESTED_AUDIT):
        context = post(console, PAGE, group=project.id).context
    results = {
        shown["card"].key: shown["result"] and shown["result"].is_accepted
        for of_project in context["projects"]
        for shown in of_project["cards"]
    }
    assert results == {
        f"{project.id}:WEBHOOK": True,
        f"{project.id}:CHAT_SERVICE": False,
        f"{project.id}:SCRAPER": None,
        f"{elsewhere.id}:WEBHOOK": None,
    }
    assert len(http_receiver.requests) == 1


def test_tests_have_a_limit(
    console: Client, project: Project, http_receiver: HttpReceiver, settings: Settings
) -> None:
    settings.OPSAPI_RATE_TEST_NOTIFICATIONS = 1
    webhook_of(project, http_receiver)
    for group in (project.id, project.id):
        page = post(console, PAGE, group=group).content.decode()
    assert "Not sent." in page
    assert len(http_receiver.requests) == 1


def test_the_mail_server_is_tested_with_the_own_address(
    console: Client, operator: User, project: Project, mail_receiver: MailReceiver
) -> None:
    User.objects.filter(id=operator.id).update(email_address="ada@example.com")
    page = post(console, PAGE, channel="EMAIL").content.decode()
    assert "The mail server accepted the message to ada@example.com." in page
    assert mail_receiver.mails[0].recipients == ("ada@example.com",)


@each(
    ("role", "may"),
    [(Role.GROUP_READ_ONLY, False), (Role.GROUP_USER_ADMIN, False), (Role.GROUP_MONITORING_ADMIN, True)],
)
def test_only_roles_that_change_rules_test(
    project: Project, http_receiver: HttpReceiver, role: Role, may: bool
) -> None:
    webhook_of(project, http_receiver)
    make_integration(project, "CHAT_SERVICE")
    http_receiver.requests.clear()
    _, browser = operator_with(role, project=project)
    page = shown(browser, PAGE)
    assert (">Test<" in page, ">Test all<" in page, ">New service<" in page) == (may, may, may)
    answer = post(browser, PAGE, group=project.id, channel="WEBHOOK")
    assert (answer.status_code == 200) is may
    assert len(http_receiver.requests) == int(may)
    post(browser, PAGE, channel="EMAIL")
    assert len(http_receiver.requests) == int(may)


def test_other_projects_stay_invisible(project: Project, http_receiver: HttpReceiver) -> None:
    hidden = webhook_of(ProjectFactory.create(), http_receiver)
    make_destination(hidden.group)
    make_destination(project, channel="EMAIL", is_global=True, recipient="secret@example.com")
    browser = browser_with(Role.GROUP_OWNER, project=project)
    found = cards(browser)
    assert list(found) == ["E-mail"]
    assert found["E-mail"].health.count == 0
    post(browser, PAGE, group=hidden.group_id, channel="WEBHOOK")
    assert http_receiver.requests == []


def test_a_new_service_leads_to_its_use(console: Client, project: Project) -> None:
    stored = make_integration(project, "CHAT_SERVICE")
    context = console.get(PAGE, {"created": stored.pk}).context
    assert f"group={project.id}" in context["created"]["use_url"]
    assert console.get(PAGE, {"created": "0" * 24}).context["created"] is None
