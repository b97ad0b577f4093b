"""Digest nonces that need no storage: time, random and a short HMAC (RFC 7616 3.3, 5.4).

A nonce is 24 octets as 32 characters of url-safe base64: 6 octets of milliseconds since 1970,
6 random ones and 12 of HMAC-SHA256 over both. Any process with the key can judge it.
"""

import base64
import hashlib
import hmac
import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

LIFETIME: Final = timedelta(seconds=300)
"""From its birth on a nonce is taken for so long; at exactly this age it is expired."""

SKEW: Final = timedelta(seconds=5)
"""How far the clocks of two machines that share the key may differ."""

_TIME_LENGTH = 6
_RANDOM_LENGTH = 6
_BODY_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
_MAC_LENGTH = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")


def mint(key: bytes, now: datetime, random: bytes | None = None) -> str:
    """Make a nonce of this moment; `now` bears a zone, `random` is 6 octets, drawn when left out."""
    drawn = secrets.token_bytes(_RANDOM_LENGTH) if random is None else random
    if len(drawn) != _RANDOM_LENGTH:
        raise ValueError(f"random must be {_RANDOM_LENGTH} octets")
    body = _milliseconds(now).to_bytes(_TIME_LENGTH, "big") + drawn
    return base64.urlsafe_b64encode(body + _mac(key, body)).decode("ascii")


def is_valid(nonce: str, key: bytes, now: datetime, not_before: datetime | None = None) -> bool:
    """Whether a nonce is of this key, and neither too old at `now` nor born more than SKEW after it.

    `not_before` is the start of the database that remembers which nonces were used: older ones are too old.
    """
    if not _SHAPE.fullmatch(nonce):
        return False
    octets = base64.urlsafe_b64decode(nonce)
    body, mac = octets[:_BODY_LENGTH], octets[_BODY_LENGTH:]
    if not hmac.compare_digest(_mac(key, body), mac):
        return False
    born = int.from_bytes(body[:_TIME_LENGTH], "big")
    is_remembered = not_before is None or born >= _milliseconds(not_before)
    return is_remembered and _milliseconds(now - LIFETIME) < born <= _milliseconds(now + SKEW)


def _mac(key: bytes, body: bytes) -> bytes:
    # The label keeps these codes apart from any other use of the same key.
    return hmac.digest(key, b"digest nonce:" + body, hashlib.sha256)[:_MAC_LENGTH]


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
