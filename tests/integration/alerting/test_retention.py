"""How long events, alerts and signals that were set aside are kept."""

from datetime import UTC, datetime, timedelta

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.engine import purge, worker
from alerting.engine.purge import FAILED_SIGNALS_KEPT, alerts_trim, events_trim, failed_signals_trim
from alerting.models import Alert, Incident, Notification, NotificationAttempt
from events.log.search import EventSearch, search_page
from events.log.store import EventFilter, event_rows
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.ids import first_id
from tests.each import each
from tests.factories.alerting import make_alert, make_notification
from tests.steps import STEPS

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kept(settings: Settings) -> None:
    """Thirty days of both."""
    settings.OPSAPI_EVENT_RETENTION_DAYS = 30
    settings.OPSAPI_ALERT_RETENTION_DAYS = 30


def make_event(created: datetime) -> Event:
    """An event of that time, under an id of that time."""
    event_id = first_id(created)[:20] + f"{Event.objects.count():04x}"
    return Event.objects.create(
        id=event_id, created=created, event_type="NEW_HOST", details={}, group_id="f" * 24
    )


def make_signal(created: datetime, failed: datetime | None = None) -> Signal:
    """A signal that waits, unless it failed."""
    return Signal.objects.create(created=created, group_id="f" * 24, kind="EVENT", payload={}, failed=failed)


def make_ended(project: Project, ended: datetime, *, notifications: int = 2, **changes: str) -> Alert:
    """An alert that was notified, in two attempts each time, before it ended."""
    values = {"status": "CLOSED", "resolved": ended, "created": ended - DAY, "updated": ended} | changes
    alert = make_alert(project, **values)
    for _ in range(notifications):
        add_attempts(make_notification(project, alert=alert, status="DELIVERED", created=ended))
    return alert


def add_attempts(notification: Notification) -> Notification:
    """Two."""
    for number in (1, 2):
        NotificationAttempt.objects.create(
            notification=notification, number=number, ended=NOW, status="delivered", latency_ms=7
        )
    return notification


def trim_all() -> list[tuple[int, int, int]]:
    """Trim alerts until nothing is left to do; alerts, notifications and attempts after each batch."""
    left: list[tuple[int, int, int]] = []
    for _ in range(100):
        if not alerts_trim(now=NOW):
            return left
        left.append(
            (Alert.objects.count(), Notification.objects.count(), NotificationAttempt.objects.count())
        )
    raise AssertionError("there is no end to it")


class TestEvents:
    """OPSAPI_EVENT_RETENTION_DAYS."""

    @pytest.mark.parametrize(("days", "left"), [(0, 5), (1, 1), (2, 2), (5, 5), (3650, 5)])
    def test_what_is_older_than_the_days_of_the_setting_goes(
        self, settings: Settings, days: int, left: int
    ) -> None:
        settings.OPSAPI_EVENT_RETENTION_DAYS = days
        made = [make_event(NOW - number * DAY) for number in range(1, 6)]
        assert events_trim(now=NOW) is (left < 5)
        assert list(Event.objects.all()) == made[:left]
        assert not events_trim(now=NOW)

    def test_the_oldest_go_first_a_batch_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(purge, "ROWS_AT_ONCE", 2)
        ages = [33, 31, 35, 32, 34, 30]
        made = {age: make_event(NOW - age * DAY) for age in ages}
        left = []
        while events_trim(now=NOW):
            left.append([age for age in ages if made[age] in Event.objects.all()])
        assert left == [[33, 31, 32, 30], [31, 30], [30]]

    def test_an_event_stays_until_it_was_notified(self, project: Project) -> None:
        unnotified, notified, dropped = [make_event(NOW - 40 * DAY) for _ in range(3)]
        pending = make_notification(project, event_id=unnotified.id, kind="alert.inform")
        make_notification(project, event_id=notified.id, kind="alert.inform", status="DELIVERED")
        make_notification(project, event_id=dropped.id, kind="alert.inform", status="DROPPED")
        assert events_trim(now=NOW)
        assert list(Event.objects.all()) == [unnotified]
        assert not events_trim(now=NOW)
        Notification.objects.filter(id=pending.id).update(status="FAILED")
        assert events_trim(now=NOW)
        assert not Event.objects.exists()

    def test_events_whose_signals_wait_stay_until_they_were_evaluated(self) -> None:
        make_event(NOW - 42 * DAY)
        waiting = [make_event(NOW - 40 * DAY), make_event(NOW - 40 * DAY - timedelta(minutes=59))]
        signals = [make_signal(event.created) for event in waiting]
        make_signal(NOW - 41 * DAY, failed=NOW)
        assert events_trim(now=NOW)
        assert set(Event.objects.all()) == set(waiting)
        assert not events_trim(now=NOW)
        for signal in signals:
            signal.delete()
        make_signal(NOW)
        assert events_trim(now=NOW)
        assert not Event.objects.exists()

    @each("step", STEPS, ids=str)
    def test_an_event_of_a_wrong_time_goes_when_it_seems_old_and_is_listed_by_its_time(
        self, step: timedelta
    ) -> None:
        right, wrong = make_event(NOW), make_event(NOW + step)
        order = [wrong, right] if step > timedelta() else [right, wrong]
        listed = search_page(EventSearch(visible_scope=VisibleScope(everything=True)), size=9)
        assert list(listed.events) == order
        assert [row["id"] for row in event_rows(EventFilter(group_id="f" * 24))] == [row.id for row in order]
        goes = wrong.created + 30 * DAY
        for now, is_kept in ((NOW, step > -30 * DAY), (goes, True), (goes + SECOND, False)):
            if now >= NOW:
                events_trim(now=now)
                assert Event.objects.filter(id=wrong.id).exists() is is_kept

    @each("step", STEPS, ids=str)
    def test_an_event_waits_for_a_signal_of_a_wrong_time_only_if_it_lies_behind(
        self, step: timedelta
    ) -> None:
        make_event(NOW - 30 * DAY - HOUR)
        make_signal(NOW - 30 * DAY - HOUR + step)
        assert events_trim(now=NOW) is (step > DAY)
        Signal.objects.all().delete()
        assert events_trim(now=NOW) is (step <= DAY)


class TestAlerts:
    """OPSAPI_ALERT_RETENTION_DAYS."""

    @pytest.mark.parametrize(
        ("days", "ended", "goes"),
        [
            (30, NOW - 30 * DAY, False),
            (30, NOW - 30 * DAY - SECOND, True),
            (30, NOW - 30 * DAY + SECOND, False),
            (1, NOW - 2 * DAY, True),
            (0, NOW - 3000 * DAY, False),
        ],
        ids=str,
    )
    def test_what_ended_longer_ago_than_the_setting_goes_with_its_log(
        self, project: Project, settings: Settings, days: int, ended: datetime, goes: bool
    ) -> None:
        settings.OPSAPI_ALERT_RETENTION_DAYS = days
        for status in ("CLOSED", "CANCELLED"):
            make_ended(project, ended, status=status)
        trim_all()
        left = (Alert.objects.count(), Notification.objects.count(), NotificationAttempt.objects.count())
        assert left == ((0, 0, 0) if goes else (2, 4, 8))

    @each("status", ["TRACKING", "OPEN"])
    def test_what_is_active_stays_however_old_it_is(self, project: Project, status: str) -> None:
        alert = make_alert(project, status=status, created=NOW - 900 * DAY, updated=NOW - 900 * DAY)
        add_attempts(make_notification(project, alert=alert, status="DELIVERED", created=NOW - 900 * DAY))
        assert trim_all() == []
        assert (Alert.objects.count(), NotificationAttempt.objects.count()) == (1, 2)

    def test_an_alert_with_a_waiting_notification_stays(self, project: Project) -> None:
        alert = make_ended(project, NOW - 40 * DAY)
        pending = make_notification(project, alert=alert, kind="alert.close")
        gone = make_ended(project, NOW - 35 * DAY)
        trim_all()
        assert list(Alert.objects.all()) == [alert]
        assert not Notification.objects.filter(alert_id=gone.id).exists()
        assert alert.notifications.count() == 3
        Notification.objects.filter(id=pending.id).update(status="DELIVERED")
        trim_all()
        assert not Alert.objects.exists()

    def test_children_go_first_a_batch_at_a_time(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(purge, "ROWS_AT_ONCE", 3)
        make_ended(project, NOW - 40 * DAY, notifications=2)
        make_ended(project, NOW - 20 * DAY, notifications=1)
        assert trim_all() == [(2, 3, 3), (2, 3, 2), (2, 1, 2), (1, 1, 2), (1, 1, 2)]
        assert Incident.objects.count() == 1

    def test_the_oldest_go_first(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(purge, "ROWS_AT_ONCE", 1)
        made = {age: make_ended(project, NOW - age * DAY, notifications=0) for age in (35, 45, 40)}
        alerts_trim(now=NOW)
        assert set(Alert.objects.all()) == {made[35], made[40]}
        alerts_trim(now=NOW)
        assert set(Alert.objects.all()) == {made[35]}

    def test_the_log_of_one_shot_events_goes_at_the_same_age(self, project: Project) -> None:
        def notified(age: timedelta, **changes: str) -> Notification:
            event_id = first_id(NOW - age)
            values = {"event_id": event_id, "kind": "alert.inform", "status": "DELIVERED"} | changes
            return add_attempts(make_notification(project, **values))

        kept = [notified(30 * DAY), notified(29 * DAY), notified(40 * DAY, status="PENDING")]
        for age, status in ((30 * DAY + SECOND, "DELIVERED"), (50 * DAY, "DROPPED"), (60 * DAY, "FAILED")):
            notified(age, status=status)
        trim_all()
        assert set(Notification.objects.all()) == set(kept)
        assert NotificationAttempt.objects.count() == 6


class TestFailedSignals:
    """What could not be evaluated."""

    def test_they_are_kept_for_a_week(self) -> None:
        old = NOW - 90 * DAY
        make_signal(old, failed=NOW - 7 * DAY - SECOND)
        kept = [make_signal(old, failed=NOW - 7 * DAY), make_signal(old, failed=NOW), make_signal(old)]
        assert failed_signals_trim(now=NOW)
        assert list(Signal.objects.order_by("id")) == kept
        assert not failed_signals_trim(now=NOW)


def test_the_worker_takes_all_of_it_away(project: Project) -> None:
    long_ago = clock.now() - 40 * DAY
    make_event(long_ago)
    make_ended(project, long_ago)
    make_signal(long_ago, failed=long_ago)
    while worker._keep_house(with_history=True):
        pass
    assert not any(
        model.objects.exists() for model in (Event, Alert, Notification, NotificationAttempt, Signal)
    )


@each("step", STEPS, ids=str)
@each("what", ["alert", "incident", "signal"])
def test_what_ended_at_a_wrong_time_is_deleted_when_that_seems_old(
    project: Project, what: str, step: timedelta
) -> None:
    ended = NOW + step
    if what == "signal":
        make_signal(NOW, failed=ended)
    else:
        make_ended(project, ended, notifications=0)
    if what == "incident":
        Alert.objects.all().delete()
        Incident.objects.create(
            id="a" * 24,
            group=project,
            config_id="b" * 24,
            lead_id="c" * 24,
            created=NOW,
            grown=NOW,
            ended=ended,
        )
    model = {"alert": Alert, "incident": Incident, "signal": Signal}[what]
    kept = FAILED_SIGNALS_KEPT if what == "signal" else 30 * DAY
    for now, is_kept in ((NOW, step >= -kept), (ended + kept, True), (ended + kept + SECOND, False)):
        if now >= NOW:
            while failed_signals_trim(now=now) or alerts_trim(now=now):
                """Batch after batch."""
            assert model._default_manager.exists() is is_kept
