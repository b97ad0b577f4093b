"""Events of agents that arrive late or in another order: the newest event of a condition decides."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import close_over, open_tracked
from alerting.models import Alert, AlertConfig, Notification
from automation.reports import late_events
from automation.reports.rules import EventReport
from events.models import Event
from events.types import EventType
from integrations.choices import MessageKind
from tests.each import each
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

pytestmark = pytest.mark.django_db

NOW = datetime(2099, 3, 4, 15, 0, tzinfo=UTC)
BEGINS = EventType.BI_CONNECTOR_DOWN
ENDS = EventType.BI_CONNECTOR_UP
Happened = tuple[EventType, int]
"""An event, and how many seconds ago it happened."""


@pytest.fixture
def config(project: Project, outside: Outside) -> AlertConfig:
    """An alert while a connector is down."""
    return make_config(project, eventTypeName=BEGINS.value)


def event(event_type: EventType, created: datetime | None = None, **facts: Any) -> EventReport:
    """What an agent says about the connector of a host."""
    address: dict[str, Any] = {"hostname": "db1", "port": 27017}
    return EventReport(event_type=event_type, created=created, **{**address, **facts})


def work(now: datetime) -> None:
    """Do all work that is due."""
    evaluate(now)
    close_over(now=now)
    open_tracked(now=now)
    deliver_all(now)


def arrive(
    project: Project, happened: Happened, *, second: int, waiting: int | None = None, is_dated: bool = False
) -> None:
    """An event arrives `second` seconds after NOW, and all work is done then and a second later.

    The report has the time of the event; with `is_dated`, only the event has it.
    """
    event_type, ago = happened
    moment, now = NOW - timedelta(seconds=ago), NOW + timedelta(seconds=second)
    if is_dated:
        ingest(project, events=[event(event_type, moment)], now=now)
    else:
        ingest(project, events=[event(event_type)], observed=moment, waiting=waiting, now=now)
    work(now)
    work(now + timedelta(seconds=1))


FLAPPING = ((BEGINS, 100), (ENDS, 50), (BEGINS, 10))
OVER = ((ENDS, 100), (BEGINS, 50), (ENDS, 10))


@each("is_dated", [False, True], ids=["report", "event"])
@each("order", [*permutations(FLAPPING), *permutations(OVER)], ids=str)
def test_the_newest_event_decides_in_whatever_order_events_arrive(
    config: AlertConfig, project: Project, order: Sequence[Happened], is_dated: bool
) -> None:
    for second, happened in enumerate(order):
        arrive(project, happened, second=2 * second, is_dated=is_dated)
    newest, _ = min(order, key=lambda happened: happened[1])
    assert statuses(config).count("OPEN") == (newest is BEGINS)


@each("newest", [BEGINS, ENDS])
@each("order", list(permutations(range(3))), ids=str)
def test_the_newest_event_of_a_backlog_decides(
    config: AlertConfig, project: Project, order: Sequence[int], newest: EventType
) -> None:
    events = FLAPPING if newest is BEGINS else OVER
    for second, place in enumerate(order):
        arrive(project, events[place], second=2 * second, waiting=2 - second)
    assert statuses(config).count("OPEN") == (newest is BEGINS)
    assert Notification.objects.filter(kind=MessageKind.OPEN.value).count() == (newest is BEGINS)


def test_a_late_end_without_a_time_closes_no_newer_alert_and_sends_nothing(
    config: AlertConfig, project: Project, outside: Outside
) -> None:
    arrive(project, (BEGINS, 10), second=0)
    arrive(project, (ENDS, 50), second=2)
    assert statuses(config) == ["OPEN"]
    assert outside.kinds == [MessageKind.OPEN]
    assert Event.objects.filter(event_type=ENDS.value).count() == 1


@each(
    "facts",
    [{"hostname": "DB1"}, {"replica_set_name": "rs0"}, {"cluster_name": "east"}, {"source_type_name": "BI"}],
    ids=str,
)
def test_an_end_with_other_facts_about_the_same_host_ends_the_condition(
    config: AlertConfig, project: Project, facts: dict[str, Any]
) -> None:
    ingest(project, events=[event(ENDS, **facts)], now=NOW, observed=NOW - timedelta(seconds=50))
    ingest(project, host_report("db1"), now=NOW)
    ingest(project, events=[event(BEGINS)], now=NOW, observed=NOW - timedelta(seconds=100))
    work(NOW)
    assert not Alert.objects.exists()


def test_ends_of_other_hosts_hide_no_end(config: AlertConfig, project: Project) -> None:
    ingest(project, events=[event(ENDS)], now=NOW, observed=NOW - timedelta(seconds=50))
    others = [event(ENDS, hostname=f"other{number}") for number in range(1_001)]
    ingest(project, events=others, now=NOW, observed=NOW - timedelta(seconds=40))
    ingest(project, events=[event(BEGINS)], now=NOW, observed=NOW - timedelta(seconds=100))
    ingest(project, events=[event(BEGINS, hostname="third")], now=NOW, observed=NOW - timedelta(seconds=100))
    work(NOW)
    assert [alert.facts["hostname"] for alert in Alert.objects.all()] == ["third"]


def test_so_many_stored_events_are_read_and_no_more(
    config: AlertConfig, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_events, "MOST_READ", 1)
    for hostname, ago in (("db1", 50), ("db2", 40)):
        ingest(
            project, events=[event(ENDS, hostname=hostname)], now=NOW, observed=NOW - timedelta(seconds=ago)
        )
    begun = [event(BEGINS, hostname=hostname) for hostname in ("db1", "db2")]
    ingest(project, events=begun, now=NOW, observed=NOW - timedelta(seconds=100))
    work(NOW)
    assert [alert.facts["hostname"] for alert in Alert.objects.all()] == ["db1"]
