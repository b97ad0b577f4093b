"""Alerts open when their delay has passed, and close when they are over, however much another project has."""

import json
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine import evaluation
from alerting.engine import worker as worker_module
from alerting.engine.evaluation import (
    _CONFIRMED_OPENING,
    _OPENING,
    _OVER,
    MOST_COMPARED,
    OPENED_AT_ONCE,
    ROWS_AT_ONCE,
    ROWS_OF_GROUPING,
    close_over,
    open_tracked,
)
from alerting.engine.share_counts import usage_add
from alerting.engine.usage_rules import SHARE_SECONDS
from alerting.engine.worker import Worker
from alerting.models import Alert, ProjectUsage
from automation.models import Host
from events.models import Signal
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db

NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DUE, WAITING = 2_000, 3_000

_MANY_ALERTS = """
INSERT INTO alerting_alert
SELECT copied.* FROM alerting_alert AS alert, generate_series(1, %(many)s) AS n
 CROSS JOIN LATERAL jsonb_populate_record(
       alert, jsonb_build_object('id', lpad(to_hex(n), 24, '0'), 'target_key', n::text)) AS copied
 WHERE alert.id = %(id)s
"""
_MANY_HOSTS = """
INSERT INTO automation_host
SELECT copied.* FROM automation_host AS host, generate_series(1, %(many)s) AS n
 CROSS JOIN LATERAL jsonb_populate_record(
       host, jsonb_build_object('id', lpad(to_hex(n), 24, '0'), 'hostname', 'of' || n)) AS copied
 WHERE host.id = %(id)s
"""
_ABOUT_HOSTS = (
    """UPDATE alerting_alert SET facts = jsonb_build_object('hostId', id) WHERE id = ANY(%(ids)s)"""
)
_MANY_SIGNALS = """
INSERT INTO events_signal (created, group_id, kind, payload)
SELECT %(created)s, %(group)s, 'hosts', '{}' FROM generate_series(1, %(many)s)
"""


def tracked(project: Project, opens: datetime = NOW - SECOND, **changes: str) -> Alert:
    return make_alert(project, status="TRACKING", opens=opens, created=NOW - 60 * SECOND, **changes)


def signal(project: Project, created: datetime) -> None:
    Signal.objects.create(created=created, group_id=project.id, kind="hosts", payload={})


def opened() -> set[str]:
    return set(Alert.objects.filter(status="OPEN").values_list("group_id", flat=True))


@pytest.fixture
def other() -> Project:
    """A project with one alert to open."""
    found: Project = ProjectFactory.create()
    tracked(found)
    return found


def make_many(project: Project) -> None:
    first = tracked(project, opens=NOW - 30 * SECOND)
    execute(_MANY_ALERTS, {"id": first.id, "many": DUE})
    execute(_MANY_SIGNALS, {"created": NOW - 40 * SECOND, "group": project.id, "many": WAITING})


def rows_read(*tables: str, search: str = _OPENING) -> int:
    """The rows of these tables that the search for alerts to open or to close reads."""
    parameters = {"now": NOW, "limit": OPENED_AT_ONCE, "since": NOW - 50 * SECOND}
    [(plan,)] = fetch_rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {search}", parameters)
    return sum(_rows((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"], tables))


def _rows(node: Any, tables: Sequence[str]) -> Iterator[int]:
    if node.get("Relation Name") in tables:
        passed = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        yield int(passed * node["Actual Loops"])
    for child in node.get("Plans", ()):
        yield from _rows(child, tables)


@each("is_blocked", [False, True])
@each("has_statistics", [False, True])
def test_the_search_reads_the_first_alerts_and_signals(
    project: Project, other: Project, is_blocked: bool, has_statistics: bool
) -> None:
    make_many(project)
    if not is_blocked:
        Signal.objects.update(created=NOW)
    if has_statistics:
        execute("ANALYZE alerting_alert, events_signal")
    assert rows_read("alerting_alert", "events_signal") <= OPENED_AT_ONCE + 20
    assert open_tracked(now=NOW) == (1 if is_blocked else OPENED_AT_ONCE)
    assert other.id in opened()


@each("has_statistics", [False, True])
def test_a_search_for_confirmed_alerts_reads_the_first_alerts(
    project: Project, other: Project, has_statistics: bool
) -> None:
    ingest(project, host_report(), now=NOW - 60 * SECOND)
    Signal.objects.all().delete()
    make_many(project)
    Signal.objects.all().delete()
    Alert.objects.filter(group_id=project.id).update(facts={"hostId": Host.objects.get().id})
    if has_statistics:
        execute("ANALYZE alerting_alert, events_signal, automation_host")
    assert rows_read("alerting_alert", search=_CONFIRMED_OPENING) <= MOST_COMPARED + 20
    assert open_tracked(now=NOW, absent_since=NOW - 50 * SECOND) == 1
    assert opened() == {other.id}


@each("grouping, alerts", [("TOPOLOGY", ROWS_AT_ONCE // (ROWS_OF_GROUPING + 2)), ("NONE", 40)])
def test_a_step_opens_alerts_of_few_grouped_configurations_of_a_project(
    project: Project, other: Project, grouping: str, alerts: int
) -> None:
    for _ in range(40):
        config = make_config(project, notifications=[WEBHOOK], grouping=grouping)
        tracked(project, opens=NOW - 2 * SECOND, config_id=config.id)
    Signal.objects.all().delete()
    assert open_tracked(now=NOW) == 1 + alerts
    assert opened() == {project.id, other.id}
    while open_tracked(now=NOW):
        pass
    assert not Alert.objects.filter(status="TRACKING").exists()


def test_a_step_opens_alerts_of_one_grouped_configuration_together(project: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK], grouping="TOPOLOGY")
    for _ in range(40):
        tracked(project, config_id=config.id)
    Signal.objects.all().delete()
    assert open_tracked(now=NOW) == 40


def test_a_step_opens_few_alerts_with_many_notifications_and_at_least_one(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(project, notifications=[WEBHOOK] * 9)
    for _ in range(5):
        tracked(project, config_id=config.id)
    Signal.objects.all().delete()
    for rows, alerts in ((20, 2), (9, 1)):
        monkeypatch.setattr(evaluation, "ROWS_AT_ONCE", rows)
        assert open_tracked(now=NOW) == alerts


def test_the_time_of_openings_counts_for_their_projects(project: Project, other: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK] * 3)
    for _ in range(2):
        tracked(project, config_id=config.id)
    Signal.objects.all().delete()
    open_tracked(now=NOW, clock=partial(next, count(step=9)))
    assert dict(ProjectUsage.objects.values_list("group_id", "seconds")) == {project.id: 8.0, other.id: 1.0}
    usage_add(group_id=project.id, seconds=SHARE_SECONDS - 9, now=NOW)
    tracked(project, config_id=config.id)
    open_tracked(now=NOW, clock=partial(next, count(step=9)))
    assert ProjectUsage.objects.get(group=project).config_id == config.id


def test_the_time_of_few_openings_is_not_counted(other: Project) -> None:
    assert open_tracked(now=NOW, clock=lambda: 0.0) == 1
    assert not ProjectUsage.objects.exists()


@each("is_blocked", [False, True])
@each("has_statistics", [False, True])
def test_alerts_that_are_over_close_in_turns(
    project: Project, is_blocked: bool, has_statistics: bool
) -> None:
    make_many(project)
    other = ProjectFactory.create()
    latest = make_alert(other, over=NOW, updated=NOW)
    ended = NOW - (30 if is_blocked else 50) * SECOND
    Alert.objects.filter(group_id=project.id).update(over=ended, updated=ended)
    # A cancelled alert keeps the time of its end.
    make_alert(project, status="CANCELLED", over=ended - SECOND, updated=ended - SECOND)
    if has_statistics:
        execute("ANALYZE alerting_alert, events_signal")
    assert rows_read("alerting_alert", search=_OVER) <= OPENED_AT_ONCE + 20
    assert close_over(now=NOW) == (1 if is_blocked else OPENED_AT_ONCE)
    latest.refresh_from_db()
    assert latest.status == "CLOSED"


def test_an_alert_that_is_over_waits_for_signals_that_were_released_before_others(project: Project) -> None:
    """A release gives its signals a new time, so their order is not that of their ids."""
    make_alert(project, over=NOW - SECOND, updated=NOW)
    for created in (NOW + SECOND, NOW - SECOND):
        signal(project, created)
    assert close_over(now=NOW) == 0
    Signal.objects.filter(created__lt=NOW).delete()
    assert close_over(now=NOW) == 1


@each("has_statistics", [False, True])
def test_each_alert_that_waits_for_late_reports_reads_its_own_host(
    project: Project, other: Project, has_statistics: bool
) -> None:
    ingest(project, host_report(), now=NOW - 60 * SECOND)
    Signal.objects.all().delete()
    host = Host.objects.get()
    make_many(project)
    execute(_MANY_HOSTS, {"id": host.id, "many": DUE})
    alerts = Alert.objects.filter(group_id=project.id)
    alerts.exclude(id__in=Host.objects.values("id")).delete()
    execute(_ABOUT_HOSTS, {"ids": list(alerts.values_list("id", flat=True))})
    Signal.objects.filter(group_id=project.id).update(agent_id=host.reported_by_id)
    if has_statistics:
        execute("ANALYZE alerting_alert, events_signal, automation_host, automation_replicaset")
    assert rows_read("automation_host", "automation_replicaset") <= DUE + 20
    assert open_tracked(now=NOW) == 1
    assert opened() == {other.id}


@each(("created", "opens"), [(NOW - 2 * SECOND, False), (NOW - SECOND, False), (NOW, True)])
def test_a_signal_from_before_the_end_of_the_delay_comes_first(
    project: Project, other: Project, created: datetime, opens: bool
) -> None:
    tracked(project)
    # The queue of a project is not in the order of its times.
    signal(project, NOW + SECOND)
    signal(project, created)
    open_tracked(now=NOW)
    assert opened() == ({project.id, other.id} if opens else {other.id})


def test_a_signal_that_was_set_aside_holds_no_alert_back(other: Project) -> None:
    signal(other, NOW - 2 * SECOND)
    Signal.objects.update(failed=NOW)
    assert open_tracked(now=NOW) == 1


@each(("seconds", "evaluated", "number"), [(0.0, 1, 1), (0.0, 0, 1), (1e9, 1, 0), (1e9, 0, 0)])
def test_a_worker_searches_for_alerts_to_open_however_many_signals_wait(
    monkeypatch: pytest.MonkeyPatch, seconds: float, evaluated: int, number: int
) -> None:
    """`seconds`: the least time between two searches. `evaluated`: the signals of the turn before."""
    searches: list[datetime] = []

    def search(*, now: datetime, **_: Any) -> int:
        searches.append(now)
        return 0

    monkeypatch.setattr(worker_module, "OPEN_SECONDS", seconds)
    monkeypatch.setattr(worker_module, "evaluate_signals", lambda **_: evaluated)
    monkeypatch.setattr(worker_module, "open_tracked", search)
    worker = Worker("host:1")
    worker._opened = time.monotonic()
    assert worker._evaluate() == evaluated
    assert len(searches) == number


def test_a_worker_that_has_opened_alerts_searches_for_more_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    due = [OPENED_AT_ONCE, OPENED_AT_ONCE, 1]
    monkeypatch.setattr(worker_module, "OPEN_SECONDS", 1e9)
    monkeypatch.setattr(worker_module, "evaluate_signals", lambda **_: 0)
    monkeypatch.setattr(worker_module, "open_tracked", lambda **_: due.pop(0) if due else 0)
    worker = Worker("host:1")
    worker._opened = -1e9
    assert [worker._evaluate() for _ in range(4)] == [OPENED_AT_ONCE, OPENED_AT_ONCE, 1, 0]
