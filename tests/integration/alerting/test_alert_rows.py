"""The written-out statements read what the ORM would."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.incidents.store import AlertRows, alert_row, alert_rows, row_of
from alerting.models import Alert
from events.types import Severity
from opsapi.api.paging import DeferredRows
from opsapi.fields import WireTime
from opsapi.ids import new_id
from tests.each import each
from tests.factories.accesslist import ProjectFactory

NOON = datetime(2026, 11, 21, 12, 0, 0, 999_999, tzinfo=UTC)
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
STATUSES = [None, *AlertStatus]
PAGES = [
    slice(0, 1),
    slice(0, 5),
    slice(0, 100),
    slice(3, 7),
    slice(8, 9),
    slice(100, 200),
    slice(2**62 - 1, 2**62),
]
GONE = {"has_config": False, "has_host": False}
"""What one alone leads to, of these alerts."""
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def filled(project: Project) -> None:
    """Nine alerts, some created in the same second, with and without what they may have; others elsewhere."""
    for number in range(9):
        make(project, number)
    make(ProjectFactory.create(), 0)


def make(project: Project, number: int) -> Alert:
    """One alert; every second one has all there is."""
    created = NOON + timedelta(seconds=number // 3)
    full: dict[str, Any] = {
        "facts": {"hostname": 'a "quoted" näme', "port": 27017, "clusterName": "c\\1"},
        "metric_name": "CONNECTIONS",
        "current_value": 0.1 + number,
        "tags": ["production", "a, b", ""],
        "resolved": created + timedelta(days=1),
        "last_notified": LONG_AGO,
        "acknowledged_until": NOON + timedelta(days=365 * 5000),
        "acknowledgement_comment": "100 % of %(status)s",
        "acknowledging_username": "ada",
    }
    return Alert.objects.create(
        group=project,
        config_id=new_id(),
        event_type="HOST_DOWN",
        severity=list(Severity)[number % 3].value,
        status=list(AlertStatus)[number % 4].value,
        target_key=str(number),
        created=created,
        updated=created,
        opens=created,
        **(full if number % 2 else {}),
    )


def by_orm(**filters: Any) -> Any:
    """The rows as the ORM reads them."""
    return (
        Alert.objects.filter(**filters)
        .order_by("-created", "-id")
        .values(
            "id",
            "group_id",
            "config_id",
            "is_global",
            "event_type",
            "severity",
            "status",
            "facts",
            "metric_name",
            "current_value",
            "tags",
            "acknowledgement_comment",
            "acknowledging_username",
            wire_created=WireTime("created"),
            wire_updated=WireTime("updated"),
            wire_resolved=WireTime("resolved"),
            wire_last_notified=WireTime("last_notified"),
            wire_acknowledged_until=WireTime("acknowledged_until"),
        )
    )


@each("status", STATUSES)
@each("page", PAGES, ids=lambda page: f"{page.start}-{page.stop}")
def test_a_page_is_what_the_orm_reads(project: Project, status: AlertStatus | None, page: slice) -> None:
    filters = {} if status is None else {"status": status.value}
    expected = list(by_orm(group_id=project.id, **filters)[page])
    assert AlertRows(project.id, status)[page] == expected


@each("of_project", [True, False], ids=["a project", "global"])
@each("status", STATUSES)
def test_a_page_far_down_reads_the_ids_of_all_and_its_own_rows(
    project: Project, status: AlertStatus | None, of_project: bool
) -> None:
    Alert.objects.filter(target_key__in="0369").update(is_global=True)
    filters: dict[str, object] = {"group_id": project.id} if of_project else {"is_global": True}
    filters |= {} if status is None else {"status": status.value}
    far = DeferredRows.FAR
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(DeferredRows, "FAR", 2)
        for start in (1, 2, 3, far):
            with CaptureQueriesContext(connection) as queries:
                found = AlertRows(project.id if of_project else None, status)[start : start + 2]
            assert found == list(by_orm(**filters)[start : start + 2])
            assert ("id IN (SELECT id" in queries.captured_queries[0]["sql"]) is (start >= 2)


@each("status", STATUSES)
def test_the_count_is_that_of_all_rows(project: Project, status: AlertStatus | None) -> None:
    filters = {} if status is None else {"status": status.value}
    expected = by_orm(group_id=project.id, **filters).count()
    assert AlertRows(project.id, status).count() == expected
    assert expected


def test_where_nothing_is_there_is_nothing() -> None:
    rows = AlertRows(new_id())
    assert (rows[0:100], rows.count()) == ([], 0)


def test_an_alert_of_the_orm_has_the_same_row() -> None:
    alerts = Alert.objects.in_bulk()
    rows = {name: row_of(alert) | GONE for name, alert in alerts.items()}
    assert rows == alert_rows(alerts)
    assert alerts


def test_one_is_found_in_its_own_project_only(project: Project) -> None:
    for row in by_orm(group_id=project.id):
        assert alert_row(row["id"], group_id=project.id) == {**row, **GONE}
        assert alert_row(row["id"], group_id=new_id()) is None
    assert alert_row(new_id(), group_id=project.id) is None


class TestGlobal:
    """Alerts of global configurations, in all projects."""

    @pytest.fixture(autouse=True)
    def _global(self, project: Project) -> None:
        """Every third of them, in both projects."""
        Alert.objects.filter(target_key__in="0369").update(is_global=True)

    @each("status", STATUSES)
    @each("page", PAGES, ids=lambda page: f"{page.start}-{page.stop}")
    def test_a_page_is_what_the_orm_reads(self, status: AlertStatus | None, page: slice) -> None:
        filters = {"is_global": True, **({} if status is None else {"status": status.value})}
        assert AlertRows(None, status)[page] == list(by_orm(**filters)[page])
        assert AlertRows(None, status).count() == by_orm(**filters).count()

    def test_one_is_found_wherever_it_is(self) -> None:
        for row in by_orm():
            assert alert_row(row["id"], group_id=None) == ({**row, **GONE} if row["is_global"] else None)

    def test_deleted_projects_are_left_out(self, project: Project) -> None:
        expected = list(by_orm(is_global=True).exclude(group_id=project.id))
        Project.objects.filter(id=project.id).update(deleted=NOON, org=None)
        assert AlertRows(None)[0:100] == expected
        assert AlertRows(None).count() == len(expected) == 1
        assert not any(alert_row(row["id"], group_id=None) for row in by_orm(group_id=project.id))


def test_alerts_of_one_configuration_are_found(project: Project) -> None:
    for row in by_orm(group_id=project.id):
        of_config = {"config_id": row["config_id"]}
        assert AlertRows(project.id, **of_config)[0:100] == [row]
        assert AlertRows(project.id, row["status"], **of_config).count() == 1
        assert AlertRows(new_id(), **of_config).count() == 0


@each("text", ["' OR 1=1 --", "%s", "%(group_id)s", "\\", "OPEN'"])
def test_a_filter_is_a_value_whatever_it_holds(project: Project, text: str) -> None:
    assert AlertRows(project.id, text)[0:100] == []
    assert AlertRows(text).count() == 0
    assert alert_row(text, group_id=project.id) is None
