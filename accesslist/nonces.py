"""Digest nonces that need no storage: time, random octets and a short HMAC (RFC 7616 3.3, 5.4).

A nonce is 24 octets as 32 characters of url-safe base64: 6 octets of milliseconds since 1970, 6 random octets
and 12 octets of HMAC-SHA256 over both. Any process with the key can check it.
"""

import base64
import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

LIFETIME: Final = timedelta(seconds=300)
"""Lifetime of a nonce; a nonce of exactly this age has expired."""

SKEW: Final = timedelta(seconds=5)
"""Maximum clock difference of two machines that share the key."""

_TIME_LENGTH = 6
_RANDOM_LENGTH = 6
_BODY_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
_MAC_LENGTH = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")


def mint(key: bytes, now: datetime, random: bytes | None = None) -> str:
    """Create a nonce for `now`, which has a time zone; `random` is 6 octets, drawn if left out."""
    drawn = secrets.token_bytes(_RANDOM_LENGTH) if random is None else random
    if len(drawn) != _RANDOM_LENGTH:
        raise ValueError(f"random must be {_RANDOM_LENGTH} octets")
    body = _milliseconds(now).to_bytes(_TIME_LENGTH, "big") + drawn
    return base64.urlsafe_b64encode(body + _mac(key, body)).decode("ascii")


def is_valid(nonce: str, key: bytes, now: datetime, not_before: datetime | None = None) -> bool:
    """Whether a nonce is signed with this key, not too old at `now`, and not more than SKEW in the future.

    `not_before` is the start of the database's memory of used nonces; older nonces are too old.
    """
    if not _SHAPE.fullmatch(nonce):
        return False
    octets = base64.urlsafe_b64decode(nonce)
    body, mac = octets[:_BODY_LENGTH], octets[_BODY_LENGTH:]
    if not hmac.compare_digest(_mac(key, body), mac):
        return False
    born = int.from_bytes(body[:_TIME_LENGTH], "big")
    is_valid_nonce_age = not_before is None or born >= _milliseconds(not_before)
    return is_valid_nonce_age and _milliseconds(now - LIFETIME) < born <= _milliseconds(now + SKEW)


def _mac(key: bytes, body: bytes) -> bytes:
    # The label separates these codes from other uses of the same key.
    return hmac.digest(key, b"digest nonce:" + body, hashlib.sha256)[:_MAC_LENGTH]


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
