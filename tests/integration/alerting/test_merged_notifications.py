"""One person, one message: the notifications of an alert that reach the same address."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_update
from alerting.engine import delivery
from alerting.engine.claims import claim
from alerting.engine.notification_log import alert_notifications
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.resource import LoggedNotificationDocument
from alerting.engine.store import merged_when_due
from alerting.incidents.changes import alert_acknowledge
from alerting.insight.dry_runs import dry_run
from alerting.insight.timeline import alert_timeline
from alerting.models import Alert, AlertConfig, Notification
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from automation.reports.rules import EventReport, HostReport
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.each import each
from tests.factories.accesslist import make_team
from tests.factories.alerting import by_column, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration
from tests.integration.alerting.pipeline import WORKER, Outside, begin, deliver_all, evaluate
from tests.integration.alerting.recipients import GROUP, make_member

pytestmark = pytest.mark.django_db

ADA = "ada@example.com"
MINUTE = timedelta(minutes=1)
START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
REFUSED = Outcome(DeliveryStatus.FAILED, "the mail server answered 550", 5)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver answered 500", 5, fault=DeliveryFault.DESTINATION)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 5)


def mail(address: str | None = ADA, **changes: Any) -> dict[str, Any]:
    return {"typeName": "EMAIL", "emailAddress": address, "delayMin": 0, **changes}


def webhook(url: str, **changes: Any) -> dict[str, Any]:
    return {"typeName": "WEBHOOK", "webhookUrl": url, "delayMin": 0, **changes}


def slack(channel: str, **changes: Any) -> dict[str, Any]:
    named = {"apiToken": "token-0123456789", "channelName": channel}
    return {"typeName": "CHAT_SERVICE", "delayMin": 0, **named, **changes}


def down(
    project: Project, *notifications: dict[str, Any], now: datetime = START, **changes: Any
) -> AlertConfig:
    """An open alert of a configuration with these notifications."""
    config = make_config(project, notifications=notifications, **changes)
    report(project, now, up=False)
    return config


def report(project: Project, now: datetime, *, up: bool, host: str = "db1.example.com") -> None:
    ingest(project, host_report(host, reachable=up), now=now)
    evaluate(now)


def members(count: int, *, down: int = 0) -> list[HostReport]:
    """The members of a replica set, of which the first are down."""
    return [
        host_report(f"db{number}.example.com", replica_set_name="rs0", reachable=number >= down)
        for number in range(count)
    ]


def merged() -> list[Notification]:
    return list(Notification.objects.filter(merged_into__isnull=False).order_by("sequence", "id"))


def log() -> list[dict[str, Any]]:
    """The entries of the log about the opening of the alert, as in the API, the first notification first."""
    rows = alert_notifications(Alert.objects.get().id, with_recipients=True).order_by("sequence", "id")
    facts = [LoggedNotificationDocument.facts(row) for row in LoggedNotificationDocument.rows(rows)]
    return [entry for entry in facts if entry["kind"] == "alert.open"]


def test_five_notifications_of_one_person_are_one_mail_for_each_kind(
    project: Project, outside: Outside
) -> None:
    ada = make_member(project, "ada")
    team = make_team(project, ada)
    down(
        project,
        {"typeName": "USER", "username": "ada", "emailEnabled": True, "delayMin": 0},
        {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True, "delayMin": 0},
        GROUP,
        mail(),
        mail("ada@EXAMPLE.com"),
    )
    deliver_all(START)
    assert [(to.lower(), kind) for to, kind in outside.said] == [(ADA, "OPEN")]
    assert len(merged()) == 4
    report(project, START + MINUTE, up=True)
    deliver_all(START + MINUTE)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


@each("changes", [{}, {"grouping": "TOPOLOGY", "groupWaitSec": 0}], ids=["alone", "grouped"])
def test_a_dry_run_counts_the_messages_that_go_out(
    project: Project, outside: Outside, changes: dict[str, Any]
) -> None:
    outside.sent.clear()
    ada, eve = make_member(project, f"ada{len(changes)}"), make_member(project, f"eve{len(changes)}")
    user = {"typeName": "USER", "username": ada.username, "emailEnabled": True, "delayMin": 0}
    named = mail(ada.email_address, delayMin=10)
    notifications = [user, GROUP, named]
    down(project, *notifications, **changes)
    deliver_all(START + MINUTE)
    deliver_all(START + 10 * MINUTE)
    report(project, START + 20 * MINUTE, up=True)
    deliver_all(START + 21 * MINUTE)
    values = by_column({"eventTypeName": "HOST_DOWN", "notifications": notifications, **changes})
    found = dry_run(group_id=project.id, values=values, start=START - MINUTE, end=START + 21 * MINUTE)
    assert found.sent == len(outside.sent) == 4  # the opening and the end, to two people
    assert {to for to, _ in outside.said} == {ada.email_address, eve.email_address}
    assert (found.merged, found.not_sent) == (len(merged()), 0) == (2, 0)


@each("type_name", ["GROUP", "ORG"])
def test_roles_decide_who_shares_a_message(project: Project, outside: Outside, type_name: str) -> None:
    outside.sent.clear()
    role = Role.GROUP_OWNER if type_name == "GROUP" else Role.ORG_OWNER
    owner = make_member(project, f"owner-{type_name.lower()}")
    place = {"project": project} if type_name == "GROUP" else {"org": project.org}
    owner.grants.create(role=role.value, **place)
    reader = make_member(project, f"reader-{type_name.lower()}")
    roles = {"typeName": type_name, "roles": [role.value], "emailEnabled": True, "delayMin": 0}
    down(project, roles, mail(owner.email_address), mail(reader.email_address))
    deliver_all(START)
    assert sorted(to for to, _ in outside.said) == [owner.email_address, reader.email_address]
    (shared,) = merged()
    assert shared.recipient == owner.email_address


def test_a_team_that_changed_since_the_opening_gets_the_end_where_it_got_the_opening(
    project: Project, outside: Outside
) -> None:
    ada, eve = make_member(project, "ada"), make_member(project, "eve")
    team = make_team(project, ada)
    down(
        project,
        {"typeName": "TEAM", "teamId": team.id, "emailEnabled": True, "delayMin": 0},
        {"typeName": "USER", "username": "ada", "emailEnabled": True, "delayMin": 0},
    )
    deliver_all(START)
    team.members.set([eve])
    report(project, START + MINUTE, up=True)
    deliver_all(START + MINUTE)
    assert outside.said == [(ADA, "OPEN"), (ADA, "CLOSE")]


def test_the_log_says_which_notification_sent_the_message_of_which(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    config = down(
        project, mail(), {"typeName": "USER", "username": "ada", "emailEnabled": True, "delayMin": 0}, GROUP
    )
    deliver_all(START)
    (sent,) = [entry for entry in log() if entry["status"] == "DELIVERED"]
    others = [entry for entry in log() if entry["id"] != sent["id"]]
    assert [(entry["status"], entry["mergedInto"]) for entry in others] == [("DROPPED", sent["id"])] * 2
    assert all(entry["reason"].startswith(NotificationReason.MERGED.value) for entry in others)
    assert all(f"EMAIL notification {sent['notificationId']}" in entry["reason"] for entry in others)
    assert "mergedInto" not in sent
    settings = {setting.type_name: setting.id for setting in config.settings.all()}
    assert sent["notificationId"] == settings["EMAIL"]
    named = {(entry["typeName"], entry["notificationId"]) for entry in sent["mergedFrom"]}
    assert named == {("USER", settings["USER"]), ("GROUP", settings["GROUP"])}
    assert {entry["id"] for entry in sent["mergedFrom"]} == {entry["id"] for entry in others}
    assert all(entry["mergedFrom"] == [] for entry in others)


def test_the_page_of_the_alert_names_the_notification_that_sent_the_message(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    config = down(
        project,
        {"typeName": "USER", "username": "ada", "emailEnabled": True, "delayMin": 0},
        mail(delayMin=5),
    )
    deliver_all(START)
    deliver_all(START + 5 * MINUTE)
    alert = Alert.objects.get()
    for sees_config, name in ((True, "“User: ada”"), (False, "“User”")):
        shown = alert_timeline(alert, sees_config=sees_config, now=START + 5 * MINUTE)
        (why,) = [why for row, why in shown.explanation.notifications if row.is_merged]
        assert why.reason is NotificationReason.MERGED
        assert name in why.detail
        assert any(name in entry.text for entry in shown.entries)
    (delayed,) = merged()
    assert delayed.setting_id == config.settings.get(type_name="EMAIL").id


def test_the_page_of_the_alert_separates_a_user_from_the_address_of_the_user(
    project: Project, outside: Outside
) -> None:
    make_member(project, "ada")
    down(project, mail(), {"typeName": "USER", "username": "ada", "emailEnabled": True, "delayMin": 5})
    deliver_all(START)
    deliver_all(START + 5 * MINUTE)
    shown = alert_timeline(Alert.objects.get(), sees_config=True, now=START + 5 * MINUTE)
    (why,) = [why for row, why in shown.explanation.notifications if row.is_merged]
    assert f"“E-mail: {ADA}”" in why.detail


@each(
    ("first", "second", "is_same"),
    [
        (mail(), mail("ada@Example.COM"), True),
        (mail(), mail("Ada@example.com"), False),
        (mail(), mail("ada@example.org"), False),
        (mail("ada@bücher.example"), mail("ada@XN--bcher-kva.example"), True),
        (mail("ada@BÜCHER.example"), mail("ada@bücher.example"), True),
        (mail("ada@bücher.example"), mail("ada@bucher.example"), False),
        (
            {"typeName": "SMS", "mobileNumber": "+1 (202) 555-0100", "delayMin": 0},
            {"typeName": "SMS", "mobileNumber": "+12025550100", "delayMin": 0},
            True,
        ),
        (webhook("http://127.0.0.1:9/a"), webhook("http://127.0.0.1:9/a"), True),
        (webhook("http://hooks.example.com/a"), webhook("http://HOOKS.example.com:80/a"), True),
        (webhook("http://127.0.0.1:9/a"), webhook("http://127.0.0.1:9/A"), False),
        (webhook("http://127.0.0.1:9/a"), webhook("http://127.0.0.1:9/a", webhookSecret="a secret"), False),
        (
            webhook("http://127.0.0.1:9/a"),
            webhook("http://127.0.0.1:9/a", webhookHeaders={"X-A": "b"}),
            False,
        ),
        (webhook("http://127.0.0.1:9/a"), webhook("http://127.0.0.1:9/a", webhookBody={"a": "b"}), False),
        (
            webhook("http://127.0.0.1:9/a"),
            webhook("http://127.0.0.1:9/a", webhookAuthorization="Bearer token-0123456789"),
            False,
        ),
        (
            webhook("http://127.0.0.1:9/a"),
            webhook("http://127.0.0.1:9/a", webhookTemplate="discord"),
            False,
        ),
        (slack("oncall"), slack("#oncall"), True),
        (slack("oncall"), slack("other"), False),
        (slack("oncall"), slack("oncall", apiToken="token-other-0123"), False),
    ],
)
def test_it_is_the_same_address(
    project: Project, outside: Outside, first: dict[str, Any], second: dict[str, Any], is_same: bool
) -> None:
    outside.sent.clear()
    down(project, first, second)
    deliver_all(START)
    assert len(outside.sent) == (1 if is_same else 2)
    assert len(merged()) == (1 if is_same else 0)


def test_credentials_of_the_integration_are_the_same_address(project: Project, outside: Outside) -> None:
    make_integration(
        project, "CHAT_SERVICE", apiToken="token-0123456789", channelName="oncall", teamName="operations"
    )
    down(project, {"typeName": "CHAT_SERVICE", "delayMin": 0}, slack("oncall"))
    deliver_all(START)
    assert outside.kinds == [MessageKind.OPEN]


def test_a_later_notification_is_merged_into_the_message_that_was_sent(
    project: Project, outside: Outside
) -> None:
    down(project, mail(delayMin=10), mail(intervalMin=60))
    deliver_all(START)
    report(project, START + 10 * MINUTE, up=False)
    deliver_all(START + 10 * MINUTE)
    assert outside.kinds == [MessageKind.OPEN]
    (later,) = merged()
    sent = Notification.objects.get(id=later.merged_into)
    assert (sent.status, sent.kind) == ("DELIVERED", MessageKind.OPEN.value)


def test_if_the_first_failed_for_good_the_next_is_sent(project: Project, outside: Outside) -> None:
    down(project, mail(), mail())
    outside.outcome = REFUSED
    (job,) = begin(START)
    delivery.record([(job, REFUSED)], now=START)
    outside.outcome = TAKEN
    deliver_all(START)
    assert outside.kinds == [MessageKind.OPEN]
    assert not merged()
    assert sorted(Notification.objects.filter(kind="alert.open").values_list("status", flat=True)) == [
        "DELIVERED",
        "FAILED",
    ]


def test_while_the_first_is_tried_again_the_next_waits(project: Project, outside: Outside) -> None:
    down(project, mail(), mail())
    outside.outcome = AWAY
    deliver_all(START)
    assert len(outside.sent) == 1
    assert not merged()
    outside.outcome = TAKEN
    for minutes in (1, 2):
        deliver_all(START + minutes * MINUTE)
    assert len(outside.sent) == 2
    assert {message.delivery_id for _, _, message in outside.sent} == {merged()[0].merged_into}


def test_a_worker_that_died_while_it_sent_leaves_one_message(project: Project, outside: Outside) -> None:
    down(project, mail(), mail())
    (job,) = begin(START)
    deliver_all(START)
    assert not outside.sent
    deliver_all(START + MINUTE)
    assert [message.delivery_id for _, _, message in outside.sent] == [job.notification.id]
    assert len(merged()) == 1


@each(
    ("outcome", "is_over_first", "status"),
    [
        (TAKEN, True, "DELIVERED"),
        (TAKEN, False, "DELIVERED"),
        (REFUSED, True, "DROPPED"),
        (AWAY, True, "DROPPED"),
    ],
)
def test_an_alert_that_ends_while_its_message_is_sent_merges_the_others(
    project: Project,
    outside: Outside,
    outcome: Outcome,
    is_over_first: bool,
    status: str,
) -> None:
    outside.sent.clear()
    down(project, mail(), mail())
    (job,) = begin(START)
    later = START + timedelta(seconds=5)
    if is_over_first:
        report(project, later, up=True)
    delivery.record([(job, outcome)], now=later)
    if not is_over_first:
        report(project, later, up=True)
    deliver_all(later + MINUTE)
    first, second = Notification.objects.filter(kind="alert.open").order_by("sequence")
    is_notified = outcome is TAKEN
    reason = NotificationReason.MERGED if is_notified else NotificationReason.ALERT_OVER
    assert (first.status, second.reason) == (status, reason.value)
    assert second.merged_into == (first.id if is_notified else None)
    assert outside.kinds == ([MessageKind.CLOSE] if is_notified else [])
    assert not Notification.objects.filter(status="PENDING").exists()


def test_an_alert_that_ends_before_a_delay_has_passed_merges_nothing(
    project: Project, outside: Outside
) -> None:
    down(project, mail(), mail(delayMin=10))
    deliver_all(START)
    report(project, START + 5 * MINUTE, up=True)
    deliver_all(START + 5 * MINUTE)
    delayed = Notification.objects.get(kind="alert.open", status="DROPPED")
    assert (delayed.reason, delayed.merged_into) == (NotificationReason.ALERT_OVER.value, None)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


def test_two_workers_never_send_it_at_once(project: Project, outside: Outside) -> None:
    down(project, mail(), mail(), mail())
    deliver_all(START)
    report(project, START, up=False, host="db2.example.com")
    jobs = []
    for worker in (WORKER, WORKER + 1, WORKER, WORKER + 1):
        claims = claim(worker=worker, slots=9, clock=lambda: START)
        jobs += list(delivery.decide(claims, now=START))
    assert len(jobs) == 1


def test_two_alerts_are_two_messages(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[mail()])
    down(project, mail())
    deliver_all(START)
    assert outside.kinds == [MessageKind.OPEN] * 2
    assert not merged()


def test_reminders_are_sent_once_and_go_on_if_a_notification_is_removed(
    project: Project, outside: Outside
) -> None:
    config = down(project, mail(intervalMin=60), webhook("http://127.0.0.1:9/a"), mail(intervalMin=60))
    deliver_all(START)
    for hours in (1, 2):
        deliver_all(START + hours * 60 * MINUTE + MINUTE)
    mails = [message.kind for channel, _, message in outside.sent if channel == "EMAIL"]
    assert mails == [MessageKind.OPEN, MessageKind.UPDATE, MessageKind.UPDATE]
    kept = config.settings.order_by("position").last()
    assert kept is not None
    values = {"notifications": [{**mail(intervalMin=60), "id": kept.id}]}
    later = START + 130 * MINUTE
    alert_config_update(config=config, read=lambda _: values, actor=SYSTEM, now=later)
    deliver_all(START + 185 * MINUTE)
    mails = [message.kind for channel, _, message in outside.sent if channel == "EMAIL"]
    assert mails == [MessageKind.OPEN] + [MessageKind.UPDATE] * 3
    report(project, START + 190 * MINUTE, up=True)
    deliver_all(START + 190 * MINUTE)
    mails = [message.kind for channel, _, message in outside.sent if channel == "EMAIL"]
    assert mails[4:] == [MessageKind.CLOSE]


def test_of_different_intervals_the_shorter_decides(project: Project, outside: Outside) -> None:
    down(project, mail(intervalMin=60), mail(intervalMin=20))
    for minutes in range(121):
        deliver_all(START + minutes * MINUTE)
    # The opening, and a reminder every 20 minutes.
    assert len(outside.sent) == 7


def test_each_acknowledgement_is_sent_once(project: Project, outside: Outside) -> None:
    url = "http://127.0.0.1:9/a"
    down(project, webhook(url), webhook(url, delayMin=0, intervalMin=60))
    deliver_all(START)
    alert = Alert.objects.get()
    for minutes in (1, 2):
        now = START + minutes * MINUTE
        alert_acknowledge(
            alert_id=alert.id,
            group_id=project.id,
            until=now + 60 * MINUTE,
            comment=None,
            actor=SYSTEM,
            now=now,
        )
        deliver_all(now)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.ACKNOWLEDGE, MessageKind.ACKNOWLEDGE]


def test_the_message_about_an_event_is_sent_once(project: Project, outside: Outside) -> None:
    make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[mail(), mail()])
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1.example.com", port=27017)
    ingest(project, host_report("db1.example.com"), events=(rollback,))
    evaluate()
    deliver_all(clock.now())
    assert outside.kinds == [MessageKind.INFORM]
    assert [row.kind for row in merged()] == [MessageKind.INFORM.value]


def test_two_configurations_send_their_own_messages_about_an_event(
    project: Project, outside: Outside
) -> None:
    for _ in range(2):
        make_config(project, eventTypeName="HOST_ROLLBACK", notifications=[mail()])
    rollback = EventReport(event_type=EventType.HOST_ROLLBACK, hostname="db1.example.com", port=27017)
    ingest(project, host_report("db1.example.com"), events=(rollback,))
    evaluate()
    deliver_all(clock.now())
    assert outside.kinds == [MessageKind.INFORM, MessageKind.INFORM]
    assert merged() == []


def test_messages_about_an_incident_are_sent_once(project: Project, outside: Outside) -> None:
    make_config(project, notifications=[mail(), mail()], grouping="TOPOLOGY", groupWaitSec=15)
    for number in range(3):
        report(project, START, up=False, host=f"db{number}.example.com")
    for minutes in range(4):
        deliver_all(START + minutes * MINUTE)
    said = [(message.kind, message.thread_key) for _, _, message in outside.sent]
    assert len(said) == len(set(said))
    assert len(merged()) == len(said)


def test_a_merged_message_about_an_incident_keeps_what_its_receiver_has_seen_last(
    project: Project, outside: Outside
) -> None:
    make_config(project, notifications=[mail(), mail(delayMin=10)], grouping="TOPOLOGY", groupWaitSec=15)
    ingest(project, *members(3), now=START - MINUTE)
    evaluate(START - MINUTE)
    for minutes, down_now in ((0, 1), (2, 3)):
        now = START + minutes * MINUTE
        ingest(project, *members(3, down=down_now), now=now)
        evaluate(now)
        deliver_all(now + MINUTE)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]
    deliver_all(START + 10 * MINUTE)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]
    (delayed,) = merged()
    change = Notification.objects.get(kind="alert.update", status="DELIVERED")
    opening = Notification.objects.get(id=delayed.merged_into)
    assert (opening.kind, opening.said_members) == ("alert.open", 1)
    assert (delayed.said_members, delayed.said_root) == (change.said_members, change.said_root)
    assert change.said_members == 3


def test_a_change_that_waits_while_grouping_is_turned_off_is_sent_once(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=[mail(), mail()], grouping="TOPOLOGY", groupWaitSec=15)
    ingest(project, *members(3), now=START - MINUTE)
    evaluate(START - MINUTE)
    ingest(project, *members(3, down=1), now=START)
    evaluate(START)
    deliver_all(START + MINUTE)
    now = START + 2 * MINUTE
    ingest(project, *members(3, down=3), now=now)
    evaluate(now)
    first, second = Notification.objects.filter(part="CHANGE").order_by("sequence")
    second.delete()
    now += timedelta(seconds=1)
    alert_config_update(config=config, read=lambda _: {"grouping": "NONE"}, actor=SYSTEM, now=now)
    deliver_all(now)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]
    sent = Notification.objects.get(id=first.id)
    assert (sent.status, sent.created, len(merged())) == ("DELIVERED", now, 2)


def test_a_window_that_ends_is_followed_by_one_message(project: Project, outside: Outside) -> None:
    values = {"start": START, "end": START + 5 * MINUTE, "alert_types": ["HOST"]}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=START - MINUTE)
    down(project, mail(), mail())
    deliver_all(START + MINUTE)
    assert outside.kinds == []
    deliver_all(START + 5 * MINUTE)
    assert outside.kinds == [MessageKind.OPEN]
    assert len(merged()) == 1


def test_rows_of_before_are_sent_as_ever(project: Project, outside: Outside) -> None:
    """An older version delivered both notifications, and stored no destinations."""
    down(project, mail(), mail())
    deliver_all(START)
    Notification.objects.update(status="DELIVERED", destination="", merged_into=None, delivered=START)
    report(project, START + MINUTE, up=True)
    deliver_all(START + MINUTE)
    assert outside.kinds[:1] == [MessageKind.OPEN]
    assert outside.kinds[1:] == [MessageKind.CLOSE]


def test_the_page_announces_one_reminder_to_one_person(project: Project, outside: Outside) -> None:
    """As delivery sends them: a reminder that is due shortly after another one is not sent."""
    down(project, mail(intervalMin=60), mail(intervalMin=61), mail("bob@example.com", intervalMin=60))
    deliver_all(START)
    reminders = Notification.objects.filter(kind="alert.update", status="PENDING")
    assert reminders.count() == 3
    coming = alert_timeline(Alert.objects.get(), sees_config=True, now=START + MINUTE).coming
    announced = {entry.notification_id for entry in coming}
    sent_before = len(outside.sent)
    for minutes in (60, 61):
        deliver_all(START + minutes * MINUTE)
    delivered = Notification.objects.filter(kind="alert.update", status="DELIVERED")
    assert announced == set(delivered.values_list("id", flat=True))
    assert len(outside.sent) - sent_before == len(announced) == 2


def test_the_page_announces_reminders_to_one_person_that_are_far_apart(
    project: Project, outside: Outside
) -> None:
    down(project, mail(intervalMin=60), mail(intervalMin=600))
    deliver_all(START)
    coming = alert_timeline(Alert.objects.get(), sees_config=True, now=START + MINUTE).coming
    assert [entry.at - START for entry in coming] == [60 * MINUTE, 600 * MINUTE]


def test_a_pending_message_is_compared_at_the_newest_destination_of_its_receiver(project: Project) -> None:
    alert = make_alert(project)
    about = {"alert": alert, "incident_id": alert.id, "subject": alert.target_key}
    first, second = new_id(), new_id()
    for number, place in enumerate(("old", "new")):
        sent = {"destination": place, "sequence": number, "status": "DELIVERED", "delivered": START}
        make_notification(project, setting_id=first, kind="alert.acknowledge", **sent, **about)
    row = make_notification(project, setting_id=first, **about)
    for place in ("old", "new"):
        other = make_notification(project, setting_id=second, destination=place, **about)
        merged_ids = merged_when_due([(other, START), (row, START + MINUTE)], {}, START, ledger=POSTGRESQL)
        assert merged_ids == ({row.id} if place == "new" else set())
