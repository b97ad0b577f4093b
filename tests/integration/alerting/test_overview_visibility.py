"""The start page shows nobody what they may not read, and reads nothing it does not show."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.incidents.changes import WRITTEN_AT_ONCE
from alerting.models import Alert, MaintenanceWindow, Notification
from alerting.overview.store import active_alerts, notifications_failing, windows_ahead
from automation.agents.store import agents_not_reporting
from automation.hosts.store import hosts_down
from automation.models import Host
from opsapi.api.principal import SYSTEM, VisibleScope
from opsapi.first_rows import MOST_SHOWN
from opsapi.ids import new_id
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_notification
from tests.factories.automation import make_host
from tests.integration.alerting.overviews import ALL, DAY, HOUR, NOW, aged, make_agent_down, make_window

pytestmark = pytest.mark.django_db


def fill(project: Project) -> None:
    """One of each, in the project."""
    alert = aged(project, HOUR)
    make_notification(project, alert=alert, status="FAILED", due=NOW, attempts=1, reason="refused")
    make_window(project, -HOUR, HOUR)
    make_host(project, "down", down=True)
    make_agent_down(project, "timed-out")


LISTS: dict[str, Callable[[VisibleScope], Any]] = {
    "alerts": lambda visible_scope: active_alerts(visible_scope=visible_scope, now=NOW),
    "notifications": lambda visible_scope: notifications_failing(visible_scope=visible_scope, now=NOW),
    "windows": lambda visible_scope: windows_ahead(visible_scope=visible_scope, now=NOW),
    "hosts": hosts_down,
    "agents": lambda visible_scope: agents_not_reporting(visible_scope, NOW),
}


@pytest.mark.parametrize("name", LISTS)
class TestVisibleRows:
    """Rows and counts contain only what the caller can read."""

    def found(self, name: str, visible_scope: VisibleScope) -> tuple[set[str], int]:
        found = LISTS[name](visible_scope)
        return {row.group_id for row in found.rows}, found.count

    def test_a_reader_of_projects_sees_their_rows(self, project: Project, name: str) -> None:
        mine, other = ProjectFactory.create_batch(2)
        for a_project in (project, mine, other):
            fill(a_project)
        visible_scope = VisibleScope(
            group_ids=frozenset({project.id, mine.id}), org_ids=frozenset({str(other.org_id)})
        )
        assert self.found(name, visible_scope) == ({project.id, mine.id}, 2)
        assert self.found(name, ALL) == ({project.id, mine.id, other.id}, 3)

    def test_who_may_read_nothing_is_shown_nothing(self, project: Project, name: str) -> None:
        fill(project)
        assert self.found(name, VisibleScope()) == (set(), 0)

    def test_a_deleted_project_is_gone(self, project: Project, name: str) -> None:
        fill(project)
        project_delete(group_id=project.id, actor=SYSTEM, now=NOW)
        assert self.found(name, ALL) == (set(), 0)


def statements(name: str) -> list[str]:
    """What a list asks of the database."""
    with CaptureQueriesContext(connection) as queries:
        LISTS[name](ALL)
    return [query["sql"] for query in queries]


MANY = 3000
OTHERS: dict[str, tuple[type[Model], Callable[[int], dict[str, Any]]]] = {
    "alerts": (Alert, lambda number: {"status": "CLOSED", "target_key": str(number)}),
    "notifications": (Notification, lambda number: {"status": "DELIVERED"}),
    "windows": (MaintenanceWindow, lambda number: {"start": NOW - 2 * DAY, "end": NOW - DAY}),
    "hosts": (Host, lambda number: {"down": False, "hostname": str(number)}),
}


@pytest.mark.slow
@each("name", OTHERS)
def test_what_is_not_shown_is_not_read(project: Project, name: str) -> None:
    # Rows that earlier tests rolled back fill tables and indexes, and change the plans.
    execute(f"TRUNCATE {', '.join(table._meta.db_table for table, _ in OTHERS.values())} CASCADE")
    fill(project)
    model, differing = OTHERS[name]
    (like,) = model._base_manager.values()
    rows = (model(**{**like, "id": new_id(), **differing(number)}) for number in range(MANY))
    model._base_manager.bulk_create(rows, batch_size=WRITTEN_AT_ONCE)
    for _ in range(MOST_SHOWN):
        fill(ProjectFactory.create())
    execute(f"ANALYZE {model._meta.db_table}")
    for statement in statements(name):
        plan = "\n".join(line for (line,) in fetch_rows(f"EXPLAIN (ANALYZE, COSTS OFF) {statement}"))
        passed_over = sum(map(int, re.findall(r"Rows Removed by Filter: (\d+)", plan)))
        assert passed_over <= MOST_SHOWN, plan
