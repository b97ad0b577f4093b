"""Codes of the second factor: those that change with time (RFC 6238), and those for recovery. Pure.

How a code is computed is pyotp's; here stands which step it belongs to, and that none is used twice.
"""

import hashlib
import hmac
import secrets
from datetime import datetime
from enum import StrEnum

import pyotp

STEPS_OF_TOLERANCE = 1
"""So many steps of 30 seconds a clock may be wrong, either way."""
RECOVERY_CODES = 10
"""So many are made at a time."""
NEVER = 0
"""The last used step of a secret of which no code was used."""

_ISSUER = "Ops"
_DIGITS = 6
# Crockford's base 32: five bits a character, none of which looks like another.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_READ_AS = str.maketrans("oil", "011", " -")
_GROUPS, _GROUP_LENGTH = 4, 4


class CodeFault(StrEnum):
    """Why a code does not count; the value is how it is told."""

    WRONG = "Incorrect code. Codes change every 30 seconds."
    USED = "This code has already been used. Wait for the next code."
    UNREADABLE = (
        "The server can no longer check authenticator codes. Use a recovery code, or ask an "
        "administrator to reset your second factor."
    )


def new_secret() -> str:
    """160 bits in base 32, as authenticators take them."""
    return pyotp.random_base32()


def setup_uri(secret: str, username: str) -> str:
    """What an authenticator reads from the QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=username, issuer_name=_ISSUER)


def is_timed(typed: str) -> bool:
    """Whether it has the form of a code by time; what has another is taken for a recovery code."""
    code = _without_spaces(typed)
    return code.isascii() and code.isdigit() and len(code) == _DIGITS


def step_of(typed: str, *, secret: str, last_step: int, now: datetime) -> int | CodeFault:
    """The step whose code this is, later than the last one used, or why the code does not count."""
    if not is_timed(typed):
        return CodeFault.WRONG
    code, totp = _without_spaces(typed), pyotp.TOTP(secret)
    current = totp.timecode(now)
    steps = range(current - STEPS_OF_TOLERANCE, current + STEPS_OF_TOLERANCE + 1)
    matching = [step for step in steps if hmac.compare_digest(totp.generate_otp(step), code)]
    if not matching:
        return CodeFault.WRONG
    return max(matching) if max(matching) > last_step else CodeFault.USED


def new_recovery_codes() -> list[str]:
    """RECOVERY_CODES of 80 random bits each: too many to be guessed, also from their hashes."""
    return [_recovery_code() for _ in range(RECOVERY_CODES)]


def recovery_hash(typed: str, *, owner: str) -> str:
    """What is kept of a recovery code of this owner, however it is typed: case, spaces, O for 0."""
    code = typed.lower().translate(_READ_AS)
    return hashlib.sha256(f"{owner}:{code}".encode(errors="replace")).hexdigest()


def _recovery_code() -> str:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS))
    return "-".join(groups)


def _without_spaces(typed: str) -> str:
    return typed.replace(" ", "")
