"""The first rows of many, and both ends of them."""

import pytest

from events.models import Event
from opsapi import first_rows
from opsapi.first_rows import ends_of
from tests.each import each
from tests.integration.events.rows import all_events, fill

pytestmark = pytest.mark.django_db


@each(
    ("there", "shown", "more"),
    [
        (0, [], 0),
        (4, [0, 1, 2, 3], 0),
        (5, [0, 1, 2, 3, 4], 0),
        (6, [0, 1, 2, 4, 5], 1),
        (9, [0, 1, 2, 7, 8], 4),
    ],
    ids=["none", "fewer", "as many as are shown", "one more", "many"],
)
def test_the_newest_and_the_first_are_shown_and_how_many_lie_between(
    there: int, shown: list[int], more: int
) -> None:
    fill(there)
    every = all_events()
    assert ends_of(Event.objects.all(), first=2, newest=3) == ([every[place] for place in shown], more)


def test_rows_in_between_are_counted_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_rows, "MOST_BETWEEN", 7)
    fill(20)
    rows, more = ends_of(Event.objects.all(), first=2, newest=3)
    assert (len(rows), more) == (5, 2)


@pytest.mark.parametrize(
    ("there", "words"),
    [(10, ""), (11, "… and 1 more"), (12, "… and 2 more"), (13, "… and at least 3 more")],
)
def test_a_list_of_first_rows_says_how_many_more_there_are(
    there: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_rows, "MOST_COUNTED", 12)
    fill(there)
    assert first_rows.first_rows(Event.objects.order_by("id")).left_out_words == words
