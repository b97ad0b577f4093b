"""Whether an alert is acknowledged, and what a request to acknowledge it changes. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Somebody took the alert on: `username` is a user's name or a key's publicKey."""

    until: datetime
    comment: str | None
    username: str | None


def in_force(stored: Acknowledgement | None, now: datetime) -> Acknowledgement | None:
    """The acknowledgement as it counts at `now`; none once it has lapsed."""
    return stored if stored and stored.until > now else None


def acknowledged(
    current: Acknowledgement | None,
    *,
    until: datetime,
    comment: str | None,
    username: str | None,
    now: datetime,
) -> Acknowledgement | None:
    """What holds after somebody asked for it; `current` is in force at `now`.

    None takes it back: `until` has come. A comment left out stays as it is, and what was so already
    stays whose it was.
    """
    if until <= now:
        return None
    if current is None:
        return Acknowledgement(until, comment, username)
    kept = current.comment if comment is None else comment
    same = (until, kept) == (current.until, current.comment)
    return current if same else Acknowledgement(until, kept, username)


class Preset(StrEnum):
    """Until when an operator acknowledges: what is asked for most, or a time of their own."""

    HOUR = "1h"
    FOUR_HOURS = "4h"
    TOMORROW = "tomorrow"
    OWN = "own"


MORNING = 9
"""The hour of UTC at which tomorrow begins for those who acknowledge until then."""


def until_of(preset: Preset, now: datetime) -> datetime | None:
    """Until when that is, in whole seconds; None: a time of their own."""
    moment = now.replace(microsecond=0)
    match preset:
        case Preset.HOUR:
            return moment + timedelta(hours=1)
        case Preset.FOUR_HOURS:
            return moment + timedelta(hours=4)
        case Preset.TOMORROW:
            return (moment + timedelta(days=1)).replace(hour=MORNING, minute=0, second=0)
        case Preset.OWN:
            return None
