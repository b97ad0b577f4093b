"""Closed sets of alerts; the values are the wire values."""

from enum import StrEnum


class AlertStatus(StrEnum):
    """An alert's state."""

    TRACKING = "TRACKING"
    """Pending, as documents and the console say: the delay has not passed."""
    OPEN = "OPEN"
    CLOSED = "CLOSED"
    CANCELLED = "CANCELLED"


ACTIVE = (AlertStatus.TRACKING, AlertStatus.OPEN)
"""At most one of these per configuration and target."""
