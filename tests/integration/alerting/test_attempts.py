"""The attempts of a notification, each with how it ended."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.claims import claim
from alerting.engine.delivery import decide, record
from alerting.engine.leases import LAPSES_AT_MOST, LEASE
from alerting.engine.resend import notification_resend
from alerting.engine.rules import not_retried
from alerting.models import Alert, Destination, Notification, NotificationAttempt, NotificationSetting
from alerting.overview.store import notifications_failing
from alerting.reasons import AttemptFailure, NotificationReason
from alerting.windows.changes import window_create
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.api.principal import SYSTEM, VisibleScope
from opsapi.outbound.errors import NO_ANSWER, UNREACHABLE
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import (
    Outside,
    begin,
    deliver_all,
    deliver_one,
    deliver_round,
    evaluate,
)
from tests.integration.alerting.recipients import GROUP, make_member

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
AWAY = Outcome(DeliveryStatus.RETRY, "the receiver answered 503", 5)
REFUSED = Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 6)
TAKEN = Outcome(DeliveryStatus.DELIVERED, None, 7)
LEASE_MS = 30_000


@pytest.fixture
def due(project: Project) -> None:
    """One notification, due at START."""
    open_alert(project, WEBHOOK)


def open_alert(project: Project, *notifications: Any) -> None:
    """An alert, open from START on, of a configuration with these notifications."""
    make_config(project, notifications=notifications)
    evaluate(START)
    ingest(project, host_report(reachable=False), now=START)
    evaluate(START)


def lapse(times: int) -> None:
    """So many attempts begin, from START on, and none comes to an end."""
    for number in range(times):
        assert begin(START + number * (LEASE + SECOND))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """A low limit of attempts, so that a test that gives up needs no hundred attempts."""
    monkeypatch.setattr("alerting.engine.delivery.LAPSES_AT_MOST", 3)
    return 3


def attempts() -> list[tuple[Any, ...]]:
    """All attempts, in their order."""
    rows = NotificationAttempt.objects.filter(notification__kind="alert.open").order_by("id")
    return list(rows.values_list("number", "ended", "status", "reason", "latency_ms"))


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize("last", [TAKEN, REFUSED], ids=["delivered", "failed"])
def test_every_attempt_is_written_down_with_how_it_ended(outside: Outside, last: Outcome) -> None:
    outside.outcome = AWAY
    deliver_all(START)
    outside.outcome = last
    deliver_all(START + MINUTE)
    assert attempts() == [
        (1, START, "retry", AWAY.reason, 5),
        (2, START + MINUTE, last.status.value, last.reason, last.latency_ms),
    ]


@pytest.mark.usefixtures("due")
def test_where_nobody_was_reached_an_attempt_keeps_when_it_began_and_not_how_long_it_took(
    outside: Outside,
) -> None:
    outside.outcome = Outcome(DeliveryStatus.RETRY, UNREACHABLE, 1_500)
    deliver_all(START)
    assert attempts() == [(1, START - 1.5 * SECOND, "retry", UNREACHABLE, None)]


@pytest.mark.usefixtures("due")
def test_an_attempt_without_an_outcome_is_written_down_when_it_is_taken_up(outside: Outside) -> None:
    begin(START)
    deliver_all(START + LEASE + SECOND)
    assert attempts() == [
        (1, START + LEASE, "retry", AttemptFailure.NO_OUTCOME.value, LEASE_MS),
        (2, START + LEASE + SECOND, "delivered", None, 7),
    ]


@pytest.mark.usefixtures("due")
def test_an_attempt_slower_than_its_lease_is_written_down_once(
    outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_up = START + LEASE + SECOND

    def overtaken(*_: Any, **__: Any) -> Outcome:
        monkeypatch.setattr("alerting.engine.delivery.deliver", outside.deliver)
        deliver_one(taken_up)
        return REFUSED

    monkeypatch.setattr("alerting.engine.delivery.deliver", overtaken)
    deliver_one(START)
    assert [(number, status) for number, _, status, *_ in attempts()] == [(1, "retry"), (2, "delivered")]


@pytest.mark.usefixtures("due")
def test_a_worker_that_leased_a_notification_twice_records_only_the_outcome_of_the_valid_lease() -> None:
    [lapsed] = begin(START)
    resumed = START + LEASE + SECOND
    [current] = begin(resumed)
    record([(lapsed, TAKEN), (current, REFUSED)], now=resumed)
    assert [(number, status) for number, _, status, *_ in attempts()] == [(1, "retry"), (2, "failed")]
    assert Destination.objects.get().answered is None
    assert Alert.objects.get().last_notified is None


@pytest.mark.usefixtures("due")
def test_a_crash_and_a_long_absence_lose_neither_it_nor_its_repeats(outside: Outside) -> None:
    begin(START)
    deliver_all(START + 2 * HOUR)
    deliver_all(START + 4 * HOUR)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]


@pytest.mark.usefixtures("due")
def test_a_crash_of_the_last_try_is_tried_again(outside: Outside) -> None:
    outside.outcome = AWAY
    deliver_all(START)
    begin(START + HOUR - SECOND)
    outside.outcome = TAKEN
    deliver_all(START + HOUR + LEASE)
    assert [(number, status) for number, _, status, *_ in attempts()] == [
        (1, "retry"),
        (2, "retry"),
        (3, "delivered"),
    ]


@pytest.mark.usefixtures("due")
def test_a_crash_and_a_long_absence_do_not_lose_the_end(project: Project, outside: Outside) -> None:
    deliver_all(START)
    ingest(project, host_report(reachable=True), now=START + MINUTE)
    evaluate(START + MINUTE)
    begin(START + MINUTE)
    deliver_all(START + 2 * HOUR)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CLOSE]


def test_a_crash_and_a_long_absence_lose_no_people(project: Project, outside: Outside) -> None:
    make_member(project, "ada")
    open_alert(project, GROUP)
    begin(START)
    deliver_all(START + 2 * HOUR)
    deliver_all(START + 4 * HOUR)
    assert outside.kinds == [MessageKind.OPEN, MessageKind.UPDATE]


@pytest.mark.slow
@pytest.mark.parametrize("notification", [WEBHOOK, GROUP], ids=["service", "people"])
def test_the_next_repeat_follows_what_was_given_up(
    project: Project, outside: Outside, notification: Any
) -> None:
    make_member(project, "ada")
    open_alert(project, notification)
    lapse(LAPSES_AT_MOST)
    deliver_all(START + 2 * HOUR)
    assert outside.sent == []
    deliver_all(START + 3 * HOUR)
    assert outside.kinds == [MessageKind.UPDATE]


@pytest.mark.usefixtures("due")
def test_the_end_follows_an_opening_that_was_given_up(project: Project, outside: Outside, few: int) -> None:
    lapse(few)
    ingest(project, host_report(reachable=True), now=START + HOUR)
    evaluate(START + HOUR)
    deliver_all(START + 2 * HOUR)
    assert outside.kinds == [MessageKind.CLOSE]


@pytest.mark.slow
@pytest.mark.usefixtures("due")
@pytest.mark.parametrize(("lapsed", "sent"), [(LAPSES_AT_MOST - 1, 1), (LAPSES_AT_MOST, 0)])
def test_only_many_attempts_that_lapsed_are_given_up(outside: Outside, lapsed: int, sent: int) -> None:
    lapse(lapsed)
    deliver_one(START + 2 * HOUR)
    assert len(outside.sent) == sent
    given_up = [number for number, *_, reason, _ in attempts() if reason == AttemptFailure.NO_OUTCOME.value]
    assert given_up == list(range(1, lapsed + 1))


@pytest.mark.usefixtures("due")
def test_what_is_sent_once_more_has_its_attempts_again(outside: Outside, few: int) -> None:
    lapse(few)
    now = START + 2 * HOUR
    deliver_all(now)
    notification_resend(notification=Notification.objects.get(kind="alert.open"), actor=SYSTEM, now=now)
    begin(now)
    deliver_all(now + LEASE + SECOND)
    assert outside.kinds == [MessageKind.OPEN]


@pytest.mark.usefixtures("due")
def test_what_was_dropped_was_no_attempt(project: Project, outside: Outside) -> None:
    ingest(project, host_report(reachable=True), now=START)
    evaluate(START)
    deliver_all(START)
    assert attempts() == []


def muted_at_first(project: Project, outside: Outside) -> None:
    """The opening is muted by a window for an hour, and then its first attempt begins and has no outcome."""
    values = {"start": START - MINUTE, "end": START + HOUR, "alert_types": ["HOST"]}
    window = window_create(group_id=project.id, values=values, actor=SYSTEM, now=START)
    open_alert(project, WEBHOOK)
    deliver_all(START)
    assert str(Notification.objects.get().reason).endswith(window.id)
    assert begin(START + HOUR)


def test_a_message_that_began_after_a_window_is_not_shown_as_muted(
    project: Project, outside: Outside
) -> None:
    muted_at_first(project, outside)
    row = Notification.objects.get()
    assert (row.reason, row.silenced_by, row.perhaps_received) == (None, None, True)
    assert notifications_failing(visible_scope=VisibleScope(everything=True), now=START + HOUR).rows == []
    ingest(project, host_report(), now=START + HOUR + MINUTE)
    evaluate(START + HOUR + MINUTE)
    deliver_all(START + HOUR + MINUTE)
    opening = Notification.objects.get(kind="alert.open")
    assert (opening.status, opening.reason) == (
        "FAILED",
        not_retried(NO_ANSWER, NotificationReason.ALERT_OVER),
    )


@pytest.mark.usefixtures("due")
def test_a_message_that_is_given_up_keeps_its_last_failure_and_says_why_it_is_not_retried(
    project: Project, outside: Outside
) -> None:
    outside.outcome = replace(AWAY, perhaps_received=True)
    deliver_all(START)
    later = START + MINUTE
    claimed = claim(worker=1, slots=8, clock=lambda: later)
    ingest(project, host_report(), now=later)
    evaluate(later)
    assert list(decide(claimed, now=later)) == []
    opening = Notification.objects.get(kind="alert.open")
    assert (opening.status, opening.reason) == (
        "FAILED",
        not_retried(str(AWAY.reason), NotificationReason.ALERT_OVER),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "unknown", [{"kind": "alert.later"}, {"channel": "LATER"}, {"channel": "LATER", "type_name": "LATER"}]
)
def test_a_message_of_a_later_version_fails_within_the_hour_of_retries(
    project: Project, outside: Outside, unknown: dict[str, str]
) -> None:
    open_alert(project, {**WEBHOOK, "intervalMin": 5})
    deliver_round(START)
    if "type_name" in unknown:
        NotificationSetting.objects.update(type_name="LATER")
    Notification.objects.update(**unknown)
    for minute in range(0, 70, 2):
        deliver_round(START + minute * MINUTE)
    row = Notification.objects.get(**unknown)
    assert (row.status, row.lease_token, row.perhaps_received) == ("FAILED", None, False)
    assert "cannot be processed" in str(row.reason)


@pytest.mark.usefixtures("due")
def test_a_message_that_failed_and_was_then_muted_fails_without_the_window(
    project: Project, outside: Outside
) -> None:
    outside.outcome = replace(AWAY, perhaps_received=True)
    deliver_all(START)
    values = {"start": START, "end": START + HOUR, "alert_types": ["HOST"]}
    window_create(group_id=project.id, values=values, actor=SYSTEM, now=START)
    deliver_all(START + MINUTE)
    assert Notification.objects.get().silenced_by
    ingest(project, host_report(), now=START + 2 * MINUTE)
    evaluate(START + 2 * MINUTE)
    opening = Notification.objects.get(kind="alert.open")
    assert (opening.status, opening.reason) == (
        "FAILED",
        not_retried(NO_ANSWER, NotificationReason.ALERT_OVER),
    )


def test_a_message_about_a_threshold_beyond_64_bits_is_sent(project: Project, outside: Outside) -> None:
    threshold = {"metricName": "CONNECTIONS", "operator": "LESS_THAN", "threshold": 1e20, "units": "RAW"}
    make_config(project, eventTypeName="OUTSIDE_METRIC_THRESHOLD", metricThreshold=threshold)
    evaluate(START)
    ingest(project, host_report(CONNECTIONS=1.0), now=START)
    evaluate(START)
    deliver_all(START)
    assert outside.kinds == [MessageKind.OPEN]
