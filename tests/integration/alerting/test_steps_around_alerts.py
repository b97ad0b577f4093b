"""The clock steps around times of alerts, signals and messages: each decides what docs/clocks.md says."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import close_over, open_tracked
from alerting.engine.lag import longest_waits
from alerting.engine.leases import worker_seen
from alerting.engine.muting import LOOKS_AGAIN
from alerting.engine.schedule import notifications_bring_forward
from alerting.engine.stored_times import times_repair
from alerting.engine.turns import turn_take
from alerting.engine.worker import Worker
from alerting.engine.workers import LOOP_FAILS_AFTER, failing_loop_words
from alerting.incidents.changes import alert_acknowledge
from alerting.models import (
    Alert,
    AlertConfig,
    EvaluationTurn,
    MaintenanceWindow,
    Notification,
    WorkerHeartbeat,
)
from alerting.reasons import NotificationReason
from alerting.windows.changes import window_create
from alerting.windows.rules import WindowState
from alerting.windows.store import begun, in_state, unexpired
from automation.models import Host
from automation.turns.rules import TURN_LENGTH, TurnState
from automation.turns.store import planned_times
from events.models import Signal
from integrations.channels.outcome import RETRIES_LAST, Outcome
from integrations.choices import DeliveryStatus, MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.clock import AHEAD
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_alert, make_config, make_notification
from tests.factories.automation import host_report, ingest, make_host, make_turn
from tests.integration.alerting.pipeline import (
    Outside,
    deliver_all,
    evaluate,
    mutes_of,
    statuses,
)
from tests.steps import STEPS

pytestmark = pytest.mark.django_db
NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
DAY = timedelta(days=1)
NOTHING = timedelta(0)
LENGTH = 10 * MINUTE


def signal(project: Project, **times: datetime) -> Signal:
    """A signal that changes nothing."""
    return Signal.objects.create(group_id=project.id, kind="HOSTS", payload={"hosts": []}, **times)


@pytest.fixture
def muted(project: Project) -> Notification:
    """A message about a host that was not heard of for years."""
    return message_about(project, make_host(project, observed=NOW - 999 * DAY))


def message_about(project: Project, host: Host) -> Notification:
    """A delayed message about a host, an hour before NOW."""
    config = make_config(project, notifications=[EMAIL])
    times = {"created": NOW - 2 * DAY, "updated": NOW - 2 * DAY, "opens": NOW - HOUR}
    alert = make_alert(project, config_id=config.id, facts={"hostId": host.id}, **times)
    setting_id = config.settings.get().id
    return make_notification(
        project, alert=alert, setting_id=setting_id, created=NOW - 2 * HOUR, due=NOW - HOUR
    )


# --- alerts ---------------------------------------------------------------------------------------


@each("step", STEPS, ids=str)
def test_an_alert_that_is_over_ends_at_the_stored_time(project: Project, step: timedelta) -> None:
    alert = make_alert(project, over=NOW + step, updated=NOW - SECOND)
    assert close_over(now=NOW) == 1
    alert.refresh_from_db()
    assert (alert.status, alert.resolved, alert.over) == ("CLOSED", NOW + step, None)
    assert alert.updated == max(NOW, NOW + step)


@each("step", STEPS, ids=str)
def test_reminders_wait_until_the_chosen_time_or_until_a_user_ends_the_acknowledgement(
    project: Project, outside: Outside, step: timedelta
) -> None:
    make_config(project, notifications=[{**EMAIL, "intervalMin": 5}])
    began = NOW - 10 * MINUTE
    ingest(project, host_report(reachable=False), now=began)
    evaluate(began)
    assert deliver_all(began) == 1
    alert = Alert.objects.get()
    Alert.objects.update(acknowledged_until=NOW + step)
    waits = step > NOTHING
    assert deliver_all(NOW) == (0 if waits else 1)
    row = Notification.objects.get(status="PENDING")
    if not waits:
        assert row.reason is None
        return
    assert (row.due, row.reason) == (NOW + step, NotificationReason.ACKNOWLEDGED.value)
    assert deliver_all(NOW + step - SECOND) == 0
    alert_acknowledge(alert_id=alert.id, group_id=project.id, until=NOW, comment=None, actor=SYSTEM, now=NOW)
    assert deliver_all(NOW) == 1


# --- signals --------------------------------------------------------------------------------------


@each("step", STEPS, ids=str)
def test_a_signal_is_evaluated_at_once_and_has_an_age_only_if_it_lies_behind(
    project: Project, step: timedelta
) -> None:
    config = make_config(project, notifications=[WEBHOOK])
    Signal.objects.all().delete()
    ingest(project, host_report(reachable=False), now=NOW)
    Signal.objects.update(created=NOW + step)
    assert longest_waits(NOW).signal == max(-step, NOTHING)
    evaluate(NOW)
    assert not Signal.objects.exists()
    assert statuses(config) == ["OPEN"]


@each("step", STEPS, ids=str)
def test_an_alert_opens_before_a_waiting_signal_that_lies_ahead(project: Project, step: timedelta) -> None:
    make_alert(project, status="TRACKING", created=NOW - HOUR, updated=NOW - HOUR, opens=NOW)
    signal(project, created=NOW + step)
    assert open_tracked(now=NOW) == (step > NOTHING)
    Signal.objects.all().delete()
    assert open_tracked(now=NOW) == (step < NOTHING)


@each("step", STEPS, ids=str)
def test_an_alert_that_is_over_waits_only_for_signals_that_lie_behind(
    project: Project, step: timedelta
) -> None:
    make_alert(project, over=NOW - HOUR, updated=NOW)
    signal(project, created=NOW + step)
    assert close_over(now=NOW) == (step > NOTHING)
    Signal.objects.all().delete()
    assert close_over(now=NOW) == (step < NOTHING)


@each("step", STEPS, ids=str)
def test_an_alert_begins_and_ends_when_its_signals_were_observed(project: Project, step: timedelta) -> None:
    """The reports arrive by a wrong clock, and the right clock evaluates them."""
    make_config(project, notifications=[EMAIL])
    Signal.objects.all().delete()
    observed = NOW + step
    ingest(project, host_report(reachable=False), now=observed + 5 * SECOND, observed=observed)
    evaluate(NOW)
    alert, message = Alert.objects.get(), Notification.objects.get()
    assert (alert.status, alert.created) == ("OPEN", observed)
    is_ahead = step > NOTHING
    assert message.due == (observed if is_ahead else min(observed + 5 * SECOND, NOW))
    assert notifications_bring_forward(now=NOW) == is_ahead
    ingest(project, host_report(), now=observed + 15 * SECOND, observed=observed + 10 * SECOND)
    evaluate(NOW)
    alert.refresh_from_db()
    assert (alert.status, alert.resolved) == ("CLOSED", observed + 10 * SECOND)


@each("step", STEPS, ids=str)
def test_only_the_order_of_turns_counts(step: timedelta) -> None:
    project, other = sorted([ProjectFactory.create(), ProjectFactory.create()], key=lambda row: row.id)
    for row in (project, other):
        signal(row, created=NOW)
        EvaluationTurn.objects.create(group_id=row.id, served=NOW)
    EvaluationTurn.objects.filter(group_id=project.id).update(served=NOW + step)
    order = [project.id, other.id] if step < NOTHING else [other.id, project.id]
    for now in (NOW, NOW - DAY, NOW + SECOND):
        taken = [turn_take(now=now), turn_take(now=now)]
        assert [turn.group_id for turn in taken if turn] == order


# --- messages -------------------------------------------------------------------------------------


@each("step", STEPS, ids=str)
def test_the_end_of_an_alert_has_the_texts_of_a_configuration_that_was_changed_at_a_wrong_time(
    project: Project, outside: Outside, step: timedelta
) -> None:
    outside.sent.clear()
    make_config(project, notifications=[EMAIL], description="look at the disks")
    AlertConfig.objects.update(updated=NOW + step)
    times_repair(clock=lambda: NOW)
    for minutes, is_reachable in ((2, False), (3, True)):
        now = NOW + minutes * MINUTE
        ingest(project, host_report(reachable=is_reachable), now=now)
        evaluate(now)
        deliver_all(now)
    assert [message.kind for _, _, message in outside.sent] == [MessageKind.OPEN, MessageKind.CLOSE]
    assert {message.description for _, _, message in outside.sent} == {"look at the disks"}


@each("step", STEPS, ids=str)
def test_a_message_is_tried_for_an_hour_at_the_longest(
    project: Project, outside: Outside, step: timedelta
) -> None:
    began = NOW + step
    make_config(project, notifications=[EMAIL])
    ingest(project, host_report(reachable=False), now=NOW - SECOND)
    evaluate(NOW - SECOND)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    Notification.objects.update(first_attempt=began, attempts=1)
    assert deliver_all(NOW) == 1
    ended = "FAILED" if step <= -RETRIES_LAST else "PENDING"
    assert notifications_bring_forward(now=NOW) == (step > NOTHING)
    # The hour begins again when a time that lies ahead is replaced.
    end = min(began, NOW) + RETRIES_LAST
    for now, status in ((NOW, ended), (max(end, NOW), "FAILED")):
        Notification.objects.filter(status="PENDING").update(due=now)
        deliver_all(now)
        assert Notification.objects.get(kind="alert.open").status == status


@each("step", STEPS, ids=str)
def test_a_delayed_message_that_waits_for_a_report_is_decided_again(
    muted: Notification, outside: Outside, step: timedelta
) -> None:
    """The clock is wrong while a message of the right clock is due."""
    wrong = NOW + step
    before = min(NOW, wrong)
    Alert.objects.update(created=before - DAY)
    Notification.objects.update(created=before - 2 * HOUR, due=before - HOUR)
    assert deliver_all(wrong, absent_since=wrong - MINUTE) == 0
    muted.refresh_from_db()
    held_back = wrong + LOOKS_AGAIN
    assert (muted.due, muted.reason) == (held_back, NotificationReason.UNCONFIRMED.value)
    times_repair(clock=lambda: NOW)
    muted.refresh_from_db()
    assert muted.due == (NOW if held_back > NOW + AHEAD else held_back)


DAILY = {"rrule": "FREQ=DAILY", "timeZone": "UTC"}


@each("recurrence", [None, DAILY], ids=["once", "daily"])
@each("step", STEPS, ids=str)
def test_a_message_that_a_window_of_a_wrong_time_holds_back_is_decided_again(
    project: Project,
    muted: Notification,
    outside: Outside,
    recurrence: Mapping[str, Any] | None,
    step: timedelta,
) -> None:
    wrong = NOW + step
    start = wrong - 30 * SECOND
    first = start - 800 * DAY if recurrence else start
    make_window(project, start=first, end=first + MINUTE, recurrence=recurrence)
    Notification.objects.update(due=min(NOW, wrong), created=min(NOW, wrong) - HOUR)
    assert deliver_all(wrong) == 0
    muted.refresh_from_db()
    assert (muted.due, bool(muted.silenced_by)) == (start + MINUTE, True)
    times_repair(clock=lambda: NOW)
    muted.refresh_from_db()
    # An end that is near can be the end of the window of now.
    stays = step <= (HOUR if recurrence else AHEAD)
    assert muted.due == (start + MINUTE if stays else NOW)


@each("step", STEPS, ids=str)
def test_a_message_that_a_window_of_now_holds_back_stays_until_its_end(
    project: Project, muted: Notification, outside: Outside, step: timedelta
) -> None:
    """A window ends when its user chose, and `last_end` follows from that."""
    recurrence = {**DAILY, "rrule": "FREQ=DAILY;COUNT=2"}
    window = make_window(project, start=NOW - MINUTE, end=NOW + MINUTE, recurrence=recurrence)
    once = make_window(project, start=NOW + step, end=NOW + step + MINUTE)
    assert (window.last_end, once.last_end) == (NOW + MINUTE + DAY, None)
    assert (once.start, once.end) == (NOW + step, NOW + step + MINUTE)
    assert deliver_all(NOW) == 0
    assert times_repair(clock=lambda: NOW) == 0
    muted.refresh_from_db()
    assert (muted.due, muted.silenced_by) == (NOW + MINUTE, window.id)


WINDOWS = MaintenanceWindow.objects


@each("step", STEPS, ids=str)
def test_a_window_begins_and_ends_when_its_user_chose(
    project: Project, muted: Notification, step: timedelta
) -> None:
    ends = make_window(project, start=NOW - 999 * DAY, end=NOW + step)
    begins = make_window(project, start=NOW + step, end=NOW + 999 * DAY)
    last = make_window(project, start=NOW - 999 * DAY - HOUR, end=NOW - 999 * DAY, recurrence=DAILY)
    WINDOWS.filter(id=last.id).update(last_end=NOW + step)
    times_repair(clock=lambda: NOW)
    ahead = step > NOTHING
    assert {row.id for row in WINDOWS.filter(begun(NOW))} == ({ends.id, last.id} if ahead else {begins.id})
    of_kind = WINDOWS.filter(id__in=[ends.id, begins.id])
    active = {row.id for row in WINDOWS.filter(in_state(of_kind, WindowState.ACTIVE, NOW))}
    assert active == {ends.id if ahead else begins.id}
    assert {row.id for row in WINDOWS.exclude(unexpired(NOW))} == (set() if ahead else {ends.id, last.id})
    [mute] = mutes_of([muted], now=NOW).values()
    assert (mute.window_id, mute.until) == ((ends.id, ends.end) if ahead else (begins.id, begins.end))


def make_window(project: Project, **values: Any) -> MaintenanceWindow:
    """A window for hosts."""
    values = {"alert_types": ["HOST"], **values}
    return window_create(group_id=project.id, values=values, actor=SYSTEM, now=values["start"])


# --- plans ----------------------------------------------------------------------------------------


@each("state", [TurnState.HELD, TurnState.EXPIRED, TurnState.DONE])
@each("is_renewed", [False, True])
@each("step", STEPS, ids=str)
def test_effects_of_a_move_are_planned_no_longer_than_the_move_takes(
    project: Project, state: TurnState, is_renewed: bool, step: timedelta
) -> None:
    """A clock that is wrong gives the turn, and the right clock or the wrong clock renews or ends it."""
    began, renewed = NOW + step, NOW if is_renewed else NOW + step
    ended = None if state is TurnState.HELD else renewed
    host = make_host(project)
    make_turn(
        project,
        host_id=host.id,
        granted=began,
        until=began + LENGTH,
        expires=renewed + TURN_LENGTH,
        ended=ended,
        state=state.value,
    )
    times_repair(clock=lambda: NOW)
    assert all(turn.until <= NOW + LENGTH + AHEAD for turn in planned_times([project.id], NOW))
    assert planned_times([project.id], NOW + LENGTH + AHEAD) == []
    if step < -LENGTH:
        assert planned_times([project.id], NOW) == []


@each("step", STEPS, ids=str)
def test_a_message_that_a_plan_of_a_wrong_time_holds_back_is_decided_again(
    project: Project, muted: Notification, outside: Outside, step: timedelta
) -> None:
    wrong = NOW + step
    host_id = Host.objects.get().id
    times = {"granted": wrong, "until": wrong + LENGTH, "expires": wrong + TURN_LENGTH}
    turn = make_turn(project, host_id=host_id, **times)
    Alert.objects.update(created=wrong, updated=wrong)
    Notification.objects.update(due=min(NOW, wrong), created=min(NOW, wrong) - HOUR)
    assert deliver_all(wrong) == 0
    muted.refresh_from_db()
    assert (muted.due, muted.reason) == (wrong + LENGTH, NotificationReason.PLANNED.value)
    times_repair(clock=lambda: NOW)
    muted.refresh_from_db()
    turn.refresh_from_db()
    assert muted.due == (NOW if step > AHEAD else wrong + LENGTH)
    assert turn.until == (NOW if step > AHEAD else wrong + LENGTH)


# --- workers --------------------------------------------------------------------------------------


@each("step", STEPS, ids=str)
def test_the_next_heartbeat_corrects_since_when_a_loop_fails(step: timedelta) -> None:
    worker = Worker("host:1")
    worker._failing["evaluate"] = clock.steady() - LOOP_FAILS_AFTER.total_seconds() - 1
    for at in (NOW + step, NOW):
        worker_seen(name=worker.name, now=at, failing=worker._longest_failing(at))
        row = WorkerHeartbeat.objects.get()
        assert row.failing_since is not None
        assert LOOP_FAILS_AFTER < at - row.failing_since < 10 * LOOP_FAILS_AFTER
        assert "evaluate" in (failing_loop_words(at) or "")
