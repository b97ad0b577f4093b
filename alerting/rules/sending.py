"""Whether a notification that is due may still be sent, and what follows its delivery. Pure."""

from datetime import datetime, timedelta

from alerting.choices import AlertStatus, DropReason
from integrations.choices import MessageKind

_OF_A_RUNNING_ALERT = frozenset({MessageKind.OPEN, MessageKind.UPDATE, MessageKind.ACKNOWLEDGE})
_ENDS = {AlertStatus.CLOSED: MessageKind.CLOSE, AlertStatus.CANCELLED: MessageKind.CANCEL}


def drop_reason(
    kind: MessageKind, status: AlertStatus | None, *, perhaps_sent: bool, config_counts: bool
) -> DropReason | None:
    """Why it is not sent any more; None when it is.

    `status` is the alert's, None for what is told once. `perhaps_sent`: a crash left open whether the
    receiver was told of the opening; it is then told again, under the same delivery id, so that the end
    can follow. `config_counts`: the configuration is there and enabled.
    """
    over = status is not None and status is not AlertStatus.OPEN
    if kind in _OF_A_RUNNING_ALERT and over and not (perhaps_sent and kind is MessageKind.OPEN):
        return DropReason.ALERT_OVER
    if kind is MessageKind.INFORM and not config_counts:
        return DropReason.CONFIG_OFF
    return None


def follow_up(kind: MessageKind, status: AlertStatus | None) -> MessageKind | None:
    """What a receiver who was just told of an alert is told next: a repeat, or at once its end."""
    if status is None or kind not in _OF_A_RUNNING_ALERT:
        return None
    return _ENDS.get(status, MessageKind.UPDATE)


def repeat_due(interval: timedelta | None, delivered: datetime) -> datetime | None:
    """When the next repeat is due: a constant gap after the last delivery; None when nothing repeats."""
    return None if interval is None else delivered + interval
