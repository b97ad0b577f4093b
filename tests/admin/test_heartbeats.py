"""The bars of the last 24 hours: what was measured, down and muted, and that no data is never up."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from automation.hosts.heartbeats import heartbeats
from automation.models import Host, ReplicaSet
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.console.heartbeats import CELL, CELLS, CellState, HeartbeatBar
from tests.admin.alert_pages import make_window
from tests.admin.operators import page_of
from tests.admin.reading import shown
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host, measure

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def bar(host: Host) -> HeartbeatBar:
    return heartbeats([host], clock.now())[host.id]


def changed(host: Host, event_type: EventType, ago: timedelta) -> None:
    """Record that the host went down or came back."""
    facts = EventFacts(host_id=host.id, hostname=host.hostname, port=host.port)
    event_record(
        event_type=event_type, actor=SYSTEM, now=clock.now() - ago, group_id=host.group_id, facts=facts
    )


def test_without_measurements_there_is_no_data_and_nothing_is_up(project: Project) -> None:
    host = make_host(project, down=False)
    assert set(bar(host).states) == {CellState.NO_DATA}
    assert bar(host).words == "Last 24 hours: no data 1 d."


def test_measured_cells_are_up(project: Project) -> None:
    host = make_host(project)
    for minutes in range(0, 60, 5):
        measure(host, clock.now() - timedelta(minutes=minutes), CONNECTIONS=1)
    states = bar(host).states
    assert len(states) == CELLS
    assert set(states[-4:]) == {CellState.UP}
    assert set(states[:-6]) == {CellState.NO_DATA}


def test_a_single_sample_does_not_make_a_cell_up(project: Project) -> None:
    host = make_host(project)
    measure(host, clock.now() - 5 * HOUR, CONNECTIONS=1)
    assert set(bar(host).states) == {CellState.NO_DATA}


def test_a_host_is_down_between_its_events(project: Project) -> None:
    host = make_host(project)
    changed(host, EventType.HOST_DOWN, 5 * HOUR)
    changed(host, EventType.HOST_UP, 4 * HOUR)
    down = bar(host).states.count(CellState.DOWN)
    assert HOUR / CELL <= down <= HOUR / CELL + 1
    changed(host, EventType.HOST_DOWN, 2 * HOUR)
    assert bar(host).states[-1] is CellState.DOWN


def test_a_host_was_down_before_its_first_event_if_it_came_back_then(project: Project) -> None:
    host = make_host(project)
    changed(host, EventType.HOST_UP, HOUR)
    states = bar(host).states
    assert states[0] is CellState.DOWN
    assert states[-1] is CellState.NO_DATA


def test_a_host_without_events_is_down_all_day_if_it_is_down_now(project: Project) -> None:
    assert set(bar(make_host(project, down=True)).states) == {CellState.DOWN}


def test_muted_times_are_marked(project: Project) -> None:
    host, now = make_host(project), clock.now()
    make_window(project, start=now - HOUR, end=now + HOUR, alert_types=["HOST"])
    make_window(project, start=now - 9 * HOUR, end=now - 8 * HOUR, alert_types=["AGENT"])
    muted = bar(host).muted
    assert max(muted) == CELLS - 1
    assert HOUR / CELL <= len(muted) <= HOUR / CELL + 1
    assert " Muted 1 h" in bar(host).words


def test_the_bar_says_that_more_may_be_muted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alerting.overview.host_mutes._MOST_WINDOWS", 1)
    host, now = make_host(project), clock.now()
    for _ in range(2):
        make_window(project, start=now - HOUR, end=now + HOUR, alert_types=["HOST"])
    assert "More may be muted" in bar(host).words


def test_the_bar_is_on_the_pages_of_the_host_its_set_and_its_alerts(
    console: Client, project: Project
) -> None:
    members = ReplicaSet.objects.create(group=project, name="rs0", created=clock.now())
    host = make_host(project, replica_set=members)
    facts = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    alert = make_alert(project, facts=facts)
    for row in (host, members, alert):
        assert 'aria-label="Last 24 hours: no data 1 d."' in shown(console, page_of(row)), row


def test_the_number_of_statements_does_not_depend_on_the_number_of_hosts(project: Project) -> None:
    make_window(project, start=clock.now() - HOUR, end=clock.now() + HOUR, alert_types=["HOST"])
    hosts = [make_host(project, f"db{number}") for number in range(12)]
    numbers = []
    for some in (hosts[:1], hosts):
        with CaptureQueriesContext(connection) as statements:
            heartbeats(some, clock.now())
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]
