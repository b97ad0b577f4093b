"""Notifications for people: the addresses, when they are looked up, and who is notified of the end."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project, RoleGrant, User
from alerting.configs import recipients
from alerting.engine.claims import claim
from alerting.engine.delivery import decide
from alerting.models import Alert, Notification
from alerting.reasons import NotificationReason
from automation.reports.rules import EventReport
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.roles import Role
from tests.factories.accesslist import make_team
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import (
    WORKER,
    Outside,
    deliver_all,
    deliver_one,
    deliver_round,
    evaluate,
)
from tests.integration.alerting.recipients import GROUP, channels, make_member, messages_of

pytestmark = pytest.mark.django_db

ROLLBACK = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1", port=27017)
OPEN, UPDATE, CLOSE = MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)


def open_alert(project: Project, *notifications: dict[str, Any]) -> None:
    """An open alert of a configuration with these notifications."""
    make_config(project, notifications=notifications)
    ingest(project, host_report(reachable=False))
    evaluate()


def close_alert(project: Project) -> None:
    """The condition has ended."""
    ingest(project, host_report(reachable=True))
    evaluate()


def reasons() -> list[str | None]:
    """Why notifications were not sent."""
    return list(Notification.objects.filter(status="DROPPED").values_list("reason", flat=True))


def test_everybody_in_the_project_is_notified_of_the_opening_and_of_the_end(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    open_alert(project, GROUP)
    deliver_all()
    close_alert(project)
    deliver_all()
    ada, bob = "ada@example.com", "bob@example.com"
    assert messages_of(outside) == [(OPEN, ada), (OPEN, bob), (CLOSE, ada), (CLOSE, bob)]
    assert len({message.delivery_id for _, _, message in outside.sent}) == 4
    rows = Notification.objects.filter(status="DELIVERED")
    assert {(row.type_name, row.channel) for row in rows} == {("GROUP", "EMAIL")}
    assert Alert.objects.get().last_notified is not None


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        pytest.param(
            {"emailEnabled": True}, {(ChannelType("EMAIL"), "emailAddress", "ada@example.com")}, id="mail"
        ),
        pytest.param({"smsEnabled": True}, {(ChannelType("SMS"), "mobileNumber", "+12025550100")}, id="sms"),
        pytest.param(
            {"emailEnabled": True, "smsEnabled": True},
            {
                (ChannelType("EMAIL"), "emailAddress", "ada@example.com"),
                (ChannelType("SMS"), "mobileNumber", "+12025550100"),
            },
            id="both",
        ),
    ],
)
def test_people_are_notified_by_the_channels_chosen(
    project: Project, outside: Outside, chosen: dict[str, Any], expected: set[tuple[str, str, str]]
) -> None:
    make_member(project, "ada", mobile_number="+12025550100")
    open_alert(project, {"typeName": "GROUP", "delayMin": 0, **chosen})
    deliver_all()
    assert {(channel, *next(iter(config.items()))) for channel, config in channels(outside)} == expected


def test_an_address_two_people_share_is_notified_once(project: Project, outside: Outside) -> None:
    make_member(project, "ada", email_address="oncall@Example.com")
    make_member(project, "bob", email_address="oncall@example.com")
    open_alert(project, GROUP)
    deliver_all()
    assert messages_of(outside) == [(OPEN, "oncall@Example.com")]


def test_who_comes_and_goes_is_seen_when_it_is_due(project: Project, outside: Outside) -> None:
    ada = make_member(project, "ada")
    open_alert(project, {**GROUP, "intervalMin": 5})
    start = clock.now()
    deliver_all(start)
    ada.delete()
    make_member(project, "bob")
    deliver_all(start + timedelta(minutes=5))
    assert messages_of(outside) == [(OPEN, "ada@example.com"), (UPDATE, "bob@example.com")]
    close_alert(project)
    deliver_all(start + timedelta(minutes=6))
    assert messages_of(outside)[2:] == [(CLOSE, "ada@example.com"), (CLOSE, "bob@example.com")]


def test_messages_to_addresses_wake_the_workers_and_scheduled_reminders_do_not(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    now = clock.now()
    wakes = []
    for _ in range(3):  # the people, the destination of the address, the message
        with CaptureQueriesContext(connection) as captured:
            deliver_round(now)
        wakes.append(any("NOTIFY" in query["sql"] for query in captured))
    assert (len(outside.sent), Notification.objects.filter(kind=UPDATE).count()) == (1, 1)
    assert wakes == [True, False, False]


def test_the_end_goes_to_the_address_that_was_notified(project: Project, outside: Outside) -> None:
    ada = make_member(project, "ada")
    open_alert(project, GROUP)
    deliver_all()
    User.objects.filter(id=ada.id).update(email_address="new@example.com")
    close_alert(project)
    deliver_all()
    assert messages_of(outside) == [(OPEN, "ada@example.com"), (CLOSE, "ada@example.com")]


def test_repeats_keep_their_gap_and_come_once_to_each(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    make_member(project, "bob")
    open_alert(project, {**GROUP, "intervalMin": 5})
    start = clock.now()
    deliver_all(start)
    assert Notification.objects.get(status="PENDING").channel is None
    assert deliver_all(start + timedelta(minutes=4, seconds=59)) == 0
    deliver_all(start + timedelta(minutes=5))
    deliver_all(start + timedelta(minutes=10))
    assert [kind for kind, _ in messages_of(outside)] == [OPEN] * 2 + [UPDATE] * 4


@pytest.mark.slow
def test_an_outage_of_the_mail_server_is_not_followed_by_a_burst(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, {**GROUP, "intervalMin": 5})
    start = clock.now()
    outside.outcome = AWAY
    for minutes in range(0, 31, 5):
        deliver_all(start + timedelta(minutes=minutes))
    outside.outcome, outside.sent = TAKEN, []
    back = start + timedelta(minutes=36)
    deliver_all(back)
    assert [kind for kind, _ in messages_of(outside)] == [OPEN]
    assert set(reasons()) == {NotificationReason.JUST_NOTIFIED.value}
    deliver_all(back + timedelta(minutes=5))
    assert [kind for kind, _ in messages_of(outside)] == [OPEN, UPDATE]


def test_an_outage_of_the_worker_is_followed_by_one_repeat(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, {**GROUP, "intervalMin": 5})
    start = clock.now()
    deliver_all(start)
    back = start + timedelta(hours=3)
    deliver_all(back)
    assert deliver_all(back + timedelta(minutes=4, seconds=59)) == 0
    assert [kind for kind, _ in messages_of(outside)] == [OPEN, UPDATE]


def test_what_is_over_before_it_is_due_looks_nobody_up(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    close_alert(project)
    deliver_all()
    assert outside.sent == []
    assert reasons() == [NotificationReason.ALERT_OVER.value]


def test_people_get_a_one_shot_notification_once(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[GROUP])
    ingest(project, host_report(), events=(ROLLBACK,))
    evaluate()
    deliver_all()
    assert messages_of(outside) == [(MessageKind.INFORM, "ada@example.com")]
    assert Notification.objects.count() == 1


@pytest.mark.parametrize(
    ("notification", "reason"),
    [
        pytest.param(GROUP, NotificationReason.NO_USER_WITH_ROLE, id="nobody in the project"),
        pytest.param(
            {**GROUP, "typeName": "ORG"},
            NotificationReason.NO_USER_WITH_ROLE,
            id="nobody in the organization",
        ),
        pytest.param({**GROUP, "typeName": "ADMIN"}, NotificationReason.NO_USER_WITH_ROLE, id="no owner"),
        pytest.param(
            {**GROUP, "typeName": "USER", "username": "gone"}, NotificationReason.NO_USER, id="no user"
        ),
        pytest.param(
            {**GROUP, "typeName": "TEAM", "teamId": "0" * 24}, NotificationReason.NO_MEMBER, id="no team"
        ),
    ],
)
def test_without_recipients_the_log_says_so(
    project: Project, outside: Outside, notification: dict[str, Any], reason: NotificationReason
) -> None:
    open_alert(project, notification)
    deliver_all()
    assert outside.sent == []
    assert reasons() == [reason.value]


def test_who_has_no_address_is_not_notified(project: Project, outside: Outside) -> None:
    make_member(project, "ada", email_address=None)
    open_alert(project, {**GROUP, "intervalMin": 5})
    start = clock.now()
    deliver_all(start)
    assert reasons() == [NotificationReason.NO_ADDRESS.value]
    User.objects.update(email_address="ada@example.com")
    deliver_all(start + timedelta(minutes=5))
    assert messages_of(outside) == [(UPDATE, "ada@example.com")]


@pytest.mark.parametrize("type_name", ["ORG", "ADMIN", "USER", "TEAM"])
def test_every_kind_of_people_is_reached(project: Project, outside: Outside, type_name: str) -> None:
    ada = make_member(project, "ada")
    RoleGrant.objects.create(role=Role.ORG_MEMBER.value, user=ada, org=project.org)
    RoleGrant.objects.create(role=Role.GLOBAL_OWNER.value, user=ada)
    named = {"USER": {"username": "ada"}, "TEAM": {"teamId": make_team(project, ada).id}}
    open_alert(project, {**GROUP, "typeName": type_name, **named.get(type_name, {})})
    deliver_all()
    assert messages_of(outside) == [(OPEN, "ada@example.com")]


def test_only_so_many_are_notified_and_the_log_says_that_there_are_more(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipients, "MOST_RECIPIENTS_OF_ONE", 2)
    for name in ("ada", "bob", "eve"):
        make_member(project, name)
    open_alert(project, GROUP)
    deliver_all()
    assert messages_of(outside) == [(OPEN, "ada@example.com"), (OPEN, "bob@example.com")]
    assert reasons() == [NotificationReason.TOO_MANY_RECIPIENTS.value]


def test_a_crash_while_people_are_looked_up_notifies_each_once(
    project: Project, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    start = clock.now()

    def crash(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("alerting.engine.schedule.schedule_reminders", crash)
        with pytest.raises(KeyboardInterrupt):
            deliver_one(start)
    assert Notification.objects.get().channel is None
    deliver_all(start + timedelta(seconds=31))
    close_alert(project)
    deliver_all(start + timedelta(seconds=32))
    assert messages_of(outside) == [(OPEN, "ada@example.com"), (CLOSE, "ada@example.com")]


def test_two_workers_never_look_the_same_people_up(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    start = clock.now()
    late = claim(worker=WORKER, slots=1, clock=lambda: start)
    assert late
    deliver_all(start + timedelta(seconds=31))
    assert list(decide(late, now=start + timedelta(seconds=32))) == []
    assert messages_of(outside) == [(OPEN, "ada@example.com")]
    assert Notification.objects.filter(kind=OPEN.value).count() == 1


def test_after_a_crash_before_people_were_looked_up_an_ended_alert_notifies_nobody(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    start = clock.now()
    assert claim(worker=WORKER, slots=1, clock=lambda: start)
    close_alert(project)
    deliver_all(start + timedelta(seconds=31))
    assert outside.sent == []
    assert reasons() == [NotificationReason.ALERT_OVER.value]
    assert not Notification.objects.filter(status="PENDING").exists()
