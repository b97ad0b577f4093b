"""The answers that are given again to repeated reports."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from automation.models import ReportAnswer
from automation.repeats import REPEATED_WITHIN, RepeatableReport
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError


def first_answer(report: RepeatableReport, now: datetime) -> Mapping[str, Any] | None:
    """The answer that the same report got within a day; None when it was not taken in that time.

    Raises:
        ApiError: IDEMPOTENCY_KEY_REUSED, when another body was sent with the key.
    """
    row = ReportAnswer.objects.filter(id=report.id, created__gt=now - REPEATED_WITHIN).first()
    if row is None:
        return None
    if row.body != report.body:
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, report.key)
    answer: Mapping[str, Any] = json.loads(row.answer)
    return answer
