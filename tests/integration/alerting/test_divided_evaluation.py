"""A signal that takes longer than a turn is evaluated in several: nothing is lost, nothing is done twice."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

import pytest
from django.db import OperationalError

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete
from alerting.engine import signal_observations
from alerting.engine.evaluation import (
    _READ_ACTIVE_FROM,
    ROWS_IN_TURN,
    ROWS_OF_GROUPING,
    evaluate_signals,
    open_tracked,
)
from alerting.engine.rules import Place, Progress, TimeSlice, progress_of
from alerting.models import Alert, AlertConfig, EvaluationTurn, Incident, Notification
from automation.models import Host
from events.models import Event, Signal
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
HOSTS = [f"h{number}" for number in range(6)]
Turn = Callable[[], int]


@pytest.fixture
def take_turn(monkeypatch: pytest.MonkeyPatch) -> Turn:
    """A turn that ends when it has decided two or three pairs: each look at the clock takes a second."""
    monkeypatch.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", 2)
    return lambda: evaluate_signals(now=START, clock=partial(next, count()))


@pytest.fixture
def dear(project: Project) -> Iterator[list[AlertConfig]]:
    """Four configurations, and a report of six hosts that are down."""
    configs = [make_config(project, notifications=[WEBHOOK]) for _ in range(4)]
    evaluate(START)
    _report(project, HOSTS)
    yield sorted(configs, key=lambda config: config.id)
    assert not EvaluationTurn.objects.exclude(progress=None).exists()


def _report(project: Project, names: list[str], *, reachable: bool = False) -> None:
    ingest(project, *(host_report(name, reachable=reachable) for name in names), now=START)
    Signal.objects.filter(group_id=project.id).exclude(kind="hosts").delete()


@each("grouping, begun", [("TOPOLOGY", -(-ROWS_IN_TURN // (ROWS_OF_GROUPING + 2))), ("NONE", 40)])
def test_a_turn_ends_after_few_grouped_configurations(project: Project, grouping: str, begun: int) -> None:
    for _ in range(40):
        make_config(project, notifications=[WEBHOOK], grouping=grouping)
    evaluate(START)
    _report(project, HOSTS[:1])
    assert evaluate_signals(now=START, clock=lambda: 0.0)
    assert Alert.objects.count() == begun
    evaluate(START)
    assert Alert.objects.count() == Incident.objects.count() == 40


def _all(take_turn: Turn) -> int:
    turns = 0
    while take_turn():
        turns += 1
        assert turns < 100
    return turns


def _written_alerts() -> float:
    """A clock that goes on while alerts are written."""
    return float(Alert.objects.count())


def _written() -> list[tuple[str, int]]:
    """The alerts, their events and notifications."""
    opened = Event.objects.filter(event_type="HOST_DOWN", alert_id__isnull=False)
    return [
        ("alerts", Alert.objects.count()),
        ("events", opened.values("alert_id").distinct().count()),
        ("all events", opened.count()),
        ("notifications", Notification.objects.count()),
    ]


ALL = [("alerts", 24), ("events", 24), ("all events", 24), ("notifications", 24)]


def test_another_project_has_a_turn_between_two_parts_of_a_signal(
    project: Project, dear: list[AlertConfig], take_turn: Turn
) -> None:
    other: Project = ProjectFactory.create()
    config = make_config(other)
    Signal.objects.filter(group_id=other.id).delete()
    assert take_turn()
    begun = Alert.objects.count()
    assert 0 < begun < 24
    _report(other, ["db1"])
    assert take_turn()
    assert statuses(config) == ["OPEN"]
    assert Alert.objects.count() == begun + 1
    assert _all(take_turn) > 3
    assert [statuses(each) for each in dear] == [["OPEN"] * 6] * 4


def test_delayed_alerts_of_other_projects_open_between_two_parts_of_a_signal(
    dear: list[AlertConfig], take_turn: Turn
) -> None:
    other: Project = ProjectFactory.create()
    config = make_config(other, notifications=[{**WEBHOOK, "delayMin": 1}])
    _report(other, ["db1"])
    Signal.objects.filter(group_id=other.id).exclude(kind="hosts").delete()
    while Signal.objects.filter(group_id=other.id).exists():
        assert take_turn()
    assert Signal.objects.exists()
    assert open_tracked(now=START + timedelta(minutes=2)) == 1
    assert statuses(config) == ["OPEN"]
    _all(take_turn)


def test_the_end_comes_after_the_beginning_however_the_signals_are_divided(
    project: Project, dear: list[AlertConfig], take_turn: Turn
) -> None:
    _report(project, HOSTS, reachable=True)
    assert take_turn()
    assert not Alert.objects.filter(status="CLOSED").exists()
    _all(take_turn)
    assert [statuses(each) for each in dear] == [["CLOSED"] * 6] * 4


def test_a_part_that_fails_is_repeated_without_doubling_anything(
    dear: list[AlertConfig], take_turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise OperationalError("the connection is lost")

    turns = 0
    while Signal.objects.exists():
        with monkeypatch.context() as patched:
            patched.setattr("alerting.engine.turns.Turn.keep", crash)
            before = _written()
            with pytest.raises(OperationalError):
                take_turn()
            assert _written() == before
        take_turn()
        turns += 1
    assert turns > 3
    assert _written() == ALL


def test_hosts_and_configurations_that_go_and_come_leave_the_rest_complete(
    project: Project, dear: list[AlertConfig], take_turn: Turn
) -> None:
    while EvaluationTurn.objects.get(group_id=project.id).progress is None:
        assert take_turn()
    progress = EvaluationTurn.objects.get(group_id=project.id).progress
    assert progress is not None
    gone = progress_of(progress).place.config
    alert_config_delete(config=AlertConfig.objects.get(id=gone), actor=SYSTEM, now=START)
    Host.objects.filter(hostname="h0").update(deleted=START)
    new = make_config(project)
    _all(take_turn)
    for config in [*dear, new]:
        alerts = Alert.objects.filter(config_id=config.id, status="OPEN").exclude(facts__hostname="h0")
        assert alerts.count() == (0 if config.id == gone else 5)


def test_a_signal_that_fails_in_its_second_part_is_set_aside(
    project: Project, dear: list[AlertConfig], take_turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    _report(project, ["h9"])
    assert take_turn()

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("alerting.engine.evaluation._read_active", fail)
        assert take_turn()
    assert Signal.objects.exclude(failed=None).count() == 1
    _all(take_turn)
    assert Alert.objects.filter(facts__hostname="h9").count() == 4


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_the_active_alerts_of_a_signal_are_read_in_parts(
    project: Project, dear: list[AlertConfig], monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """The last configuration that was read has only some of its alerts, in any order."""
    evaluate(START)
    assert _written() == ALL
    monkeypatch.setattr("alerting.engine.evaluation.ACTIVE_AT_ONCE", 7)
    ordered = _READ_ACTIVE_FROM.replace("ORDER BY config_id", f"ORDER BY config_id, target_key {order}")
    monkeypatch.setattr("alerting.engine.evaluation._READ_ACTIVE_FROM", ordered)
    _report(project, HOSTS, reachable=True)
    _report(project, HOSTS, reachable=False)
    evaluate(START)
    assert [sorted(statuses(each)) for each in dear] == [["CLOSED"] * 6 + ["OPEN"] * 6] * 4


@pytest.mark.parametrize(("messages", "at_once"), [(1, 5), (4, 2), (50, 1)])
def test_what_is_written_at_once_depends_on_the_number_of_notifications(
    project: Project, monkeypatch: pytest.MonkeyPatch, messages: int, at_once: int
) -> None:
    monkeypatch.setattr("alerting.engine.evaluation.ROWS_AT_ONCE", 10)
    monkeypatch.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", 0)
    urls = [f"http://h{number}.example.com/" for number in range(messages)]
    make_config(project, notifications=[{**WEBHOOK, "webhookUrl": url} for url in urls])
    evaluate(START)
    _report(project, HOSTS)
    assert evaluate_signals(now=START, clock=_written_alerts)
    assert Alert.objects.count() == at_once
    assert Notification.objects.count() == at_once * messages
    _all(lambda: evaluate_signals(now=START, clock=_written_alerts))
    assert Notification.objects.count() == len(HOSTS) * messages


def test_a_turn_writes_a_limited_number_of_rows_and_other_projects_have_turns_in_between(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No time passes, so only the number of rows ends a turn."""
    monkeypatch.setattr("alerting.engine.evaluation.ROWS_IN_TURN", 10)
    monkeypatch.setattr("alerting.engine.evaluation.ROWS_AT_ONCE", 10)
    other: Project = ProjectFactory.create()
    config = make_config(other, notifications=[WEBHOOK])
    Signal.objects.all().delete()
    _report(project, [f"db{number}" for number in range(40)])
    Signal.objects.all().delete()
    dear = [make_config(project, notifications=[WEBHOOK]) for _ in range(2)]
    written, rows = [], 0
    while evaluate_signals(now=START, clock=lambda: 0.0):
        rows, before = Alert.objects.count() + Notification.objects.count(), rows
        written.append(rows - before)
        if len(written) == 1:
            _report(other, ["db1"])
        if len(written) == 2:
            assert statuses(config) == ["OPEN"]
    assert max(written) <= 20
    assert len(written) > 10
    assert [statuses(each) for each in dear] == [["OPEN"] * 40] * 2
    assert Notification.objects.count() == 81
    opened = Event.objects.filter(event_type="HOST_DOWN", alert_id__isnull=False)
    assert opened.values("alert_id").distinct().count() == opened.count() == 81


def test_changed_configurations_are_compared_with_parts_of_the_fleet(
    project: Project, take_turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal_observations, "HOSTS_AT_ONCE", 4)
    _report(project, [f"db{number}" for number in range(10)])
    Signal.objects.all().delete()
    configs = [make_config(project, notifications=[WEBHOOK]) for _ in range(3)]
    ingest(project, host_report("h9", reachable=False), now=START)
    Signal.objects.filter(kind="event").delete()
    assert _all(take_turn) > 10
    assert [statuses(config) for config in configs] == [["OPEN"] * 11] * 3
    assert Notification.objects.count() == 33


def test_alerts_of_a_configuration_form_an_incident_as_if_they_were_decided_at_once(
    project: Project, take_turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [
        make_config(project, notifications=[WEBHOOK], grouping="TOPOLOGY", groupWaitSec=30) for _ in range(3)
    ]
    evaluate(START)
    monkeypatch.setattr("alerting.engine.evaluation.EVALUATION_SECONDS", 9)
    _report(project, HOSTS)
    assert _all(take_turn) >= 3
    assert [statuses(config) for config in configs] == [["OPEN"] * 6] * 3
    begun = [Incident.objects.filter(config_id=config.id).count() for config in configs]
    assert len(set(begun)) == 1


def test_a_slice_lasts_as_long_as_reading_did() -> None:
    now = [0.0]
    time_slice = TimeSlice(lambda: now[0], 0.5)
    now[0] = 2.0
    assert time_slice.is_over()
    time_slice.allow_as_much_as_since(0.0)
    now[0] = 3.9
    assert not time_slice.is_over()
    now[0] = 4.1
    assert time_slice.is_over()
    assert time_slice.used() == 4.1


def test_progress_is_what_was_stored() -> None:
    progress = Progress((3, 5), Place(5, "c", "t"), "host")
    assert progress_of(progress.stored()) == progress
