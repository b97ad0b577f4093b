"""Repeated reports: a report with the same Idempotency-Key gets the stored answer."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from automation.reports.models import ReportAnswer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.query import Parameter
from opsapi.batches import ROWS_AT_ONCE, delete_batch
from opsapi.sql import execute, fetch_rows

REPEATED_WITHIN = timedelta(days=1)
"""How long the first answer is repeated."""

LONGEST_KEY = 255
_KEY = re.compile(r"[!-~]+", re.ASCII)
_ANSWER = "SELECT body, answer FROM automation_reportanswer WHERE id = %s AND created > %s"
# Of two concurrent reports with the same key, the second waits for the first. An expired answer is replaced.
_KEEP = """
INSERT INTO automation_reportanswer AS kept (id, body, answer, created) VALUES (%s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body, answer = excluded.answer, created = excluded.created
 WHERE kept.created <= %s
"""


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
        origin = f"{group_id}\0{caller_id}\0{key}"
        known_by = UUID(bytes=hashlib.sha256(origin.encode()).digest()[:16])
        return cls(key, known_by, hashlib.sha256(body).hexdigest())


def first_answer(report: RepeatableReport, now: datetime) -> Mapping[str, Any] | None:
    """Return the answer to the same report of the last day; None if there is none.

    Raises: ApiError: IDEMPOTENCY_KEY_REUSED, if the key was sent with another body.
    """
    rows = fetch_rows(_ANSWER, [report.id, now - REPEATED_WITHIN])
    if not rows:
        return None
    [(body, text)] = rows
    if body != report.body:
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, report.key)
    answer: Mapping[str, Any] = json.loads(text)
    return answer


def report_answer_keep(*, report: RepeatableReport, answer: Mapping[str, Any], now: datetime) -> bool:
    """Store the answer to a report in the transaction of the report.

    Return False if the key already has an answer; then the report must not be stored.
    """
    text, too_old = json.dumps(answer), now - REPEATED_WITHIN
    return bool(execute(_KEEP, [report.id, report.body, text, now, too_old]))


def report_answers_trim(*, now: datetime) -> bool:
    """Delete a batch of expired answers. Return whether there were any."""
    old = ReportAnswer.objects.filter(created__lte=now - REPEATED_WITHIN)
    return delete_batch(old, ROWS_AT_ONCE, first=("created",)) > 0
