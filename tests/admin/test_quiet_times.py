"""The Quiet times page: a week of all windows, in a zone, limited, and what leads to new windows."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
import time_machine
from django.test import Client

from accesslist.models import Project, User
from alerting.models import MaintenanceWindow
from alerting.windows import week_page
from alerting.windows.week_page import WeekRow
from automation.models import Host
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.admin.test_windows import ADD, make_window
from tests.admin.typed import typed_in
from tests.admin.writing import confirm
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import host_report, ingest, make_host

pytestmark = pytest.mark.django_db

PAGE = "/admin/quiet-times/"
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
"""A Wednesday."""
HOUR = timedelta(hours=1)
SUNDAYS: dict[str, Any] = {
    "startDate": "2026-11-01T01:00:00Z",
    "endDate": "2026-11-01T03:00:00Z",
    "recurrence": {"rrule": "FREQ=WEEKLY", "timeZone": "Europe/Berlin"},
}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may count the hosts of a window for longer."""
    monkeypatch.setattr(week_page, "_SECONDS", 600.0)


@pytest.fixture(autouse=True)
def _wednesday() -> Any:
    with time_machine.travel(NOW, tick=False):
        yield


def rows(browser: Client, **query: str) -> list[WeekRow]:
    answer = browser.get(PAGE, query)
    assert answer.status_code == 200
    listed: list[WeekRow] = answer.context["rows"]
    return listed


def words(row: WeekRow) -> dict[str, list[str]]:
    return {f"{cell.date:%a}": list(cell.words) for cell in row.cells if cell.words}


def test_each_window_of_the_week_is_a_row(console: Client, project: Project) -> None:
    once = make_window(project, description="kernel")
    weekly = make_window(ProjectFactory.create(), **SUNDAYS)
    make_window(project, timedelta(days=5))
    listed = rows(console)
    assert [row.window for row in listed] == [once, weekly]
    assert words(listed[0]) == {"Wed": ["12:00–14:00"]}
    assert words(listed[1]) == {"Sun": ["01:00–03:00"]}
    page = shown(console, PAGE)
    assert page_of(once) in page
    assert "kernel" in page


def test_other_weeks_have_their_own_address(console: Client, project: Project) -> None:
    weekly = make_window(project, **SUNDAYS)
    context = console.get(PAGE).context
    assert (context["earlier"], context["later"]) == ("?week=2026-11-16", "?week=2026-11-30")
    assert context["this_week"] == ""
    assert [row.window for row in rows(console, week="2026-12-02")] == [weekly]
    assert rows(console, week="2026-10-20") == []
    assert console.get(PAGE, {"week": "2026-12-02"}).context["this_week"] == "?"


@each("query", [{"week": "soon"}, {"week": "0001-01-01"}, {"week": "9999-12-31"}, {"zone": "Mars/Olympus"}])
def test_a_wrong_address_is_refused(console: Client, project: Project, query: dict[str, str]) -> None:
    assert console.get(PAGE, query).status_code == 404


def test_times_are_in_the_zone_of_the_operator_or_of_the_address(
    console: Client, operator: User, project: Project
) -> None:
    make_window(project, timedelta(hours=11))
    User.objects.filter(pk=operator.pk).update(time_zone="Asia/Tokyo")
    assert words(rows(console)[0]) == {"Thu": ["08:00–10:00"]}
    assert words(rows(console, zone="UTC")[0]) == {"Wed": ["from 23:00"], "Thu": ["until 01:00"]}


def test_a_row_counts_its_hosts(console: Client, project: Project) -> None:
    make_host(project, "db1.example.com")
    make_host(project, "db2.example.com")
    make_window(project, description="all")
    matcher = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1.example.com"}
    make_window(project, description="one", matchers=[matcher])
    make_window(project, description="none", alertTypeNames=["AGENT"])
    counted = {row.window.description: row.hosts_words for row in rows(console)}
    assert counted == {"all": "2 hosts", "one": "1 host", "none": "no alerts of hosts"}


def test_hosts_that_were_not_compared_in_time_are_not_counted(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(week_page, "_SECONDS", -1)
    make_host(project)
    make_window(project)
    assert [row.hosts_words for row in rows(console)] == ["hosts not counted"]


@each(("types", "noted"), [(["HOST"], True), (["HOST", "REPLICA_SET"], False), (["REPLICA_SET"], False)])
def test_a_window_that_mutes_hosts_and_not_their_sets_says_so(
    console: Client, project: Project, types: list[str], noted: bool
) -> None:
    ingest(project, host_report("db1.example.com", replica_set_name="rs0"))
    window = make_window(project, alertTypeNames=types)
    assert ("does not mute alerts of their sets" in shown(console, PAGE)) is noted
    MaintenanceWindow.objects.filter(pk=window.pk).update(start=NOW - HOUR, end=NOW)
    assert "does not mute alerts of their sets" not in shown(console, PAGE)


def test_overlaps_are_of_the_same_project(console: Client, project: Project) -> None:
    make_window(project, description="a")
    make_window(project, HOUR, description="b")
    make_window(project, 2 * HOUR, description="c")
    make_window(ProjectFactory.create(), description="elsewhere")
    assert {row.window.description: row.overlaps for row in rows(console)} == {
        "a": 1,
        "b": 2,
        "c": 1,
        "elsewhere": 0,
    }


def test_the_page_says_what_it_leaves_out(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(week_page, "MOST_ROWS", 1)
    monkeypatch.setattr(week_page, "MOST_READ", 2)
    for number in range(2):
        make_window(project, number * HOUR)
    assert len(rows(console)) == 1
    assert len(console.get(PAGE).context["notes"]) == 1
    make_window(project, 3 * HOUR)
    assert len(console.get(PAGE).context["notes"]) == 2


def test_windows_of_other_projects_stay_invisible(console: Client, project: Project) -> None:
    mine = make_window(project)
    make_window(ProjectFactory.create())
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert [row.window for row in rows(reader)] == [mine]
    assert "New window" not in shown(reader, PAGE)
    assert [row.window for row in rows(console, project=project.id)] == [mine]
    assert f"group={project.id}" in console.get(PAGE, {"project": project.id}).context["new_url"]


def test_a_preset_fills_in_the_form(console: Client, operator: User, project: Project) -> None:
    User.objects.filter(pk=operator.pk).update(time_zone="Europe/Berlin")
    make_host(project, "db1.example.com")
    page = shown(console, f"{ADD}?preset=sundays&group={project.id}")
    assert page_of(Host.objects.get()) in page
    assert "Sun 2026-12-20 02:00 to 04:00" in page
    form = typed_in(page)
    assert (form["startDate"], form["endDate"]) == (["2026-11-29 02:00"], ["2026-11-29 04:00"])
    assert (form["timeZone"], form["repeat"], form["weekdays"]) == (["Europe/Berlin"], ["WEEKLY"], ["SU"])
    assert form["group"] == [project.id]
    assert shown(console, f"{ADD}?preset=unknown")


def test_a_preset_keeps_the_hosts_that_were_selected(console: Client, project: Project) -> None:
    given = {"group": project.id, "alertTypeNames": "HOST", "hosts": "db1:27017\ndb2:27017"}
    times = {"startDate": "2026-11-29 10:00", "endDate": "2026-11-29 11:00", "timeZone": "UTC"}
    page = shown(console, f"{ADD}?{urlencode(given | times)}")
    [url] = re.findall(r'href="([^"]*preset=sundays[^"]*)"', page)
    form = typed_in(shown(console, f"{ADD}{unescape(url)}"))
    assert form["hosts"] == [given["hosts"]]
    assert form["alertTypeNames"] == ["HOST"]
    assert (form["startDate"], form["repeat"]) == (["2026-11-29 02:00"], ["WEEKLY"])


def test_a_window_that_occurs_once_is_changed_in_the_zone_of_the_operator(
    console: Client, operator: User, project: Project
) -> None:
    window = make_window(project)
    User.objects.filter(pk=operator.pk).update(time_zone="Asia/Tokyo")
    form = typed_in(shown(console, f"{page_of(window).removesuffix('change/')}do/change/"))
    assert (form["startDate"], form["timeZone"]) == (["2026-11-25 21:00"], ["Asia/Tokyo"])


def test_the_presets_stay_after_an_error_and_keep_what_was_typed(console: Client, project: Project) -> None:
    typed = {"group": project.id, "alertTypeNames": ["HOST", "AGENT"], "hosts": "db1:1", "startDate": "soon"}
    page = confirm(console, ADD, **typed)
    (link, *_) = page.context["form"].presets
    assert {"group": [project.id], "alertTypeNames": ["HOST,AGENT"], "hosts": ["db1:1"]}.items() <= parse_qs(
        link[0].removeprefix("?")
    ).items()
    assert "Fill in:" in page.content.decode()
    kept = console.get(f"{ADD}{link[0]}").context["form"]
    assert (kept["hosts"].value(), kept["alertTypeNames"].value()) == ("db1:1", ["HOST", "AGENT"])
    matcher = {"matchers[0].fieldName": "LABEL", "matchers[0].operator": "EQUALS", "matchers[0].value": "a=b"}
    assert not confirm(console, ADD, **typed, **matcher).context["form"].presets
