"""The answers that are given again to repeated reports."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from automation.repeats import REPEATED_WITHIN, RepeatableReport
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

_ANSWER = "SELECT body, answer FROM automation_reportanswer WHERE id = %s AND created > %s"


def first_answer(report: RepeatableReport, now: datetime) -> Mapping[str, Any] | None:
    """The answer that the same report got within a day; None when it was not taken in that time.

    Raises:
        ApiError: IDEMPOTENCY_KEY_REUSED, when another body was sent with the key.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ANSWER, [report.id, now - REPEATED_WITHIN])
        row = cursor.fetchone()
    if row is None:
        return None
    body, text = row
    if body != report.body:
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, report.key)
    answer: Mapping[str, Any] = json.loads(text)
    return answer
