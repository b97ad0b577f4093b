"""Keeping measurements as long as they are wanted."""

from datetime import datetime

from automation.models import Measurement
from automation.retention import measurement_retention
from opsapi.batches import delete_batch

MEASUREMENTS_AT_ONCE = 5_000
"""So many rows go in one transaction: it stays short, however much there is."""


def measurements_trim(*, now: datetime) -> bool:
    """Delete one batch of the measurements older than OPSAPI_MEASUREMENT_RETENTION_DAYS, the oldest first.

    Answers whether there were any; of what is left over the next call takes its share.
    """
    kept = measurement_retention()
    if kept is None:
        return False
    return delete_batch(Measurement.objects.filter(reported__lt=now - kept), MEASUREMENTS_AT_ONCE) > 0
