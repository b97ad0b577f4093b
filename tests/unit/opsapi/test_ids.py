"""Identifiers: 24 lower-case hex characters, ordered by time."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from opsapi import ids
from opsapi.ids import first_id, is_id, new_id
from tests.each import each


def test_an_id_has_24_lower_case_hex_characters() -> None:
    assert re.fullmatch(r"[0-9a-f]{24}", new_id())


def test_ids_of_a_process_increase() -> None:
    made = [new_id() for _ in range(5000)]
    assert made == sorted(set(made))


def test_threads_never_share_an_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_id(), range(4000)))
    assert len(set(made)) == 4000


def test_a_later_id_is_greater() -> None:
    with time_machine.travel(4_000_000_000, tick=False):
        earlier = new_id()
    with time_machine.travel(4_000_000_001, tick=False):
        assert new_id() > earlier


def test_an_id_is_greater_even_after_the_clock_was_set_back() -> None:
    with time_machine.travel(4_100_000_000, tick=False):
        before = new_id()
    assert new_id() > before


@each(
    ("text", "expected"),
    [
        ("0123456789abcdef01234567", True),
        ("0123456789abcdef0123456", False),
        ("0123456789abcdef012345678", False),
        ("0123456789ABCDEF01234567", False),
        ("0123456789abcdef0123456g", False),
        ("0123456789abcdef01234567\n", False),
        ("٠١٢٣٤٥٦٧٨٩abcdef01234567", False),
        ("", False),
    ],
)
def test_it_knows_the_form_of_an_id(text: str, expected: bool) -> None:
    assert is_id(text) is expected


def test_the_first_id_of_a_moment_separates_earlier_and_later_ids(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One that has not yet gone on to a time still later.
    monkeypatch.setattr(ids, "_sequence", ids._Sequence())
    moment = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
    with time_machine.travel(moment - timedelta(milliseconds=1), tick=False):
        before = new_id()
    with time_machine.travel(moment, tick=False):
        after = new_id()
    assert before < first_id(moment) <= after


@each(
    ("moment", "expected"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), "0" * 24),
        (datetime(1969, 12, 31, tzinfo=UTC), "0" * 24),
        (datetime(1970, 1, 1, 0, 0, 0, 1_000, tzinfo=UTC), "000000000001" + "0" * 12),
        (datetime(9999, 12, 31, tzinfo=UTC), "e677ccf98000" + "0" * 12),
    ],
    ids=str,
)
def test_the_first_id_of_any_moment_is_an_id(moment: datetime, expected: str) -> None:
    assert is_id(first_id(moment))
    assert first_id(moment) == expected
