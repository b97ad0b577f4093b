"""The state of an alert in a word, the same on every page. Pure."""

from enum import StrEnum

from alerting.choices import AlertStatus


class AlertState(StrEnum):
    """What lists, pages and panels say of an alert; the values are the words."""

    PENDING = "Pending"
    OPEN = "Open"
    ACKNOWLEDGED = "Acknowledged"
    MUTED = "Muted"
    CLOSED = "Closed"
    CANCELLED = "Cancelled"


def alert_state(status: AlertStatus, *, is_acknowledged: bool, is_muted: bool) -> AlertState:
    """An acknowledgement comes first: somebody looks at it. Muted is an open one that a window covers now."""
    match status:
        case AlertStatus.CLOSED:
            return AlertState.CLOSED
        case AlertStatus.CANCELLED:
            return AlertState.CANCELLED
        case _ if is_acknowledged:
            return AlertState.ACKNOWLEDGED
        case AlertStatus.TRACKING:
            return AlertState.PENDING
        case AlertStatus.OPEN:
            return AlertState.MUTED if is_muted else AlertState.OPEN
