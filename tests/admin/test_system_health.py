"""The page System health: the checks, the first rows of the lists of internals, and who sees them."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.apps import authentication_trial
from accesslist.models import Project
from alerting.models import EvaluationTurn, WorkerHeartbeat
from events.models import Signal
from opsapi import clock
from opsapi.api.root import write_trial
from opsapi.apps import readiness
from opsapi.console.sitemap import place_of_url
from opsapi.console.system_health import MOST_ROWS, check_results, summary
from opsapi.console.widgets import Tone
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.admin.rows import fill
from tests.each import each

pytestmark = pytest.mark.django_db

PAGE = "/admin/system-health/"


def seen(name: str, *, ago: timedelta = timedelta(0)) -> None:
    WorkerHeartbeat.objects.create(name=name, seen=clock.now() - ago)


def states(browser: Client) -> dict[str, str]:
    return {check.name: check.state for check in browser.get(PAGE).context["checks"]}


def signals(project: Project, number: int) -> None:
    for _ in range(number):
        Signal.objects.create(created=clock.now(), group_id=project.id, kind="event", payload={})


def test_it_shows_the_state_of_every_check_of_the_platform(console: Client) -> None:
    assert states(console).keys() == {"database", "migrations", *readiness()}
    assert states(console)["worker"] == "Failed"
    seen("worker-1")
    assert states(console)["worker"] == "OK"
    ready = console.get("/health/ready")
    failed = {name for name, state in states(console).items() if state == "Failed"}
    assert failed == set(ready.json().get("missing", {}))


@each(
    ("missing", "notes", "words", "worker"),
    [
        ({}, {}, "checks passed", "OK"),
        ({}, {"worker": "a note"}, "checks passed", "Note"),
        ({"worker": "gone"}, {}, "1 of", "Failed"),
        ({"database": "disk full"}, {}, "did not run", "Not checked"),
        ({"migrations": "not all"}, {}, "did not run", "Not checked"),
    ],
)
def test_a_check_that_did_not_run_has_no_result(
    missing: dict[str, str], notes: dict[str, str], words: str, worker: str
) -> None:
    checks = check_results(missing, notes)
    assert {check.name: check.state for check in checks}["worker"] == worker
    assert words in summary(checks)
    assert (checks[0].tone is Tone.BAD) is bool(missing)


def test_each_list_of_the_entry_is_a_part_of_the_page(console: Client, project: Project) -> None:
    signals(project, MOST_ROWS + 2)
    place = place_of_url("system_health")
    parts = {part.title: part for part in console.get(PAGE).context["lists"]}
    assert place is not None
    assert list(parts) == [page.title for page in place.entry.pages if page.is_list]
    assert len(parts["Signals"].rows) == MOST_ROWS
    assert parts["Signals"].more == "… and 2 more"
    assert not parts["Workers"].rows
    assert parts["Workers"].empty in shown(console, PAGE)
    for part in parts.values():
        assert console.get(part.url).status_code == 200


def test_a_worker_that_was_not_seen_for_a_minute_is_stopped(console: Client) -> None:
    seen("alive")
    seen("gone", ago=timedelta(minutes=5))
    (part,) = (part for part in console.get(PAGE).context["lists"] if part.title == "Workers")
    cells = ["".join(row) for row in part.rows]
    assert ["running" in row for row in cells] == [True, False]
    assert ["stopped" in row for row in cells] == [False, True]


def test_its_statements_do_not_grow_with_the_rows(console: Client, project: Project) -> None:
    def statements() -> int:
        # A trial that succeeded is not repeated for a second.
        for trial in (write_trial, authentication_trial):
            trial.forget()
        with CaptureQueriesContext(connection) as queries:
            assert console.get(PAGE).status_code == 200
        return len(queries)

    signals(project, 2)
    seen("worker-1")
    statements()
    few = statements()
    signals(project, 20)
    for number in range(20):
        seen(f"more-{number}")
    assert statements() == few


@each(
    ("role", "reads"),
    [(Role.GLOBAL_READ_ONLY, True), (Role.GLOBAL_OWNER, True), (Role.GROUP_OWNER, False)],
)
def test_only_roles_that_read_everything_see_it(project: Project, role: Role, reads: bool) -> None:
    browser = browser_with(role, **({} if role.is_global else {"project": project}))
    assert (browser.get(PAGE).status_code == 200) is reads
    assert (PAGE in browser.get("/admin/").content.decode()) is reads


def test_a_search_of_the_console_finds_its_lists(console: Client) -> None:
    groups = console.get("/admin/palette/", {"q": "signals"}).json()["groups"]
    assert [row["title"] for group in groups for row in group["results"]] == ["Signals"]


@each("model", ["events/signal", "alerting/evaluationturn"])
def test_the_id_of_a_project_stands_under_project(model: str, console: Client, project: Project) -> None:
    fill(project)
    page = shown(console, f"/admin/{model}/")
    assert project.id in page
    assert "Group id" not in page
    assert ">Project<" in re.sub(r">\s+|\s+<", lambda gap: gap[0].strip(), page)


def test_turns_name_their_projects(console: Client, project: Project) -> None:
    for group_id in (project.id, "", "f" * 24):
        EvaluationTurn.objects.create(group_id=group_id, served=clock.now())
    page = shown(console, PAGE)
    assert f'href="{page_of(project)}">{project}</a>' in page
    assert "events without a project" in page
    assert "f" * 24 in page
