"""Identifiers: 24 lower-case hex characters, time-ordered (decisions 1)."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine

from opsapi.ids import is_id, new_id


def test_an_id_has_24_lower_case_hex_characters() -> None:
    assert re.fullmatch(r"[0-9a-f]{24}", new_id())


def test_ids_of_one_process_grow() -> None:
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


def test_an_id_made_after_the_clock_stepped_back_is_still_greater() -> None:
    with time_machine.travel(4_100_000_000, tick=False):
        before = new_id()
    assert new_id() > before


@pytest.mark.parametrize(
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
