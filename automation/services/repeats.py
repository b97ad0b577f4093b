"""Stores answers to reports, so that a repeated report gets the same answer."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from automation.models import ReportAnswer
from automation.repeats import REPEATED_WITHIN, RepeatableReport
from opsapi.batches import ROWS_AT_ONCE, delete_batch

# Of two concurrent reports with the same key, the second waits for the first. An expired answer is replaced.
_KEEP = """
INSERT INTO automation_reportanswer AS kept (id, body, answer, created) VALUES (%s, %s, %s, %s)
    ON CONFLICT (id) DO UPDATE SET body = excluded.body, answer = excluded.answer, created = excluded.created
 WHERE kept.created <= %s
"""


def report_answer_keep(*, report: RepeatableReport, answer: Mapping[str, Any], now: datetime) -> bool:
    """Store the answer to a report in the transaction of the report.

    Return False if the key already has an answer; then the report must not be stored.
    """
    text, too_old = json.dumps(answer), now - REPEATED_WITHIN
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [report.id, report.body, text, now, too_old])
        return bool(cursor.rowcount)


def report_answers_trim(*, now: datetime) -> bool:
    """Delete a batch of expired answers. Return whether there were any."""
    old = ReportAnswer.objects.filter(created__lte=now - REPEATED_WITHIN)
    return delete_batch(old, ROWS_AT_ONCE, first=("created",)) > 0
