"""The map of the fleet on the start page: a tile for each host, or numbers where there are too many."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from alerting.overview import host_mutes
from automation import fleet_map
from automation.choices import HostType
from automation.models import Host
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.console.widgets import TileMap, Tone
from opsapi.roles import Role
from tests.admin.alert_pages import make_window
from tests.admin.operators import operator_with, page_of
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import host_report, ingest, make_host

pytestmark = pytest.mark.django_db
START = "/admin/"


def map_of(browser: Client) -> TileMap | None:
    """The map on the start page of a user, if there is one."""
    maps: list[TileMap] = browser.get(START).context["maps"]
    assert len(maps) <= 1
    return maps[0] if maps else None


def drawn(browser: Client) -> dict[str, dict[str, list[str]]]:
    """Project → replica set → the hosts with their states."""
    shown = map_of(browser)
    return {
        group.label.text: {
            row.label.text: [f"{tile.name} {tile.state}" for tile in row.tiles] for row in group.rows
        }
        for group in (shown.groups if shown else ())
    }


def test_hosts_are_tiles_by_project_and_replica_set(console: Client, project: Project) -> None:
    other = ProjectFactory.create(name="zebra")
    kinds = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY)
    reports = [
        host_report(f"db{n}", type_name=kinds[n], replica_set_name="rs0", reachable=n == 0) for n in (0, 1)
    ]
    ingest(project, *reports, host_report("alone"))
    ingest(other, host_report("db0"))
    make_host(other, "never")
    assert drawn(console) == {
        project.name: {"rs0": ["db0:27017 up", "db1:27017 down"], "single hosts": ["alone:27017 up"]},
        "zebra": {"single hosts": ["db0:27017 up", "never:27017 no data"]},
    }


def test_a_tile_leads_to_its_host_and_says_its_state_without_colours(
    console: Client, project: Project
) -> None:
    ingest(project, host_report("db1", reachable=False))
    shown = map_of(console)
    assert shown is not None
    [tile] = shown.groups[0].rows[0].tiles
    assert (tile.url, tile.tone, tile.sign) == (page_of(Host.objects.get()), Tone.BAD, "✖")
    assert 'aria-label="db1:27017: down"' in console.get(START).content.decode()


def test_a_host_that_nobody_reports_is_not_up(console: Client, project: Project) -> None:
    ingest(project, host_report("db1"), now=clock.now() - timedelta(minutes=9))
    assert drawn(console) == {project.name: {"single hosts": ["db1:27017 no data · 9 min"]}}


def test_there_is_no_map_without_hosts(console: Client, project: Project) -> None:
    assert map_of(console) is None


def test_a_reader_sees_hosts_of_their_projects_only(project: Project) -> None:
    mine = ProjectFactory.create(name="mine")
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=mine)
    make_host(project, "theirs")
    make_host(mine, "my-host")
    assert drawn(browser) == {"mine": {"single hosts": ["my-host:27017 no data"]}}


def test_many_hosts_are_numbers_with_the_most_broken_project_first(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_map, "MOST_TILES", 3)
    large = ProjectFactory.create(name="a large project")
    ingest(large, *(host_report(f"db{n}") for n in range(3)))
    ingest(project, host_report("db0", reachable=False))
    make_host(project, "never")
    shown = map_of(console)
    assert shown is not None
    counts = {group.label.text: [cell.text for cell in group.counts] for group in shown.groups}
    assert counts == {project.name: ["2 hosts", "1 down", "1 without data"], large.name: ["3 hosts"]}
    assert list(counts) == [project.name, large.name]
    assert shown.note
    for group in shown.groups:
        for cell in group.counts:
            listed = console.get(cell.url).context["cl"].result_count
            assert f"{listed:,}" == cell.text.split()[0]


def legend(browser: Client) -> dict[str, int]:
    """The looks of tiles, and how many tiles have each."""
    shown = map_of(browser)
    return {look.sample.state: look.count for look in shown.looks} if shown else {}


def muting(project: Project, *names: str, **changes: Any) -> MaintenanceWindow:
    """A window in effect that mutes these hosts."""
    value = "|".join(names)
    matcher = {"fieldName": "HOSTNAME", "operator": "REGEX", "value": f"^({value})$"}
    return make_window(project, matchers=[matcher], **changes)


def test_hosts_in_maintenance_have_their_own_look_and_are_counted(console: Client, project: Project) -> None:
    ingest(project, *(host_report(f"db{n}", reachable=n != 1) for n in range(4)))
    muting(project, "db0", "db1")
    muting(ProjectFactory.create(), "db2")
    muting(project, "db3", start=clock.now() + timedelta(hours=1), end=clock.now() + timedelta(hours=2))
    muting(project, "db3", alert_types=["AGENT"])
    assert drawn(console)[project.name]["single hosts"] == [
        "db0:27017 up, in maintenance",
        "db1:27017 down, in maintenance",
        "db2:27017 up",
        "db3:27017 up",
    ]
    assert legend(console) == {"up": 2, "in maintenance": 2}
    page = console.get(START).content.decode()
    assert page.count("data-muted aria-hidden") == 1
    assert page.count("data-muted href") == 2


def test_a_host_in_maintenance_by_two_windows_is_counted_once(console: Client, project: Project) -> None:
    ingest(project, host_report("db0", reachable=False))
    muting(project, "db0")
    make_window(project)
    assert legend(console) == {"in maintenance": 1}


def test_the_legend_counts_the_tiles_of_each_look(console: Client, project: Project) -> None:
    ingest(project, *(host_report(f"db{n}", reachable=n > 0) for n in range(3)))
    make_host(project, "never")
    assert legend(console) == {"up": 2, "down": 1, "no data": 1}


def test_the_map_says_that_more_hosts_may_be_in_maintenance(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_mutes, "_MOST_WINDOWS", 1)
    ingest(project, host_report("db0"), host_report("db1"))
    muting(project, "db0")
    shown = map_of(console)
    assert shown is not None
    assert not shown.note
    muting(project, "db1")
    shown = map_of(console)
    assert shown is not None
    assert "more hosts may be in maintenance" in shown.note


def test_the_map_has_as_many_statements_for_many_hosts_and_windows_as_for_one(project: Project) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            [shown] = fleet_map.fleet_map(VisibleScope(everything=True), clock.now())
        assert any(look.sample.is_muted for look in shown.looks)
        return len(queries)

    ingest(project, host_report("db0"))
    muting(project, "db0")
    few = statements()
    for number in range(4):
        other = ProjectFactory.create()
        ingest(other, *(host_report(f"h{number}-{n}") for n in range(3)))
        muting(other, f"h{number}-0")
        make_window(other)
    assert statements() == few == 2


def test_numbers_of_hosts_read_no_windows(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_map, "MOST_TILES", 1)
    ingest(project, host_report("db0"), host_report("db1"))
    make_window(project)
    with CaptureQueriesContext(connection) as queries:
        [shown] = fleet_map.fleet_map(VisibleScope(everything=True), clock.now())
    assert not [query["sql"] for query in queries if "maintenancewindow" in query["sql"]]
    assert not shown.looks
    assert "in maintenance" in shown.note
