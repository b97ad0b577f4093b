"""Reports that an agent repeats because the answer was lost. Pure."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from opsapi.api.catalogue import ErrorCode
from opsapi.api.query import Parameter

REPEATED_WITHIN = timedelta(days=1)
"""How long the first answer is repeated."""

LONGEST_KEY = 255
_KEY = re.compile(r"[!-~]+", re.ASCII)


def _read_key(text: str) -> str:
    if len(text) > LONGEST_KEY or not _KEY.fullmatch(text):
        raise ValueError(f"must be 1 to {LONGEST_KEY} visible ASCII characters")
    return text


IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    _read_key,
    None,
    {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"},
    "Chosen by the client, different for each report. A repeat with the same key and body within a day "
    "is not stored again and gets the first answer.",
    code=ErrorCode.INVALID_ATTRIBUTE,
    is_header=True,
)


@dataclass(frozen=True, slots=True)
class RepeatableReport:
    """A repeatable report: its Idempotency-Key, and its digests."""

    key: str
    id: UUID
    body: str

    @classmethod
    def of(cls, key: str, body: bytes, *, group_id: str, caller_id: str) -> "RepeatableReport":
        """Each project and API key has its own Idempotency-Keys."""
        origin = "\0".join((group_id, caller_id, key))
        known_by = UUID(bytes=hashlib.sha256(origin.encode()).digest()[:16])
        return cls(key, known_by, hashlib.sha256(body).hexdigest())
