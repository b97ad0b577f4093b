"""The worker's threads: how they wake, and that nothing stops them."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection
from psycopg import Connection
from pytest_django import Settings

from accesslist.digest.rules import NONCE_LIFETIME
from accesslist.models import DigestEpoch, DigestUse, Project, RateWindow
from accesslist.purge import expired_rows_purge
from alerting.configs.changes import alert_config_delete
from alerting.engine import worker as worker_module
from alerting.engine.leases import worker_seen, worker_stuck
from alerting.engine.worker import Wakeups, Worker, own_connection
from alerting.engine.workers import failing_loop_words, workers_seen, workers_stuck, wrong_clocks
from alerting.models import Alert, NotificationSetting, WorkerHeartbeat
from automation.models import Agent, FleetWatch
from events.choices import Work
from events.models import Signal
from events.outbox.changes import wake_workers
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.database_clock import database_clock
from opsapi.ids import new_id
from opsapi.sql import database_time
from tests.eventually import eventually
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest


def in_thread(work: Callable[[], None]) -> threading.Thread:
    """Started; the test joins it."""
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_wake_up_that_came_while_working_is_not_missed() -> None:
    wakeups = Wakeups()
    seen = wakeups.count
    wakeups.wake()
    wakeups.wait(seen, seconds=3600)
    assert wakeups.count == seen + 1


def test_a_wake_up_ends_the_wait() -> None:
    wakeups = Wakeups()
    waiter = in_thread(lambda: wakeups.wait(wakeups.count, seconds=3600))

    def woken() -> bool:
        wakeups.wake()
        return not waiter.is_alive()

    eventually(woken)
    waiter.join()


@pytest.mark.parametrize(
    ("work", "signals", "messages"),
    [(Work.SIGNALS, 1, 0), (Work.MESSAGES, 0, 1), ("", 1, 1), ("of a later version", 1, 1)],
)
def test_a_notice_wakes_the_threads_whose_work_it_names(work: str, signals: int, messages: int) -> None:
    worker = Worker("test")
    worker._wake(work)
    assert (worker._signals.count, worker._messages.count) == (signals, messages)


@pytest.mark.parametrize(
    ("found", "gather"),
    [
        (1, worker_module.GATHER_SECONDS),
        (2, worker_module.GATHER_SECONDS),
        (3, worker_module.GATHER_MORE_SECONDS),
        (15, worker_module.GATHER_MORE_SECONDS),
        (16, worker_module.GATHER_SECONDS),
    ],
)
def test_steps_begin_apart_so_that_what_comes_close_together_is_done_together(
    found: int, gather: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker("host:1")
    times = iter([10.0, 10.005, 20.0, 20.5])
    waited: list[float] = []
    steps = [found, found]

    def wait(seconds: float) -> bool:
        waited.append(round(seconds, 3))
        return False

    def step() -> int:
        if len(steps) == 1:
            worker._stopping.set()
        return steps.pop()

    monkeypatch.setattr("alerting.engine.worker.time", SimpleNamespace(monotonic=lambda: next(times)))
    monkeypatch.setattr(worker._stopping, "wait", wait)
    monkeypatch.setattr(connection, "close", lambda: None)
    worker._repeat(step, worker._signals, gather_more=worker_module.GATHER_MORE)
    # Of the second step more time has passed already.
    assert waited == [round(gather - 0.005, 3), round(gather - 0.5, 3)]


@pytest.mark.parametrize("error", [OperationalError("gone"), RuntimeError("a bug")])
def test_a_step_that_fails_is_logged_and_does_not_end_the_worker(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(connection, "close", lambda: closed.append(True))

    def fail() -> bool:
        raise error

    with caplog.at_level(logging.ERROR, "opsapi.worker"):
        assert Worker("test")._guarded(fail) == 0
    assert closed
    assert "failed" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_that_the_database_is_away_is_logged_once_until_a_step_succeeds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    worker = Worker("test")

    def fail() -> bool:
        connection.close()
        raise OperationalError("gone")

    for steps, lines in (([fail, fail, fail], 1), ([lambda: True, fail, fail], 1)):
        caplog.clear()
        for step in steps:
            worker._guarded(step)
        assert len(caplog.records) == lines


@pytest.mark.django_db
def test_a_worker_is_seen_and_the_long_gone_are_forgotten() -> None:
    now = clock.now()
    worker_seen(name="old:1", now=now - timedelta(days=2))
    worker_seen(name="new:1", now=now)
    worker_seen(name="new:1", now=now)
    assert list(WorkerHeartbeat.objects.values_list("name", flat=True)) == ["new:1"]


@pytest.mark.django_db
def test_keeping_house_removes_secrets_and_traces_whatever_fails_after(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(project)
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())
    DigestUse.objects.create(nonce="nonce", nc="00000001", used=clock.now() - 3 * NONCE_LIFETIME)
    assert NotificationSetting.objects.exclude(secrets=None).exists()

    def fail(now: datetime) -> bool:
        raise OperationalError("gone")

    monkeypatch.setattr(worker_module, "deleted_project_purge", fail)
    with pytest.raises(OperationalError):
        worker_module._keep_house(with_history=True)
    assert not NotificationSetting.objects.exclude(secrets=None).exists()
    assert not DigestUse.objects.exists()


@pytest.mark.django_db
def test_a_project_with_much_to_delete_delays_no_other_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "deleted_project_purge", lambda now: True)
    long_ago = clock.now() - timedelta(days=30)
    Signal.objects.create(created=long_ago, group_id=new_id(), kind="hosts", payload={}, failed=long_ago)
    stamps: list[None] = []
    assert worker_module._keep_house(with_history=True, progress=lambda: stamps.append(None))
    assert not Signal.objects.exists()
    steps = len(list(worker_module._steps_of_house(clock.now(), with_history=True)))
    assert len(stamps) >= steps


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_it_beats_while_keeping_house_takes_long(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "HEARTBEAT_SECONDS", 0.02)
    begun, done = threading.Event(), threading.Event()

    def take_long(*, with_history: bool, progress: Callable[[], object]) -> bool:
        begun.set()
        done.wait()
        return False

    monkeypatch.setattr(worker_module, "_keep_house", take_long)
    worker = Worker("host:1")
    running = in_thread(worker.run)
    try:
        eventually(begun.is_set)
        before = clock.now()
        eventually(lambda: WorkerHeartbeat.objects.filter(seen__gt=before).exists())
    finally:
        done.set()
        worker.stop()
        running.join()


@pytest.mark.parametrize("step_answers", [[True, True, False], [False]])
def test_what_is_done_every_so_often_goes_on_while_there_is_more(
    step_answers: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Worker("host:1")
    answers = list(step_answers)
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        worker.stop()
        return True

    monkeypatch.setattr(worker._stopping, "wait", wait)
    monkeypatch.setattr(connection, "close", lambda: None)
    worker._every(7.0, lambda: answers.pop(0))
    assert (answers, waited) == ([], [7.0])


@pytest.mark.django_db
def test_used_nonces_are_kept_as_long_as_they_could_be_replayed() -> None:
    now = clock.now()
    for number, age in enumerate(
        (NONCE_LIFETIME, 2 * NONCE_LIFETIME, 2 * NONCE_LIFETIME + timedelta(seconds=1))
    ):
        DigestUse.objects.create(nonce=f"nonce{number}", nc="00000001", used=now - age)
    RateWindow.objects.create(bucket="old", started=now - timedelta(hours=2), count=1)
    RateWindow.objects.create(bucket="new", started=now, count=1)
    expired_rows_purge(now=now)
    assert set(DigestUse.objects.values_list("nonce", flat=True)) == {"nonce0", "nonce1"}
    assert RateWindow.objects.get().bucket == "new"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_running_it_beats_listens_evaluates_and_stops(project: Project) -> None:
    make_config(project)
    ingest(project, host_report(reachable=False))
    worker = Worker("host:1")
    running = in_thread(worker.run)
    try:
        eventually(lambda: Alert.objects.filter(status="OPEN").exists())
        eventually(lambda: WorkerHeartbeat.objects.filter(name="host:1").exists())
        before = worker._signals.count
        wake_workers(Work.SIGNALS)
        eventually(lambda: worker._signals.count > before)
    finally:
        worker.stop()
        running.join()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_where_nothing_can_be_listened_to_it_polls(project: Project, settings: Settings) -> None:
    settings.OPSAPI_DB_POOLER = "transaction"
    make_config(project)
    worker = Worker("host:1")
    running = in_thread(worker.run)
    try:
        eventually(lambda: not Signal.objects.exists())
        ingest(project, host_report(reachable=False))
        eventually(lambda: Alert.objects.filter(status="OPEN").exists())
    finally:
        worker.stop()
        running.join()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_it_finds_agents_with_a_heartbeat_timeout(project: Project) -> None:
    now = clock.now()
    ingest(project, host_report(), now=now - timedelta(minutes=5))
    FleetWatch.objects.update(swept=now - timedelta(seconds=20))
    worker = Worker("host:1")
    running = in_thread(worker.run)
    try:
        eventually(lambda: Agent.objects.filter(down=True).exists())
    finally:
        worker.stop()
        running.join()


@pytest.mark.django_db
def test_ended_sessions_are_forgotten_and_an_emptied_epoch_begins_again() -> None:
    now = clock.now()
    for name, ends in (("old", now - timedelta(seconds=1)), ("new", now + timedelta(hours=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=ends)
    DigestEpoch.objects.all().delete()
    expired_rows_purge(now=now)
    assert Session.objects.get().session_key == "new"
    assert DigestEpoch.objects.get().started == now


def test_alerts_open_while_the_evaluation_of_a_project_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*, now: datetime, absent_since: object) -> int:
        raise OperationalError("canceling statement due to statement timeout")

    opened: list[datetime] = []

    def open_tracked(*, now: datetime, **_: object) -> int:
        opened.append(now)
        return 0

    monkeypatch.setattr(worker_module, "evaluate_signals", fail)
    monkeypatch.setattr(worker_module, "open_tracked", open_tracked)
    for earlier in ("held_signals_release", "close_over"):
        monkeypatch.setattr(worker_module, earlier, lambda *, now: 0)
    monkeypatch.setattr(worker_module, "last_sweep", lambda: None)
    with pytest.raises(OperationalError):
        Worker("test")._evaluate()
    assert len(opened) == 1


def _fail() -> int:
    raise OperationalError("FATAL: sorry, too many clients already")


def _guarded_in(worker: Worker, loop: str, step: Callable[[], int]) -> None:
    thread = threading.Thread(target=worker._guarded, args=(step,), name=loop)
    thread.start()
    thread.join()


def test_a_database_without_free_connections_is_logged_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also while another loop keeps its connection, so that its steps succeed."""
    moments = [0.0]
    monkeypatch.setattr(worker_module, "time", SimpleNamespace(monotonic=lambda: moments[-1]))
    worker = Worker("host:1")
    logged = []
    for moment in (0.0, 1.0, 59.0, 60.0, 61.0, 125.0):
        moments.append(moment)
        _guarded_in(worker, "evaluate", _fail)
        _guarded_in(worker, "deliver", lambda: 0)
        logged.append(len(caplog.records))
    assert logged == [1, 1, 1, 2, 2, 3]


@pytest.mark.django_db
def test_the_heartbeat_names_the_loop_that_has_failed_for_longest() -> None:
    worker = Worker("host:1")
    for loop in ("evaluate", "sweep"):
        _guarded_in(worker, loop, _fail)
    # The heartbeat reaches the database, so its own failures have ended.
    worker._failing[threading.current_thread().name] = 0
    worker._beat()
    row = WorkerHeartbeat.objects.get()
    assert row.failing_loop == "evaluate"
    assert row.failing_since is not None
    began = worker._failing["evaluate"]
    _guarded_in(worker, "evaluate", _fail)
    assert worker._failing["evaluate"] == began
    for loop in ("evaluate", "sweep"):
        _guarded_in(worker, loop, lambda: 0)
    worker._beat()
    assert WorkerHeartbeat.objects.filter(failing_loop="", failing_since=None).exists()


@pytest.mark.django_db
def test_a_loop_that_fails_since_the_clock_was_ahead_is_reported() -> None:
    worker = Worker("host:1")
    clock.follow(database_time() + timedelta(days=1), clock.steady())
    _guarded_in(worker, "evaluate", _fail)
    worker._failing["evaluate"] -= 60
    worker._beat()
    assert (failing_loop_words(clock.now()) or "").startswith("the loop evaluate of worker host:1 has failed")


def _is_waited_for(holder: Connection[tuple[object, ...]]) -> bool:
    """Whether another session waits for a lock of this session."""
    waiting = "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))"
    return holder.execute(waiting).fetchone() is not None


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_with_a_stuck_loop_says_so_and_ends_for_its_restart(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[int] = []
    worker = Worker("host:1", end=ended.append)
    monkeypatch.setattr(worker_module, "LOOK_SECONDS", 0.05)
    with own_connection(autocommit=False) as holder:
        holder.execute("LOCK TABLE alerting_evaluationturn")
        monkeypatch.setattr(worker._progress, "look", lambda: "evaluate" if _is_waited_for(holder) else None)
        ingest(project, host_report())
        running = in_thread(worker.run)
        try:
            eventually(lambda: WorkerHeartbeat.objects.filter(stuck_loop="evaluate").exists())
        finally:
            holder.rollback()
            eventually(lambda: ended == [worker_module.STUCK_STATUS])
            running.join()
    [said] = [record for record in caplog.records if record.levelno == logging.CRITICAL]
    assert "turn_take" in said.getMessage()
    assert list(workers_stuck(clock.now())) == [WorkerHeartbeat.objects.get(name="host:1")]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_every_loop_shows_progress_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds in ("SWEEP_SECONDS", "HEARTBEAT_SECONDS", "HOUSE_SECONDS"):
        monkeypatch.setattr(worker_module, seconds, 0.2)
    worker = Worker("host:1")
    loops = {"beat", "evaluate", "deliver", "sweep", "keep-house", "pack", "take-over", "listen", "present"}
    running = in_thread(worker.run)
    try:
        eventually(lambda: {loop for loop, stamps in worker._progress.stamps() if stamps > 1} == loops)
    finally:
        worker.stop()
        running.join()


@pytest.mark.django_db
def test_a_stuck_loop_is_said_for_a_day_and_hides_no_worker() -> None:
    now = clock.now()
    worker_stuck(name="host:1", loop="deliver", now=now - timedelta(hours=23))
    worker_stuck(name="host:2", loop="deliver", now=now - timedelta(days=1))
    worker_seen(name="host:1", now=now)
    assert [row.name for row in workers_stuck(now)] == ["host:1"]
    assert workers_seen(now).filter(name="host:1").exists()


@pytest.fixture
def _old_nonce(project: Project) -> None:
    """A row that keeping house deletes, and an agent with a heartbeat timeout."""
    now = database_time()
    DigestUse.objects.create(nonce="nonce", nc="00000001", used=now - 3 * NONCE_LIFETIME)
    ingest(project, host_report(), now=now - timedelta(minutes=10))
    watch = {"counting_since": now - timedelta(hours=1), "swept": now - timedelta(seconds=20)}
    FleetWatch.objects.update_or_create(id=1, defaults=watch)


@pytest.mark.django_db
@pytest.mark.usefixtures("_old_nonce")
@pytest.mark.parametrize("seconds", [31, -31, 86_400])
def test_a_worker_with_a_wrong_clock_deletes_nothing_and_finds_no_timeouts(
    seconds: int, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker("host:1")
    with time_machine.travel(clock.machine_time() + timedelta(seconds=seconds)):
        worker._beat()
        worker._beat()
        worker._keep_house()
        worker._sweep()
        assert [row.name for row in wrong_clocks(clock.now())] == ["host:1"]
    assert DigestUse.objects.exists()
    assert not Agent.objects.filter(down=True).exists()
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1
    worker._beat()
    worker._keep_house()
    worker._sweep()
    assert not wrong_clocks(clock.now()).exists()
    assert not DigestUse.objects.exists()
    assert Agent.objects.filter(down=True).exists()


@pytest.mark.parametrize(("minutes", "deletes"), [(0, False), (59, False), (60, True)])
def test_history_is_deleted_after_the_clock_was_steady_for_an_hour(
    minutes: int, deletes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bool] = []

    def keep_house(*, with_history: bool, **_: object) -> bool:
        given.append(with_history)
        return False

    monkeypatch.setattr(worker_module, "_keep_house", keep_house)
    monkeypatch.setattr(database_clock, "steady_for", lambda: timedelta(minutes=minutes))
    Worker("host:1")._keep_house()
    assert given == [deletes]


@pytest.mark.parametrize(
    ("minutes", "difference", "packs"), [(59, 0, False), (60, 0, True), (60, 31, False), (60, -31, False)]
)
def test_days_are_packed_only_by_a_clock_that_is_right_and_steady(
    minutes: int, difference: int, packs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[datetime] = []

    def pack_some(*, now: datetime) -> bool:
        given.append(now)
        return False

    monkeypatch.setattr(worker_module, "day_pack_some", pack_some)
    monkeypatch.setattr(worker_module, "rollups_compute_some", pack_some)
    monkeypatch.setattr(database_clock, "steady_for", lambda: timedelta(minutes=minutes))
    monkeypatch.setattr(clock, "difference", lambda: timedelta(seconds=difference))
    assert not Worker("host:1")._pack()
    assert len(given) == (2 if packs else 0)
