"""The list of events as CSV."""

import csv
import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import islice
from typing import Any

import pytest
from django.conf import settings
from django.core.signals import request_finished
from django.db import close_old_connections, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from events.choices import DiffType
from events.diffs import diff
from events.log import csv as events_file
from events.log import search as searching
from events.log.csv import LONGEST, Download, DownloadSlots, Full, events_csv
from events.log.search import EventSearch
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind, VisibleScope
from tests.admin.event_pages import ADA, CSV, LIST, record, rows
from tests.admin.rows import fill
from tests.each import each

NOW = datetime(2099, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def test_a_row_holds_all_of_an_event(console: Client, project: Project) -> None:
    event = record(project, EventType.HOST_DOWN, ADA, hostname="db1.example.com", alert_id="2" * 24)
    Event.objects.filter(id=event.id).update(diffs=diff(DiffType.GROUP, "x", new={"name": "é"}))
    (row,) = rows(console)
    assert row == {
        "id": event.id,
        "created": clock.wire_time(event.created),
        "eventTypeName": "HOST_DOWN",
        "groupId": project.id,
        "groupName": project.name,
        "orgId": "",
        "alertId": "2" * 24,
        "who": "ada@example.com",
        "remoteAddress": "192.0.2.7",
        "target": "db1.example.com:27017",
        "details": row["details"],
        "changes": '[{"id":"x","type":"GROUP","params":[{"new":"é","param":"name","display":"name"}],'
        '"status":"NEW"}]',
    }
    assert '"username":"ada@example.com"' in row["details"]


def test_it_is_a_download_and_nothing_runs_in_it(console: Client, project: Project) -> None:
    Project.objects.filter(id=project.id).update(name="=cmd|' /C calc'!A0")
    record(project, actor=Actor(ActorKind.USER, "0" * 24, "+ada;@SUM(A1)", remote_address="192.0.2.7"))
    answer: Any = console.get(CSV)
    assert re.fullmatch(r'attachment; filename="events-\d{8}T\d{6}Z\.csv"', answer["Content-Disposition"])
    text = b"".join(answer.streaming_content).decode()
    assert "\"'=cmd|' /C calc'!A0\"" in text
    assert "\"'+ada;'@SUM(A1)\"" in text
    assert r'""\u002bada;\u0040SUM(A1)""' in text


def test_no_secret_is_in_it(console: Client, project: Project) -> None:
    fill(project)
    assert "canary" not in "".join(str(row) for row in rows(console))


def test_it_is_read_in_parts_and_no_transaction_stays_open(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_file, "_AT_ONCE", 2)
    made = [record(project, ago=timedelta(minutes=number)).id for number in range(5)]
    with CaptureQueriesContext(connection) as queries:
        assert [row["id"] for row in rows(console)] == made
    reads = [query["sql"] for query in queries if 'FROM "events_event"' in query["sql"]]
    assert len(reads) == 3
    assert all("LIMIT 3" in sql for sql in reads)
    assert not [query for query in queries if "DECLARE" in query["sql"]]


def test_one_that_is_cut_says_so_in_its_last_line(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_file, "_AT_ONCE", 2)
    monkeypatch.setattr(events_file, "MOST_ROWS", 4)
    made = [record(project, ago=timedelta(minutes=number)) for number in range(5)]
    *found, last = rows(console)
    assert [row["id"] for row in found] == [event.id for event in made[:4]]
    assert last["id"].startswith("The file ends after 4 events; there may be more older than ")
    assert set(last.values()) == {last["id"], ""}
    Event.objects.filter(id=made[4].id).delete()
    assert [row["id"] for row in rows(console)] == [event.id for event in made[:4]]


def test_a_search_of_little_ends_too(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (searching, events_file):
        monkeypatch.setattr(module, "LOOKED_BACK", 2)
    monkeypatch.setattr(events_file, "MOST_ROWS", 4)
    for number in range(9):
        record(project, actor=ADA, ago=timedelta(minutes=number))
    (last,) = rows(console, who="ada@example.com", type="JOINED_GROUP")
    assert last["id"].startswith("The file ends")


def test_one_that_takes_too_long_ends_and_says_so(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_file, "_AT_ONCE", 2)
    made = [record(project, ago=timedelta(minutes=number)).id for number in range(5)]
    search = EventSearch(visible_scope=VisibleScope(everything=True))
    times = iter([NOW, NOW, NOW + LONGEST - timedelta(seconds=1), NOW + LONGEST])
    text = "".join(events_csv(search, names=lambda _ids: {}, clock=lambda: next(times)))
    _columns, *found, last = csv.reader(StringIO(text, newline=""))
    assert [row[0] for row in found] == made[:4]
    assert last[0].startswith("The file ends after 10 minutes; there may be more older than ")


class TestAtATime:
    """As many as a process writes: here one."""

    @pytest.fixture(autouse=True)
    def one_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(events_file, "_slots", DownloadSlots(1))

    def test_another_one_is_asked_to_wait(self, console: Client, project: Project, monitor: Client) -> None:
        first = monitor.get(CSV)
        second = console.get(CSV, {"type": "HOST_DOWN"})
        assert (first.status_code, second.status_code, second["Retry-After"]) == (200, 429, "30")
        page = second.content.decode()
        assert "Too many downloads" in page
        assert Full.OF_ALL in page
        assert f'href="{LIST}?type=HOST_DOWN"' in page
        _gone(first)

    def test_wrong_filters_take_no_place(self, console: Client) -> None:
        assert console.get(CSV, {"type": "NONSENSE"}).status_code == 400
        assert console.get(CSV).status_code == 200

    def test_the_place_is_free_once_it_was_read(self, console: Client, project: Project) -> None:
        record(project)
        assert rows(console)
        assert rows(console)

    def test_the_place_is_free_when_nobody_reads_it(self, console: Client) -> None:
        _gone(console.get(CSV))
        assert console.get(CSV).status_code == 200

    @each("parts_read", [0, 1, 2], ids=["unread", "begun", "read"])
    def test_the_place_is_given_back_once(self, parts_read: int) -> None:
        file = written("a", "b")
        assert isinstance(file, Download)
        assert len([*islice(file, parts_read)]) == parts_read
        file.close()
        file.close()
        assert list(file) == []
        second = written()
        assert isinstance(second, Download)
        assert written(user_id="b" * 24) is Full.OF_ALL

    def test_the_place_is_free_after_a_fault(
        self, console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr(events_file, "search_page", _broken)
            answer: Any = console.get(CSV)
            with pytest.raises(OSError, match="gone"):
                b"".join(answer.streaming_content)
        assert console.get(CSV).status_code == 200

    def test_the_place_is_free_when_nobody_closes_it(self) -> None:
        file = written("a", "b")
        assert isinstance(file, Download)
        assert written(user_id="b" * 24) is Full.OF_ALL
        del file
        assert isinstance(written(), Download)


def test_an_operator_has_one_at_a_time_however_many_places_there_are(
    console: Client, project: Project, monitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events_file, "_slots", DownloadSlots(8))
    first, of_another = console.get(CSV), monitor.get(CSV)
    second = console.get(CSV)
    assert [response.status_code for response in (first, of_another, second)] == [200, 200, 429]
    assert (second["Retry-After"], Full.OF_ONE in second.text) == ("30", True)
    _gone(first)
    assert console.get(CSV).status_code == 200


@each(
    ("most", "taken", "refused_text"),
    [
        (1, "", None),
        (1, "a", Full.OF_ONE),
        (1, "b", Full.OF_ALL),
        (2, "a", Full.OF_ONE),
        (2, "b", None),
        (2, "bc", Full.OF_ALL),
        (2, "ab", Full.OF_ONE),
        (3, "bc", None),
    ],
)
def test_who_has_a_place(most: int, taken: str, refused_text: Full | None) -> None:
    places = DownloadSlots(most)
    assert [places.take(place) for place in taken] == [None] * len(taken)
    assert places.take("a") is refused_text


def test_most_threads_are_for_everybody_else() -> None:
    assert 1 <= events_file.MOST_AT_ONCE <= max(1, settings.OPSAPI_THREADS // 4)


def written(*parts: str, user_id: str = "a" * 24) -> Download | Full:
    """A file of these parts, for that operator."""
    return events_file.download((part for part in parts), user_id=user_id)


def _broken(*_args: object, **_options: object) -> None:
    raise OSError("the database is gone")


def _gone(answer: Any) -> None:
    """As what serves a response ends it; the connection is the test's, as in Django's own client."""
    request_finished.disconnect(close_old_connections)
    answer.close()
    request_finished.connect(close_old_connections)
