"""Reading the stored answers to reports."""

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
    """Return the answer to the same report of the last day; None if there is none.

    Raises: ApiError: IDEMPOTENCY_KEY_REUSED, if the key was sent with another body.
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
