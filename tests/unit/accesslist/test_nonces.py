"""Signed nonces: their shape, their lifetime to the millisecond, and forgeries."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accesslist.nonces import LIFETIME, SKEW, NonceVerdict, check, mint

KEY = b"k" * 32
NOW = datetime(2026, 11, 21, 7, 26, 14, 123456, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
VALID, EXPIRED, FORGED = NonceVerdict.VALID, NonceVerdict.EXPIRED, NonceVerdict.FORGED


@given(st.binary(min_size=6, max_size=6))
def test_it_mints_32_url_safe_characters_that_are_valid_at_once(random: bytes) -> None:
    nonce = mint(KEY, NOW, random)
    assert re.fullmatch(r"[A-Za-z0-9_-]{32}", nonce)
    assert check(nonce, KEY, NOW) is VALID


def test_it_mints_another_nonce_every_time() -> None:
    assert len({mint(KEY, NOW) for _ in range(100)}) == 100


@pytest.mark.parametrize("random", [b"", b"12345", b"1234567"])
def test_it_refuses_random_of_another_length(random: bytes) -> None:
    with pytest.raises(ValueError, match="6 octets"):
        mint(KEY, NOW, random)


@pytest.mark.parametrize(
    ("age", "verdict"),
    [
        (timedelta(0), VALID),
        (LIFETIME - MILLISECOND, VALID),
        (LIFETIME, EXPIRED),
        (LIFETIME + MILLISECOND, EXPIRED),
        (timedelta(days=3650), EXPIRED),
        (-SKEW, VALID),
        (-SKEW - MILLISECOND, FORGED),
        (-timedelta(days=3650), FORGED),
    ],
)
def test_it_judges_by_age(age: timedelta, verdict: NonceVerdict) -> None:
    assert check(mint(KEY, NOW - age), KEY, NOW) is verdict


@pytest.mark.parametrize(
    ("not_before", "verdict"),
    [
        (None, VALID),
        (NOW - LIFETIME, VALID),
        (NOW, VALID),
        (NOW + MILLISECOND, EXPIRED),
    ],
)
def test_a_nonce_older_than_the_database_start_is_expired(
    not_before: datetime | None, verdict: NonceVerdict
) -> None:
    assert check(mint(KEY, NOW), KEY, NOW + timedelta(seconds=1), not_before) is verdict


def test_a_nonce_of_another_key_is_forged() -> None:
    assert check(mint(b"another", NOW), KEY, NOW) is FORGED


@pytest.mark.parametrize("position", range(32))
def test_a_nonce_changed_anywhere_is_forged(position: int) -> None:
    nonce = mint(KEY, NOW, b"random")
    other = "A" if nonce[position] != "A" else "B"
    assert check(nonce[:position] + other + nonce[position + 1 :], KEY, NOW) is FORGED


def test_an_old_forgery_is_forged_and_not_expired() -> None:
    assert check(mint(b"another", NOW - 2 * LIFETIME), KEY, NOW) is FORGED


@given(st.text() | st.text(min_size=32, max_size=32) | st.from_regex(r"[A-Za-z0-9_-]{32}\n?", fullmatch=True))
def test_anything_else_is_forged(text: str) -> None:
    assert check(text, KEY, NOW) is FORGED
