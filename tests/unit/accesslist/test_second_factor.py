"""Codes of the second factor (accesslist.login.rules), with the vectors of RFC 6238."""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from accesslist.login.rules import (
    NEVER,
    RECOVERY_CODES,
    CodeFault,
    is_timed,
    new_recovery_codes,
    new_secret,
    recovery_hash,
    setup_uri,
    step_of,
)
from tests.each import each
from tests.steps import STEPS

# The secret of the RFC's SHA-1 vectors, "12345678901234567890".
SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
# Its appendix B; of eight digits the last six.
VECTORS = [
    (59, "287082"),
    (1111111109, "081804"),
    (1111111111, "050471"),
    (1234567890, "005924"),
    (2000000000, "279037"),
    (20000000000, "353130"),
]
AT, CODE = datetime.fromtimestamp(1234567890, UTC), "005924"
STEP = 1234567890 // 30


@each(("seconds", "code"), VECTORS)
def test_it_takes_the_codes_of_the_rfc(seconds: int, code: str) -> None:
    now = datetime.fromtimestamp(seconds, UTC)
    assert step_of(code, secret=SECRET, last_step=NEVER, now=now) == seconds // 30


@each(
    ("seconds", "counts"),
    # The code's step begins at 1234567890, a multiple of 30.
    [(-31, False), (-30, True), (-1, True), (0, True), (29, True), (30, True), (59, True), (60, False)],
)
def test_a_clock_can_differ_by_one_step(seconds: int, counts: bool) -> None:
    answer = step_of(CODE, secret=SECRET, last_step=NEVER, now=AT + timedelta(seconds=seconds))
    assert answer == (STEP if counts else CodeFault.WRONG)


@each(
    ("last_step", "answer"),
    [(NEVER, STEP), (STEP - 1, STEP), (STEP, CodeFault.USED), (STEP + 1, CodeFault.USED)],
)
def test_a_code_counts_once_and_none_before_it_afterwards(last_step: int, answer: int | CodeFault) -> None:
    assert step_of(CODE, secret=SECRET, last_step=last_step, now=AT) == answer


@each(
    "typed",
    ["", "00592", "0059244", "005925", "5924", "٠٠٥٩٢٤", "00592a", "-05924", "\0", "x" * 5000, "\ud800"],
)
def test_it_refuses_other_codes(typed: str) -> None:
    assert step_of(typed, secret=SECRET, last_step=NEVER, now=AT) is CodeFault.WRONG


@each("step", STEPS)
def test_a_step_that_a_wrong_clock_used_up_refuses_no_code(step: timedelta) -> None:
    used = int((AT + step).timestamp()) // 30
    is_near = timedelta(0) < step <= timedelta(minutes=1)
    expected = CodeFault.USED if is_near else STEP
    assert step_of(CODE, secret=SECRET, last_step=used, now=AT) == expected


def test_a_code_may_be_typed_with_spaces() -> None:
    assert step_of(" 005 924 ", secret=SECRET, last_step=NEVER, now=AT) == STEP


def test_secrets_are_long_and_differ() -> None:
    made = {new_secret() for _ in range(50)}
    assert len(made) == 50
    assert all(re.fullmatch("[A-Z2-7]{32}", secret) for secret in made)


def test_the_setup_uri_names_issuer_and_user() -> None:
    uri = urlsplit(setup_uri(SECRET, "ada lovelace"))
    assert (uri.scheme, uri.netloc, uri.path) == ("otpauth", "totp", "/Ops:ada%20lovelace")
    assert parse_qs(uri.query) == {"secret": [SECRET], "issuer": ["Ops"]}


def test_recovery_codes_are_ten_and_differ() -> None:
    codes = new_recovery_codes()
    assert len(set(codes)) == RECOVERY_CODES == 10
    assert all(re.fullmatch("[0-9a-hjkmnp-tv-z]{4}(-[0-9a-hjkmnp-tv-z]{4}){3}", code) for code in codes)
    assert not any(is_timed(code) for code in codes)


@each("typed", ["0123-4567-89ab-cdef", "0123456789ABCDEF", " o123 4567-89ab cdef", "Ol23-4567-89ab-cdef"])
def test_a_recovery_code_may_be_typed_in_any_manner(typed: str) -> None:
    assert recovery_hash(typed, owner="a") == recovery_hash("0123456789abcdef", owner="a")


@each(
    ("typed", "owner"),
    [("0123-4567-89ab-cdeg", "a"), ("0123-4567-89ab-cdef", "b"), ("", "a"), ("\ud800", "a")],
)
def test_another_recovery_code_or_owner_is_another(typed: str, owner: str) -> None:
    assert recovery_hash(typed, owner=owner) != recovery_hash("0123-4567-89ab-cdef", owner="a")
