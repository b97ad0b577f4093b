"""The clock of the database steps: times that were stored meanwhile decide nothing once it is right again."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db.models import Model

from accesslist.invitations.rules import LASTS
from accesslist.kiosks.rules import LONGEST
from accesslist.models import DigestUse, Invitation, Kiosk, Project, RateWindow, SecondFactor
from accesslist.purge import expired_rows_purge
from accesslist.throttles import RATE_WINDOW, hit
from alerting.destinations.changes import destinations_record
from alerting.engine import stored_times
from alerting.engine.claims import claim
from alerting.engine.leases import LEASE, leases_prolong, worker_seen, worker_stuck
from alerting.engine.memory import MemoryLedger
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.queues import claim_candidates
from alerting.engine.rules import recent_since
from alerting.engine.stored_times import REPAIRS, times_repair
from alerting.engine.workers import workers_seen
from alerting.models import (
    Alert,
    Destination,
    Notification,
    NotificationAttempt,
    UnreachableHost,
    WorkerHeartbeat,
)
from automation.agents.changes import heartbeats_sweep
from automation.leases.rules import Lease, LeaseWatcher, holder_of
from automation.models import (
    Agent,
    FleetWatch,
    Host,
    HostLease,
    PlanTurn,
    ProcessStatus,
    ReportAnswer,
    WaitingMove,
    Watcher,
)
from automation.turns.rules import TURN_LENGTH
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi.clock import AHEAD
from opsapi.ids import new_id
from opsapi.sql import database_time
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory, make_entry
from tests.factories.alerting import make_alert, make_config, make_destination, make_notification
from tests.factories.automation import host_report, ingest, make_agent, make_host, make_turn
from tests.factories.integrations import make_integration
from tests.steps import STEPS

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)

Make = Callable[[Project, datetime], Model]


def _watcher(project: Project, at: datetime) -> Watcher:
    agent = make_agent(project)
    interval = 10 * SECOND
    return Watcher.objects.create(
        group=project, agent=agent, instance="1", interval=interval, asked=at, until=at + 25 * SECOND
    )


def _lease(project: Project, at: datetime) -> HostLease:
    return HostLease.objects.create(
        group=project, hostname="db1", port=27017, since=at, created=at, free_from=at
    )


def _slowed(project: Project, at: datetime) -> Destination:
    return make_destination(project, slowed=at)


def _destination(project: Project, at: datetime) -> Destination:
    return make_destination(project, tried=at, updated=at, next_try=at + MINUTE, paused_until=at + MINUTE)


def _invitation(project: Project, at: datetime) -> Model:
    return Invitation.objects.create(
        project=project,
        roles=["GROUP_READ_ONLY"],
        email_address="new@example.com",
        token_hash=new_id(),
        inviter_kind="USER",
        inviter_id=new_id(),
        inviter_name="owner",
        created=at,
        expires=at + LASTS,
    )


def _kiosk(project: Project, at: datetime) -> Model:
    values = {"desc": "hall", "token_hash": new_id(), "created": at, "expires": at + LONGEST}
    return Kiosk.objects.create(project=project, creator=UserFactory.create(), **values)


def _status(project: Project, at: datetime) -> ProcessStatus:
    values = {"name": "orders", "hostname": "db1", "goal_version": 1}
    return ProcessStatus.objects.create(group=project, reported=at, **values)


def _answer(project: Project, at: datetime) -> ReportAnswer:
    return ReportAnswer.objects.create(id="0" * 32, body="", answer="", created=at)


def _used_nonce(project: Project, at: datetime) -> DigestUse:
    return DigestUse.objects.create(nonce="nonce", nc="00000001", used=at)


def _factor(project: Project, at: datetime) -> SecondFactor:
    return SecondFactor.objects.create(user=UserFactory.create(), secret="secret", created=at)


def _entry(project: Project, at: datetime) -> Model:
    return make_entry("192.0.2.0/24", last_used=at)


def _stuck_worker(project: Project, at: datetime) -> WorkerHeartbeat:
    worker_stuck(name="host:1", loop="evaluate", now=at)
    return WorkerHeartbeat.objects.get()


def _config(project: Project, at: datetime) -> Model:
    config = make_config(project)
    config.deleted = at
    config.save()
    return config


def _changed_config(project: Project, at: datetime) -> Model:
    config = make_config(project)
    config.updated = at
    config.save()
    return config


def _unreachable(project: Project, at: datetime) -> UnreachableHost:
    host = f"http://{new_id()}:80"
    return UnreachableHost.objects.create(host=host, failures=1, since=at, next_try=at + 10 * SECOND)


def _integration(project: Project, at: datetime) -> Model:
    integration = make_integration(project)
    integration.updated = at
    integration.save()
    return integration


def _failed_test(project: Project, at: datetime) -> Model:
    integration = make_integration(project)
    integration.test_failed = at
    integration.save()
    return integration


def _delayed(project: Project, at: datetime) -> Notification:
    return make_notification(project, created=at, due=at + 30 * MINUTE)


def _retried(project: Project, at: datetime) -> Notification:
    began = database_time() - SECOND
    row = make_notification(
        project, created=began, first_attempt=began, attempts=1, due=max(at, began) + 10 * MINUTE
    )
    NotificationAttempt.objects.create(notification=row, number=1, ended=at, status="RETRY")
    return row


def _tracking(project: Project, at: datetime) -> Alert:
    return make_alert(project, status="TRACKING", created=at, updated=at, opens=at + 30 * MINUTE)


def _turn(project: Project, at: datetime) -> PlanTurn:
    return make_turn(project, granted=at, expires=at + TURN_LENGTH, until=at + 10 * MINUTE)


def _waiting_move(project: Project, at: datetime) -> WaitingMove:
    return WaitingMove.objects.create(
        group=project, process="p1", move="RESTART", reason="TURN", since=at, began=at, asked=at
    )


ROWS: Mapping[tuple[str, str], tuple[Make, str, timedelta]] = {
    ("automation_planturn", "expires"): (_turn, "expires", timedelta(0)),
    ("automation_planturn", "ended"): (
        lambda project, at: make_turn(project, granted=at, ended=at),
        "ended",
        timedelta(0),
    ),
    ("automation_planturn", "granted"): (
        lambda project, at: make_turn(project, granted=at, expires=database_time()),
        "granted",
        timedelta(0),
    ),
    ("automation_waitingmove", "asked"): (_waiting_move, "asked", timedelta(0)),
    ("automation_waitingmove", "began"): (_waiting_move, "began", timedelta(0)),
    ("automation_agent", "last_report"): (
        lambda project, at: make_agent(project, last_report=at),
        "last_report",
        timedelta(0),
    ),
    ("automation_agent", "returned"): (
        lambda project, at: make_agent(project, returned=at),
        "returned",
        timedelta(0),
    ),
    ("automation_host", "last_report"): (
        lambda project, at: make_host(project, last_report=at),
        "last_report",
        timedelta(0),
    ),
    ("automation_agent", "observed"): (
        lambda project, at: make_agent(project, observed=at),
        "observed",
        timedelta(0),
    ),
    ("automation_agent", "waiting_observed"): (
        lambda project, at: make_agent(project, waiting_observed=at),
        "waiting_observed",
        timedelta(0),
    ),
    ("automation_agent", "waiting_since"): (
        lambda project, at: make_agent(project, waiting_since=at),
        "waiting_since",
        timedelta(0),
    ),
    ("automation_host", "observed"): (
        lambda project, at: make_host(project, observed=at),
        "observed",
        timedelta(0),
    ),
    ("automation_host", "measured"): (
        lambda project, at: make_host(project, measured=at),
        "measured",
        timedelta(0),
    ),
    ("automation_host", "unmeasured_since"): (
        lambda project, at: make_host(project, unmeasured_since=at),
        "unmeasured_since",
        timedelta(0),
    ),
    ("automation_watcher", "until"): (_watcher, "until", timedelta(0)),
    ("automation_watcher", "asked"): (_watcher, "asked", timedelta(0)),
    ("automation_hostlease", "free_from"): (_lease, "free_from", timedelta(0)),
    ("automation_hostlease", "since"): (_lease, "since", timedelta(0)),
    ("automation_reportanswer", "created"): (_answer, "created", timedelta(0)),
    ("automation_processstatus", "reported"): (_status, "reported", timedelta(0)),
    ("accesslist_accesslistentry", "last_used"): (_entry, "last_used", timedelta(0)),
    ("accesslist_digestuse", "used"): (_used_nonce, "used", timedelta(0)),
    ("accesslist_secondfactor", "created"): (_factor, "created", timedelta(0)),
    ("accesslist_invitation", "expires"): (_invitation, "expires", LASTS),
    ("accesslist_kiosk", "expires"): (_kiosk, "expires", LONGEST),
    ("alerting_workerheartbeat", "stuck"): (_stuck_worker, "stuck", timedelta(0)),
    ("alerting_notification", "created"): (_delayed, "due", 30 * MINUTE),
    ("alerting_notification", "due"): (_retried, "due", timedelta(0)),
    ("alerting_alert", "updated"): (
        lambda project, at: make_alert(project, over=database_time(), updated=at),
        "updated",
        timedelta(0),
    ),
    ("alerting_alert", "created"): (_tracking, "opens", 30 * MINUTE),
    ("alerting_destination", "tried"): (_destination, "tried", timedelta(0)),
    ("alerting_destination", "slowed"): (_slowed, "slowed", timedelta(0)),
    ("alerting_destination", "updated"): (_destination, "updated", timedelta(0)),
    ("alerting_destination", "answered"): (
        lambda project, at: make_destination(project, answered=at),
        "answered",
        timedelta(0),
    ),
    ("alerting_destination", "failing_since"): (
        lambda project, at: make_destination(project, failing_since=at),
        "failing_since",
        timedelta(0),
    ),
    ("alerting_alertconfig", "deleted"): (_config, "deleted", timedelta(0)),
    ("alerting_alertconfig", "updated"): (_changed_config, "updated", timedelta(0)),
    ("alerting_unreachablehost", "next_try"): (_unreachable, "next_try", timedelta(0)),
    ("alerting_unreachablehost", "since"): (_unreachable, "since", timedelta(0)),
    ("integrations_integration", "updated"): (_integration, "updated", timedelta(0)),
    ("integrations_integration", "test_failed"): (_failed_test, "test_failed", timedelta(0)),
}
"""For each repair: a row that was written at a time, the column that decides, and its distance from the time
of the repair."""
_TOLERATED = {
    ("automation_hostlease", "free_from"): timedelta(days=1),
    ("alerting_notification", "created"): 5 * MINUTE,
    ("alerting_alert", "created"): 5 * MINUTE,
}
"""What may lie ahead by more than a minute."""


def test_every_repair_has_a_row() -> None:
    assert {(repair.table, repair.column) for repair in REPAIRS} == set(ROWS)


@each("step", STEPS, ids=str)
def test_a_time_that_lies_ahead_counts_from_the_moment_of_its_repair(db: None, step: timedelta) -> None:
    now = database_time()
    rows = {place: make(ProjectFactory.create(), now + step) for place, (make, _, _) in ROWS.items()}
    stored = {place: _time_of(row, place) for place, row in rows.items()}
    times_repair(clock=lambda: now)
    expected = {
        place: now + distance if step > AHEAD + _TOLERATED.get(place, timedelta(0)) else stored[place]
        for place, (_, _, distance) in ROWS.items()
    }
    assert {
        place: _time_of(type(row)._base_manager.get(pk=row.pk), place) for place, row in rows.items()
    } == expected


def _time_of(row: Model, place: tuple[str, str]) -> datetime:
    _, column, _ = ROWS[place]
    found: datetime = getattr(row, column)
    return found


def test_a_worker_that_was_suspended_repairs_nothing(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = database_time()
    before = now - 5 * MINUTE
    agent = make_agent(project, last_report=now)
    monkeypatch.setattr(stored_times, "database_time", lambda: before)
    assert times_repair(clock=lambda: before) == 0
    assert Agent.objects.get(id=agent.id).last_report == now


def test_a_repair_is_said_once(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    now = database_time()
    make_agent(project, last_report=now + timedelta(days=1))
    assert [times_repair(clock=lambda: now), times_repair(clock=lambda: now)] == [1, 0]
    [said] = caplog.records
    assert said.args == (1, "automation_agent", "last_report")


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_death_is_noticed_within_its_time_plus_a_minute_after_a_step(
    project: Project, step: timedelta
) -> None:
    """The clock is wrong for a minute, and the agent reports meanwhile. It dies when the clock is right."""
    # The database accepts no start of the clocks in the future: what lies ahead is the present.
    right = database_time() - max(step, timedelta(0)) - 10 * MINUTE
    wrong = right + step

    def sweep(at: datetime) -> None:
        times_repair(clock=lambda: at)
        heartbeats_sweep(clock=lambda: at)

    for seconds in range(0, 300, 15):
        before = right - 300 * SECOND + seconds * SECOND
        ingest(project, host_report(), now=before)
        sweep(before)
    for seconds in range(0, 60, 15):
        ingest(project, host_report(), now=wrong + seconds * SECOND)
        sweep(wrong + seconds * SECOND)
    assert not Agent.objects.filter(down=True).exists()
    died = right + 60 * SECOND
    for seconds in range(0, 300 + 15, 15):
        sweep(died + seconds * SECOND)
    assert Agent.objects.filter(down=True).exists()


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_rate_window_that_lies_ahead_refuses_nobody(step: timedelta) -> None:
    now = database_time()
    for _ in range(5):
        hit("bucket", limit=3, window=RATE_WINDOW, now=now + step)
    found = hit("bucket", limit=3, window=RATE_WINDOW, now=now)
    longest = 2 * RATE_WINDOW.total_seconds()
    assert found.wait is None or (step == AHEAD and found.wait <= longest)
    later = [
        hit("bucket", limit=3, window=RATE_WINDOW, now=now + minute * MINUTE).wait for minute in range(3, 60)
    ]
    assert set(later) == {None}


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_rate_windows_that_lie_ahead_are_deleted(step: timedelta) -> None:
    now = database_time()
    RateWindow.objects.create(bucket="bucket", started=now + step, count=1)
    expired_rows_purge(now=now)
    assert RateWindow.objects.exists() is (-10 * MINUTE <= step <= AHEAD)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_hosts_of_a_watcher_that_does_not_ask_are_free(project: Project, step: timedelta) -> None:
    now = database_time()
    watcher = _watcher(project, now + step)
    for seconds in range(0, 90, 15):
        times_repair(clock=partial(datetime.__add__, now, seconds * SECOND))
    watcher.refresh_from_db()
    known = {watcher.id: LeaseWatcher(watcher.asked, watcher.interval, watcher.until)}
    assert holder_of(Lease(watcher.id), known, now + 90 * SECOND) is None


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_worker_that_died_while_the_clock_was_wrong_is_not_seen(step: timedelta) -> None:
    now = database_time()
    worker_seen(name="dead:1", now=now + step)
    worker_seen(name="here:1", now=now + 2 * MINUTE + SECOND)
    assert [row.name for row in workers_seen(now + 2 * MINUTE + SECOND)] == ["here:1"]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_start_of_the_clocks_is_never_a_step_away(project: Project, step: timedelta) -> None:
    right = database_time() - max(step, timedelta(0))
    for at in (right + step, right):
        heartbeats_sweep(clock=lambda: at)  # noqa: B023 - called at once
    watch = FleetWatch.objects.get()
    assert abs(watch.counting_since - right) <= AHEAD


@each("step", STEPS, ids=str)
@each("column", ["tried", "updated"])
def test_a_pause_of_a_wrong_clock_keeps_no_message_back(
    project: Project, column: str, step: timedelta
) -> None:
    now = database_time()
    pause = now + step + MINUTE
    place = make_destination(project, **{column: now + step}, next_try=pause, paused_until=pause)
    make_notification(project, destination=place.id, due=now)
    times_repair(clock=lambda: now)
    waits = step == AHEAD
    assert bool(claim_candidates(now=now)) is not waits
    accepted = Outcome(DeliveryStatus.DELIVERED, None, 5)
    destinations_record(ended=[(place.id, now, accepted)], now=now, ledger=POSTGRESQL)
    place.refresh_from_db()
    assert place.next_try == place.paused_until == (pause if waits else None)


@each("step", STEPS, ids=str)
def test_another_worker_takes_over_a_lease_of_a_wrong_clock(project: Project, step: timedelta) -> None:
    now = database_time()
    row = make_notification(project, destination=make_destination(project).id, due=now + min(STEPS))
    assert claim(worker=1, slots=1, clock=lambda: now + step)
    assert [leased.id for leased in claim(worker=2, slots=1, clock=lambda: now)] == [row.id]
    row.refresh_from_db()
    assert (row.worker, row.leased, row.lease_until) == (2, now, now + LEASE)


@each("step", STEPS, ids=str)
def test_a_request_that_began_ahead_holds_a_slot_until_its_lease_ends(
    project: Project, step: timedelta
) -> None:
    now = database_time()
    first, second = (
        make_notification(project, destination=make_destination(project).id, due=now + due)
        for due in (min(STEPS), timedelta(0))
    )
    leased = claim(worker=1, slots=1, clock=lambda: now + step)
    assert leases_prolong(leased, now=now) == {first.id}
    free = [] if step > timedelta(0) else [second.id]
    assert [row.id for row in claim(worker=1, slots=1, clock=lambda: now)] == free
    later = now + LEASE + SECOND
    assert [row.id for row in claim(worker=2, slots=1, clock=lambda: later)] == [first.id]


@each("step", STEPS, ids=str)
def test_only_a_message_that_seems_recent_holds_back_a_reminder(project: Project, step: timedelta) -> None:
    now = database_time()
    row = make_notification(
        project, alert=make_alert(project), status="DELIVERED", delivered=now + step, destination="place"
    )
    memory = MemoryLedger()
    memory.insert([row])
    since = recent_since(timedelta(hours=1), now)
    for ledger in (POSTGRESQL, memory):
        recent = ledger.recent_recipients(row.setting_id, [str(row.alert_id)], since=since, now=now)
        assert bool(list(recent)) is (abs(step) == MINUTE)


def test_a_report_at_the_right_time_ends_the_wrong_time_of_its_host(project: Project) -> None:
    now = database_time()
    ingest(project, host_report(), now=now + timedelta(days=1))
    ingest(project, host_report(), now=now)
    times_repair(clock=lambda: now)
    assert Host.objects.get().last_report == now
