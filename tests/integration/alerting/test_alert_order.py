"""The one order of alerts, page by page, and what it costs."""

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.incidents.changes import WRITTEN_AT_ONCE
from alerting.incidents.store import active_first_rows, urgent_first
from alerting.models import Alert
from opsapi.ids import new_id
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.alerting import make_alert
from tests.integration.alerting.overviews import DAY, HOUR, NOW, SECOND, aged

pytestmark = pytest.mark.django_db


def names(rows: list[Alert]) -> list[str]:
    return [row.target_key for row in rows]


@pytest.fixture
def in_order(project: Project) -> list[str]:
    """Two of each kind, named in the order they are to be shown in."""
    kinds: dict[str, dict[str, Any]] = {
        "open": {},
        "lapsed": {"acknowledged_until": NOW},
        "pending": {"status": "TRACKING"},
        "acknowledged": {"acknowledged_until": NOW + SECOND},
        "closed": {"status": "CLOSED", "resolved": NOW, "acknowledged_until": NOW + DAY},
        "cancelled": {"status": "CANCELLED", "resolved": NOW},
    }
    # What is over began last: the order does not follow from the time alone.
    ages = {"open": 10, "lapsed": 11, "pending": 12, "acknowledged": 9, "closed": 1, "cancelled": 2}
    for name, changes in reversed(kinds.items()):
        for place in (1, 0):
            aged(project, ages[name] * HOUR + place * SECOND, target_key=f"{name} {place}", **changes)
    return [f"{name} {place}" for name in kinds for place in (0, 1)]


def test_the_newest_unacknowledged_comes_first(in_order: list[str]) -> None:
    assert names(urgent_first(Alert.objects.all(), 0, 50, now=NOW)) == in_order


@pytest.mark.slow
def test_any_part_of_it_is_as_in_the_whole(in_order: list[str]) -> None:
    ends = range(len(in_order) + 3)
    for start, stop in permutations(ends, 2):
        if start < stop:
            assert names(urgent_first(Alert.objects.all(), start, stop, now=NOW)) == in_order[start:stop]


def test_the_first_active_ones_are_in_the_same_order(in_order: list[str]) -> None:
    found = active_first_rows(Alert.objects.all(), now=NOW)
    assert (names(list(found.rows)), found.count) == (in_order[:8], 8)


def test_of_the_same_moment_the_later_created_comes_first(project: Project) -> None:
    made = [aged(project, HOUR).id for _ in range(3)]
    assert [alert.id for alert in urgent_first(Alert.objects.all(), 0, 9, now=NOW)] == sorted(
        made, reverse=True
    )


MANY = 3000


@pytest.fixture
def many(project: Project) -> None:
    """Alerts that are open, and many more that have ended."""
    (like,) = Alert.objects.filter(id=make_alert(project, status="CLOSED", created=NOW - DAY).id).values()
    for number in range(60):
        make_alert(project, created=NOW - number * SECOND)
    rows = (
        Alert(**{**like, "id": new_id(), "target_key": str(number), "created": NOW - timedelta(hours=number)})
        for number in range(MANY)
    )
    Alert.objects.bulk_create(rows, batch_size=WRITTEN_AT_ONCE)
    execute("ANALYZE alerting_alert")


@pytest.mark.slow
@pytest.mark.usefixtures("many")
@each("of_project", [False, True], ids=["everything", "a project"])
@each("status", ["", "OPEN", "CLOSED"])
def test_no_page_reads_what_it_does_not_show(project: Project, of_project: bool, status: str) -> None:
    rows: QuerySet[Alert] = Alert.objects.filter(group=project) if of_project else Alert.objects.all()
    rows = rows.filter(status=status) if status else rows
    for start in (0, 50, 200):
        with CaptureQueriesContext(connection) as queries:
            urgent_first(rows, start, start + 50, now=NOW)
        for query in queries.captured_queries:
            assert _read(query["sql"]) <= start + 50 + 61, query["sql"]


def _read(statement: str) -> int:
    """How many rows it takes out of the table.

    It does not count the entries of a bitmap index scan, which include rows that other tests rolled back.
    """
    ((plans,),) = fetch_rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
    return sum(_of_plan(plan["Plan"]) for plan in plans)


def _of_plan(plan: dict[str, Any]) -> int:
    inner = sum(_of_plan(child) for child in plan.get("Plans", ()))
    is_scan = "Scan" in plan["Node Type"] and plan["Node Type"] != "Bitmap Index Scan"
    counts = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck")
    return sum(int(plan.get(count, 0)) for count in counts if is_scan) + inner
