"""Whether an alert is acknowledged, and what a request makes of that (decisions 6 "acknowledged"). Pure."""

from dataclasses import dataclass
from datetime import datetime


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
