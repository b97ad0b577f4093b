"""The events of a day, counted hour by hour and remembered for a while."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from events.log.panels import GROUPS, HOURS, EventGroup, event_hours
from events.models import Event
from events.types import Category
from opsapi.api.principal import VisibleScope
from opsapi.ids import new_id
from tests.each import each
from tests.factories.accesslist import ProjectFactory

NOW = datetime(2099, 11, 21, 12, 34, 56, tzinfo=UTC)
NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
ALL = VisibleScope(everything=True)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def make_event(
    created: datetime = NOW,
    *,
    event_type: str = "HOST_DOWN",
    group_id: str | None = None,
    org_id: str | None = None,
) -> None:
    """An event as retention and late reports leave them: at any time."""
    Event.objects.create(
        created=created, event_type=event_type, group_id=group_id or new_id(), org_id=org_id, details={}
    )


def found(visible_scope: VisibleScope = ALL, now: datetime = NOW) -> dict[tuple[datetime, EventGroup], int]:
    """What is counted, without the zeros."""
    hours = event_hours(visible_scope=visible_scope, now=now)
    return {(hour.start, group): count for hour in hours for group, count in hour.counts.items() if count}


def test_every_category_belongs_to_a_group() -> None:
    assert set(GROUPS) == set(Category)
    assert set(GROUPS.values()) == set(EventGroup)


def test_every_hour_of_a_day_is_there_and_the_last_one_runs() -> None:
    hours = event_hours(visible_scope=ALL, now=NOW)
    assert [hour.start for hour in hours] == [NOON - (HOURS - 1 - place) * HOUR for place in range(HOURS)]
    assert {tuple(hour.counts.items()) for hour in hours} == {tuple((group, 0) for group in EventGroup)}


@pytest.mark.parametrize(
    ("created", "start"),
    [
        (NOON - 23 * HOUR - SECOND, None),
        (NOON - 23 * HOUR, NOON - 23 * HOUR),
        (NOON - SECOND, NOON - HOUR),
        (NOON, NOON),
        (NOW, NOON),
        (NOON + HOUR, None),
    ],
    ids=[
        "before the first",
        "begins the first",
        "ends the last but one",
        "begins the last",
        "now",
        "after it",
    ],
)
def test_an_event_counts_in_its_hour(created: datetime, start: datetime | None) -> None:
    make_event(created)
    assert found() == ({(start, EventGroup.FLEET): 1} if start else {})


def test_hours_are_in_utc_in_any_time_zone() -> None:
    make_event(NOON)
    assert found(now=NOW.astimezone(timezone(timedelta(hours=5, minutes=30)))) == {
        (NOON, EventGroup.FLEET): 1
    }


def test_categories_are_distinguished_by_their_groups() -> None:
    for event_type in ("HOST_DOWN", "NO_PRIMARY", "NEW_AGENT", "OPLOG_BEHIND", "ALERT_ACKNOWLEDGED_AUDIT"):
        make_event(event_type=event_type)
    make_event(event_type="USER_CREATED_AUDIT")
    assert found() == {
        (NOON, EventGroup.FLEET): 2,
        (NOON, EventGroup.AGENTS): 1,
        (NOON, EventGroup.BACKUP): 1,
        (NOON, EventGroup.ALERTING): 1,
        (NOON, EventGroup.ACCESS): 1,
    }


def test_a_reader_of_some_projects_gets_their_number_of_events(project: Project) -> None:
    mine, other = ProjectFactory.create_batch(2)
    for a_project in (project, mine, other):
        make_event(group_id=a_project.id)
    org_id = str(mine.org_id)
    make_event(org_id=org_id, event_type="TEAM_CREATED")
    make_event(org_id=str(other.org_id), event_type="TEAM_CREATED")
    visible_scope = VisibleScope(group_ids=frozenset({project.id, mine.id}), org_ids=frozenset({org_id}))
    assert found(visible_scope) == {(NOON, EventGroup.FLEET): 2, (NOON, EventGroup.ACCESS): 1}
    assert found(VisibleScope()) == {}
    assert found(VisibleScope(group_ids=frozenset({other.id}))) == {(NOON, EventGroup.FLEET): 1}


def test_organizations_are_not_taken_for_projects(project: Project) -> None:
    make_event(group_id=project.id)
    assert found(VisibleScope(org_ids=frozenset({project.id}))) == {}
    assert found(VisibleScope(group_ids=frozenset({project.id}))) == {(NOON, EventGroup.FLEET): 1}


def statements(now: datetime) -> int:
    """What is asked of the database."""
    with CaptureQueriesContext(connection) as queries:
        event_hours(visible_scope=ALL, now=now)
    return len(queries)


def test_what_was_counted_is_remembered() -> None:
    first = NOON + 30 * MINUTE
    assert [statements(first + ago) for ago in (0 * SECOND, 9 * SECOND)] == [2, 0]


def test_the_running_hour_is_counted_again_after_seconds_and_the_past_only_if_it_changed() -> None:
    first = NOON + 30 * MINUTE
    statements(first)
    make_event(NOON)
    assert found(now=first + 9 * SECOND) == {}
    assert statements(first + 10 * SECOND) == 2
    assert found(now=first + 10 * SECOND) == {(NOON, EventGroup.FLEET): 1}
    assert statements(first + 20 * SECOND) == 2


@each("hours", [1, 12, 23])
def test_past_hours_that_change_are_counted_again(hours: int) -> None:
    first, late = NOON + 30 * MINUTE, NOON - hours * HOUR
    cache.clear()
    statements(first)
    make_event(late)
    assert statements(first + 10 * SECOND) == 2
    assert found(now=first + 10 * SECOND) == {(late, EventGroup.FLEET): 1}
    Event.objects.all().delete()
    assert found(now=first + 20 * SECOND) == {}


def test_a_reader_of_projects_sees_their_past_change_and_counts_no_other_again(project: Project) -> None:
    other = ProjectFactory.create()
    visible_scope = VisibleScope(group_ids=frozenset({project.id}), org_ids=frozenset({str(project.org_id)}))
    assert found(visible_scope) == {}
    make_event(NOON - HOUR, group_id=other.id)
    with CaptureQueriesContext(connection) as queries:
        assert found(visible_scope, NOW + 10 * SECOND) == {}
    assert len(queries) == 2
    make_event(NOON - HOUR, group_id=project.id, org_id=str(project.org_id))
    make_event(NOON, group_id=project.id, org_id=str(project.org_id))
    expected = {(NOON - HOUR, EventGroup.FLEET): 1, (NOON, EventGroup.FLEET): 1}
    assert found(visible_scope, NOW + 20 * SECOND) == expected
    with CaptureQueriesContext(connection) as queries:
        assert found(visible_scope, NOW + 30 * SECOND) == expected
    assert len(queries) == 2


def test_an_hour_that_ended_is_counted_whole() -> None:
    assert found(now=NOON - SECOND) == {}
    make_event(NOON - SECOND)
    assert found(now=NOON) == {(NOON - HOUR, EventGroup.FLEET): 1}
