"""Reports that an agent sends again because the answer was lost. Pure."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from opsapi.api.catalogue import ErrorCode
from opsapi.api.query import Parameter

REPEATED_WITHIN = timedelta(days=1)
"""So long the first answer is given again."""

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
    "Chosen by the client, another one for each report. Within a day a repeat with the same key and body is "
    "not stored again and gets the first answer.",
    code=ErrorCode.INVALID_ATTRIBUTE,
    is_header=True,
)


@dataclass(frozen=True, slots=True)
class RepeatableReport:
    """A report that may be repeated: its Idempotency-Key, and the digests that it is known by."""

    key: str
    id: UUID
    body: str

    @classmethod
    def of(cls, key: str, body: bytes, *, group_id: str, caller_id: str) -> "RepeatableReport":
        """Another project and another API key have keys of their own."""
        origin = "\0".join((group_id, caller_id, key))
        known_by = UUID(bytes=hashlib.sha256(origin.encode()).digest()[:16])
        return cls(key, known_by, hashlib.sha256(body).hexdigest())
