"""Whether an alert is acknowledged, and the states of alerts and notifications in one word. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from alerting.incidents.choices import AlertStatus


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The acknowledgement of an alert: `username` is a username or the publicKey of a key."""

    until: datetime
    comment: str | None
    username: str | None


def in_force(stored: Acknowledgement | None, now: datetime) -> Acknowledgement | None:
    """The acknowledgement that is valid at `now`; None if it has expired."""
    return stored if stored and stored.until > now else None


def acknowledged(
    current: Acknowledgement | None,
    *,
    until: datetime,
    comment: str | None,
    username: str | None,
    now: datetime,
) -> Acknowledgement | None:
    """The acknowledgement after a request; `current` is valid at `now`.

    None if `until` is in the past, which removes it. A missing comment stays, and unchanged values keep their
    author.
    """
    if until <= now:
        return None
    if current is None:
        return Acknowledgement(until, comment, username)
    kept = current.comment if comment is None else comment
    same = (until, kept) == (current.until, current.comment)
    return current if same else Acknowledgement(until, kept, username)


class AcknowledgementPreset(StrEnum):
    """Preset ends of an acknowledgement, or a custom time."""

    HOUR = "1h"
    FOUR_HOURS = "4h"
    TOMORROW = "tomorrow"
    OWN = "own"


MORNING = 9
"""The local hour of the preset "tomorrow"."""


def until_of(preset: AcknowledgementPreset, now: datetime, zone: str) -> datetime | None:
    """The end in whole seconds; None for a custom time. `zone`: the time zone of the operator."""
    moment = now.replace(microsecond=0)
    match preset:
        case AcknowledgementPreset.HOUR:
            return moment + timedelta(hours=1)
        case AcknowledgementPreset.FOUR_HOURS:
            return moment + timedelta(hours=4)
        case AcknowledgementPreset.TOMORROW:
            tomorrow = moment.astimezone(ZoneInfo(zone)) + timedelta(days=1)
            return tomorrow.replace(hour=MORNING, minute=0, second=0).astimezone(UTC)
        case AcknowledgementPreset.OWN:
            return None


class AlertState(StrEnum):
    """The state on lists, pages and panels; the values are the words."""

    PENDING = "Pending"
    OPEN = "Open"
    ACKNOWLEDGED = "Acknowledged"
    MUTED = "Muted"
    PERHAPS_MUTED = "Open or muted"
    """Comparing the alert with all windows takes too long."""
    CLOSED = "Closed"
    CANCELLED = "Cancelled"


def alert_state(status: AlertStatus, *, is_acknowledged: bool, is_muted: bool | None) -> AlertState:
    """An acknowledgement comes first, because somebody is working on it.

    Muted means open and covered by a window now. `is_muted` is None if this is not known.
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
            if is_muted is None:
                return AlertState.PERHAPS_MUTED
            return AlertState.MUTED if is_muted else AlertState.OPEN
