"""Codes of the second factor: timed codes (RFC 6238) and recovery codes. Pure.

pyotp computes timed codes. This module finds the step of a code, and refuses a code that was used before.
"""

import hashlib
import hmac
import secrets
from datetime import datetime
from enum import StrEnum

import pyotp

STEPS_OF_TOLERANCE = 1
"""The number of steps of 30 seconds by which a clock may differ, in both directions."""
_STEPS_AHEAD = STEPS_OF_TOLERANCE + 2
"""A last step that is further ahead, by more than a minute, was used while a clock was wrong."""
RECOVERY_CODES = 10
"""The number of recovery codes created at a time."""
NEVER = 0
"""The last used step of a secret without used codes."""

_ISSUER = "Ops"
_DIGITS = 6
# Crockford's base 32: five bits a character, none of which looks like another.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_READ_AS = str.maketrans("oil", "011", " -")
_GROUPS, _GROUP_LENGTH = 4, 4


class CodeFault(StrEnum):
    """Why a code is refused; the values are texts for people."""

    WRONG = "Incorrect code. Codes change every 30 seconds."
    USED = "This code has already been used. Wait for the next code."
    UNREADABLE = (
        "The server can no longer check authenticator codes. Use a recovery code, or ask an "
        "administrator to reset your second factor."
    )


def new_secret() -> str:
    """Return 160 random bits in base 32, the format of authenticators."""
    return pyotp.random_base32()


def setup_uri(secret: str, username: str) -> str:
    """Return the URI that an authenticator reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=_ISSUER)


def is_timed(typed: str) -> bool:
    """Whether the text has the format of a timed code; other texts count as recovery codes."""
    code = _without_spaces(typed)
    return code.isascii() and code.isdigit() and len(code) == _DIGITS


def step_of(typed: str, *, secret: str, last_step: int, now: datetime) -> int | CodeFault:
    """Return the step of the code, which must be later than the last used step, or the fault.

    A last step in the future was used while a clock was wrong, so it says nothing.
    """
    if not is_timed(typed):
        return CodeFault.WRONG
    code, totp = _without_spaces(typed), pyotp.TOTP(secret)
    current = totp.timecode(now)
    steps = range(current - STEPS_OF_TOLERANCE, current + STEPS_OF_TOLERANCE + 1)
    matching = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), code)]
    if not matching:
        return CodeFault.WRONG
    is_used = max(matching) <= last_step <= current + _STEPS_AHEAD
    return CodeFault.USED if is_used else max(matching)


def new_recovery_codes() -> list[str]:
    """Return RECOVERY_CODES codes of 80 random bits: too many to guess, even with their hashes."""
    return [_recovery_code() for _ in range(RECOVERY_CODES)]


def recovery_hash(typed: str, *, owner: str) -> str:
    """Return the stored hash of an owner's recovery code, whatever its case and spaces, also with O for 0."""
    code = typed.lower().translate(_READ_AS)
    return hashlib.sha256(f"{owner}:{code}".encode(errors="replace")).hexdigest()


def _recovery_code() -> str:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS))
    return "-".join(groups)


def _without_spaces(typed: str) -> str:
    return typed.replace(" ", "")
