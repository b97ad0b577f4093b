"""The retention of measurements."""

from datetime import timedelta

from django.conf import settings


def measurement_retention() -> timedelta | None:
    """OPSAPI_MEASUREMENT_RETENTION_DAYS as a duration; None to keep measurements for ever."""
    days: int = settings.OPSAPI_MEASUREMENT_RETENTION_DAYS
    return timedelta(days=days) if days else None
