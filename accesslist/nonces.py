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
from enum import StrEnum
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


class NonceVerdict(StrEnum):
    """What a nonce is worth."""

    VALID = "VALID"
    EXPIRED = "EXPIRED"
    FORGED = "FORGED"


def mint(key: bytes, now: datetime, random: bytes | None = None) -> str:
    """Make a nonce of this moment; `now` bears a zone, `random` is 6 octets, drawn when left out."""
    drawn = secrets.token_bytes(_RANDOM_LENGTH) if random is None else random
    if len(drawn) != _RANDOM_LENGTH:
        raise ValueError(f"random must be {_RANDOM_LENGTH} octets")
    body = _milliseconds(now).to_bytes(_TIME_LENGTH, "big") + drawn
    return base64.urlsafe_b64encode(body + _mac(key, body)).decode("ascii")


def check(nonce: str, key: bytes, now: datetime, not_before: datetime | None = None) -> NonceVerdict:
    """Judge a nonce at `now`.

    FORGED: not of this key, or born more than SKEW after `now`. EXPIRED: LIFETIME is over, or born
    before `not_before`, the start of the database that remembers which nonces were used.
    """
    if not _SHAPE.fullmatch(nonce):
        return NonceVerdict.FORGED
    octets = base64.urlsafe_b64decode(nonce)
    body, mac = octets[:_BODY_LENGTH], octets[_BODY_LENGTH:]
    if not hmac.compare_digest(_mac(key, body), mac):
        return NonceVerdict.FORGED
    return _judge_age(int.from_bytes(body[:_TIME_LENGTH], "big"), now, not_before)


def _judge_age(born: int, now: datetime, not_before: datetime | None) -> NonceVerdict:
    if born > _milliseconds(now + SKEW):
        return NonceVerdict.FORGED
    if born <= _milliseconds(now - LIFETIME):
        return NonceVerdict.EXPIRED
    if not_before is not None and born < _milliseconds(not_before):
        return NonceVerdict.EXPIRED
    return NonceVerdict.VALID


def _mac(key: bytes, body: bytes) -> bytes:
    # The label keeps these codes apart from any other use of the same key.
    return hmac.digest(key, b"digest nonce:" + body, hashlib.sha256)[:_MAC_LENGTH]


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
