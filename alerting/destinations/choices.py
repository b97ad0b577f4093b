"""The health of destinations; the values are also labels of metrics."""

from enum import StrEnum


class DestinationState(StrEnum):
    """The health of a destination; the values are also labels of metrics."""

    FAILING = "failing"
    """Its last attempt failed."""
    SLOWED = "slowed_down"
    """It accepts messages but asked for a lower rate."""
    HEALTHY = "healthy"
    UNTRIED = "not_tried"
