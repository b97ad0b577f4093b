"""The state of an alert in one word, the same on every page. Pure."""

from enum import StrEnum

from alerting.choices import AlertStatus


class AlertState(StrEnum):
    """The state on lists, pages and panels; the values are the words."""

    PENDING = "Pending"
    OPEN = "Open"
    ACKNOWLEDGED = "Acknowledged"
    MUTED = "Muted"
    CLOSED = "Closed"
    CANCELLED = "Cancelled"


def alert_state(status: AlertStatus, *, is_acknowledged: bool, is_muted: bool) -> AlertState:
    """An acknowledgement comes first, because somebody is working on it.

    Muted means open and covered by a window now.
    """
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
