"""Looking for events: what is found, page by page, and by which index."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.log import search as searching
from events.log.search import Direction, EventSearch, SearchPage, search_page
from events.log.store import EventPosition
from events.models import Event
from opsapi.api.principal import VisibleScope
from opsapi.sql import fetch_rows
from tests.integration.events.rows import NOW, ORG, STEP, all_events, fill, group

pytestmark = pytest.mark.django_db

EVERYTHING = VisibleScope(everything=True)
READER = VisibleScope(group_ids=frozenset({group(1), group(2)}))
MEMBER = VisibleScope(group_ids=frozenset({group(1)}), org_ids=frozenset({ORG}))
MANY = VisibleScope(group_ids=frozenset(group(number) for number in range(100)))
SOME_TYPES = ("HOST_DOWN", "TEAM_CREATED")

Holds = Callable[[Event], bool]
CASES: dict[str, tuple[EventSearch, Holds]] = {
    "everything": (EventSearch(visible_scope=EVERYTHING), lambda event: True),
    "nothing that may be read": (EventSearch(visible_scope=VisibleScope()), lambda event: False),
    "a reader of two projects": (
        EventSearch(visible_scope=READER),
        lambda event: event.group_id in READER.group_ids,
    ),
    "a member of an organization": (
        EventSearch(visible_scope=MEMBER),
        lambda event: event.group_id == group(1) or event.org_id == ORG,
    ),
    "more projects than are followed one by one": (
        EventSearch(visible_scope=MANY, event_types=SOME_TYPES),
        lambda event: event.group_id in MANY.group_ids and event.event_type in SOME_TYPES,
    ),
    "a project": (
        EventSearch(visible_scope=READER, group_id=group(1)),
        lambda event: event.group_id == group(1),
    ),
    "a project that may not be read": (
        EventSearch(visible_scope=READER, group_id=group(3)),
        lambda event: False,
    ),
    "types": (
        EventSearch(visible_scope=EVERYTHING, event_types=SOME_TYPES),
        lambda event: event.event_type in SOME_TYPES,
    ),
    "types in projects": (
        EventSearch(visible_scope=READER, event_types=SOME_TYPES),
        lambda event: event.group_id in READER.group_ids and event.event_type in SOME_TYPES,
    ),
    "a user": (
        EventSearch(visible_scope=EVERYTHING, who="user4"),
        lambda event: event.details.get("username") == "user4",
    ),
    "a key": (
        EventSearch(visible_scope=EVERYTHING, who="key3"),
        lambda event: event.details.get("publicKey") == "key3",
    ),
    "a user within reach": (
        EventSearch(visible_scope=READER, who="user4"),
        lambda event: event.details.get("username") == "user4" and event.group_id in READER.group_ids,
    ),
    "a user in a project that may not be read": (
        EventSearch(visible_scope=READER, who="user4", group_id=group(3)),
        lambda event: False,
    ),
    "an address": (
        EventSearch(visible_scope=EVERYTHING, remote_address="198.51.100.1"),
        lambda event: event.details.get("remoteAddress") == "198.51.100.1",
    ),
    "a host": (
        EventSearch(visible_scope=EVERYTHING, hostname="db7"),
        lambda event: event.details.get("hostname") == "db7",
    ),
    "an alert": (
        EventSearch(visible_scope=EVERYTHING, alert_id="2".rjust(24, "c")),
        lambda event: event.alert_id == "2".rjust(24, "c"),
    ),
    "an object": (
        EventSearch(visible_scope=EVERYTHING, object_name="host1"),
        lambda event: _is_about(event, "host1"),
    ),
    "types of an object for a reader": (
        EventSearch(visible_scope=READER, event_types=SOME_TYPES, object_name="host2"),
        lambda event: (
            event.group_id in READER.group_ids
            and event.event_type in SOME_TYPES
            and _is_about(event, "host2")
        ),
    ),
    "a host and an object": (
        EventSearch(visible_scope=EVERYTHING, hostname="db7", object_name="host3"),
        lambda event: event.details.get("hostname") == "db7" and _is_about(event, "host3"),
    ),
    "an object in a project that may not be read": (
        EventSearch(visible_scope=READER, group_id=group(3), object_name="host1"),
        lambda event: False,
    ),
    "all of it together": (
        EventSearch(
            visible_scope=EVERYTHING,
            group_id=group(10),
            event_types=("HOST_UP",),
            who="user4",
            hostname="db10",
            start=NOW - 1500 * STEP,
            end=NOW,
        ),
        lambda event: (
            event.group_id == group(10)
            and event.event_type == "HOST_UP"
            and event.details.get("username") == "user4"
            and event.details["hostname"] == "db10"
            and event.created >= NOW - 1500 * STEP
        ),
    ),
    "a range of time, its ends included": (
        EventSearch(visible_scope=EVERYTHING, start=NOW - 70 * STEP, end=NOW - 10 * STEP),
        lambda event: NOW - 70 * STEP <= event.created <= NOW - 10 * STEP,
    ),
}


def _is_about(event: Event, name: str) -> bool:
    return event.details.get("hostId") == name or any(diff["id"] == name for diff in event.diffs)


cases = pytest.mark.parametrize(("search", "holds"), CASES.values(), ids=CASES)


def _pages(search: EventSearch, size: int, direction: Direction) -> Iterator[SearchPage]:
    place = None
    while True:
        page = search_page(search, size=size, place=place, direction=direction)
        yield page
        if page.next is None:
            return
        assert page.next != place
        place = page.next


@cases
def test_pages_hold_what_is_searched_for_newest_first(search: EventSearch, holds: Holds) -> None:
    fill(1_500)
    expected = [event.id for event in all_events() if holds(event)]
    pages = list(_pages(search, 17, Direction.OLDER))
    assert [event.id for page in pages for event in page.events] == expected
    assert all(len(page.events) == 17 for page in pages[:-1])


@cases
def test_pages_towards_the_newest_hold_the_same(search: EventSearch, holds: Holds) -> None:
    fill(300)
    expected = [event.id for event in all_events() if holds(event)]
    pages = list(_pages(search, 17, Direction.NEWER))
    assert [event.id for page in reversed(pages) for event in page.events] == expected


@pytest.mark.parametrize("direction", Direction)
def test_a_search_looks_only_so_far_at_once_and_goes_on_from_there(
    direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "LOOKED_BACK", 3)
    fill(1_200)
    search = EventSearch(visible_scope=EVERYTHING, who="user4", hostname="db4")
    expected = [
        event.id
        for event in all_events()
        if (event.details.get("username"), event.details["hostname"]) == ("user4", "db4")
    ]
    pages = list(_pages(search, 50, direction))
    assert expected
    assert sorted(event.id for page in pages for event in page.events) == sorted(expected)
    assert len(pages) > 1
    for page in pages[:-1]:
        assert page.looked_to == page.next
    assert pages[-1].looked_to is None


@pytest.mark.parametrize("direction", Direction)
def test_the_history_of_an_object_is_searched_in_parts(
    direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "LOOKED_BACK", 5)
    fill(600)
    search = EventSearch(visible_scope=READER, event_types=("HOST_UP", "HOST_DOWN"), object_name="host1")
    expected = [
        event.id
        for event in all_events()
        if event.group_id in READER.group_ids
        and event.event_type in search.event_types
        and _is_about(event, "host1")
    ]
    pages = list(_pages(search, 50, direction))
    assert expected
    assert sorted(event.id for page in pages for event in page.events) == sorted(expected)
    assert len(pages) > 1


def test_events_of_one_moment_are_in_no_two_pages_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "LOOKED_BACK", 7)
    fill(300)
    Event.objects.update(created=NOW)
    for search in (
        EventSearch(visible_scope=EVERYTHING),
        EventSearch(visible_scope=READER),
        EventSearch(visible_scope=MANY, event_types=("HOST_UP",)),
    ):
        for direction in Direction:
            found = [event.id for page in _pages(search, 5, direction) for event in page.events]
            assert len(found) == len(set(found))
            assert len(found) == sum(_readable(event, search) for event in all_events())


def _readable(event: Event, search: EventSearch) -> bool:
    return (search.visible_scope.everything or event.group_id in search.visible_scope.group_ids) and (
        not search.event_types or event.event_type in search.event_types
    )


def test_a_place_without_an_event_does_as_well() -> None:
    fill(20)
    place = EventPosition(NOW - 10 * STEP - timedelta(seconds=1), "0" * 24)
    older = search_page(EventSearch(visible_scope=EVERYTHING), size=5, place=place)
    assert [event.created for event in older.events] == [NOW - n * STEP for n in range(11, 16)]


# What a filter follows, however few or many events there are: the first page, a deep one, one backwards.
FOLLOWED = {
    "everything": (EventSearch(visible_scope=EVERYTHING), {"event_newest"}),
    "a project": (EventSearch(visible_scope=EVERYTHING, group_id=group(3)), {"event_group_newest"}),
    "a reader": (EventSearch(visible_scope=READER), {"event_group_newest"}),
    "a member": (EventSearch(visible_scope=MEMBER), {"event_group_newest", "event_org_newest"}),
    "types": (
        EventSearch(visible_scope=EVERYTHING, event_types=("TEAM_CREATED", "NEW_HOST")),
        {"event_type_newest"},
    ),
    "types of a project": (
        EventSearch(visible_scope=EVERYTHING, group_id=group(3), event_types=("NEW_HOST",)),
        {"event_group_type_newest"},
    ),
    "types for a reader": (
        EventSearch(visible_scope=READER, event_types=("NEW_HOST",)),
        {"event_group_type_newest"},
    ),
    "a user": (EventSearch(visible_scope=EVERYTHING, who="user4"), {"event_who_newest"}),
    "a user within reach": (EventSearch(visible_scope=READER, who="user4"), {"event_who_newest"}),
    "an address": (
        EventSearch(visible_scope=EVERYTHING, remote_address="192.0.2.6"),
        {"event_address_newest"},
    ),
    "a host": (EventSearch(visible_scope=EVERYTHING, hostname="db7"), {"event_hostname_newest"}),
    "a host and a type": (
        EventSearch(visible_scope=EVERYTHING, hostname="db7", event_types=("HOST_UP",)),
        {"event_hostname_newest"},
    ),
    "an alert": (EventSearch(visible_scope=EVERYTHING, alert_id="2".rjust(24, "c")), {"event_alert"}),
    "the history of an object": (
        EventSearch(
            visible_scope=EVERYTHING,
            group_id=group(3),
            event_types=("NEW_HOST", "HOST_UP"),
            object_name="host1",
        ),
        {"event_group_type_newest"},
    ),
    "a day": (EventSearch(visible_scope=EVERYTHING, start=NOW - timedelta(hours=20)), {"event_newest"}),
}


@pytest.mark.slow
def test_every_filter_goes_down_its_index_and_reads_little_of_it() -> None:
    fill(40_000)
    middle = EventPosition(NOW - 20_000 * STEP, "0" * 24)
    for name, (search, indexes) in FOLLOWED.items():
        for place, direction in ((None, "older"), (middle, "older"), (middle, "newer")):
            plans = _plans(search, place, Direction(direction))
            followed, *_ = plans
            assert _indexes(followed) == indexes, (name, followed)
            for plan in plans:
                assert "Seq Scan" not in plan, (name, plan)


def _plans(search: EventSearch, place: EventPosition | None, direction: Direction) -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        search_page(search, size=50, place=place, direction=direction)
    return [_plan(query["sql"]) for query in queries]


def _plan(statement: str) -> str:
    return "\n".join(line for (line,) in fetch_rows("EXPLAIN " + statement.replace("%", "%%"), []))


def _indexes(plan: str) -> set[str]:
    return set(re.findall(r"(?:using|Index Scan on) (\w+)", plan))


def test_nothing_is_counted_and_nothing_far_is_skipped() -> None:
    fill(100)
    for search, _ in FOLLOWED.values():
        with CaptureQueriesContext(connection) as queries:
            search_page(search, size=50)
        assert len(queries) <= 2
        text = " ".join(query["sql"] for query in queries)
        assert "COUNT(" not in text
        assert {int(number) for number in re.findall(r"OFFSET (\d+)", text)} <= {searching.LOOKED_BACK - 1}
