"""Signed nonces: their shape, their lifetime to the millisecond, and forgeries."""

import re
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from accesslist.digest.rules import NONCE_LIFETIME, NONCE_SKEW, is_valid_nonce, mint_nonce
from tests.each import each

KEY = b"k" * 32
NOW = datetime(2026, 11, 21, 7, 26, 14, 123456, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def test_it_mints_32_url_safe_characters_that_are_valid_at_once() -> None:
    for nonce in (mint_nonce(KEY, NOW) for _ in range(100)):
        assert re.fullmatch(r"[A-Za-z0-9_-]{32}", nonce)
        assert is_valid_nonce(nonce, KEY, NOW)


def test_it_mints_another_nonce_every_time() -> None:
    assert len({mint_nonce(KEY, NOW) for _ in range(100)}) == 100


@each(
    ("age", "valid"),
    [
        (timedelta(0), True),
        (NONCE_LIFETIME - MILLISECOND, True),
        (NONCE_LIFETIME, False),
        (NONCE_LIFETIME + MILLISECOND, False),
        (timedelta(days=3650), False),
        (-NONCE_SKEW, True),
        (-NONCE_SKEW - MILLISECOND, False),
        (-timedelta(days=3650), False),
    ],
)
def test_it_judges_by_age(age: timedelta, valid: bool) -> None:
    assert is_valid_nonce(mint_nonce(KEY, NOW - age), KEY, NOW) is valid


@each(
    ("not_before", "valid"),
    [
        (None, True),
        (NOW - NONCE_LIFETIME, True),
        (NOW, True),
        (NOW + MILLISECOND, False),
    ],
)
def test_a_nonce_older_than_the_database_start_is_not_valid(not_before: datetime | None, valid: bool) -> None:
    assert is_valid_nonce(mint_nonce(KEY, NOW), KEY, NOW + timedelta(seconds=1), not_before) is valid


def test_a_nonce_of_another_key_is_not_valid() -> None:
    assert not is_valid_nonce(mint_nonce(b"another", NOW), KEY, NOW)


@each("position", range(32))
def test_a_nonce_changed_anywhere_is_not_valid(position: int) -> None:
    nonce = mint_nonce(KEY, NOW)
    other = "A" if nonce[position] != "A" else "B"
    assert not is_valid_nonce(nonce[:position] + other + nonce[position + 1 :], KEY, NOW)


@given(st.text() | st.text(min_size=32, max_size=32) | st.from_regex(r"[A-Za-z0-9_-]{32}\n?", fullmatch=True))
def test_other_texts_are_not_valid(text: str) -> None:
    assert not is_valid_nonce(text, KEY, NOW)
