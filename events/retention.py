"""The retention of events and ended alerts: the settings, otherwise the choice in the console."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from events.models import Retention

LONGEST_DAYS: Final = 3650
SUGGESTED_DAYS: Final = 400
"""A year and a month, to compare the last weeks with the same weeks of the year before."""
ALERT_OCTETS: Final = 9_000
"""The bytes of an alert with two messages: its events, its row, notifications and attempts."""


@dataclass(frozen=True, slots=True)
class KeptFor:
    """The retention of a kind of rows.

    `days` is 0 if the rows are kept forever. `setting` is the setting that decides; empty if the choice in
    the console decides.
    """

    days: int
    setting: str = ""

    @property
    def period(self) -> timedelta | None:
        """The retention; None if the rows are kept forever."""
        return timedelta(days=self.days) if self.days else None

    @property
    def words(self) -> str:
        """The retention in words, such as `for 400 days`."""
        if not self.days:
            return "forever"
        return "for 1 day" if self.days == 1 else f"for {self.days} days"


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The retention of events and ended alerts, and the user and the time of the choice in the console."""

    events: KeptFor
    alerts: KeptFor
    username: str | None = None
    chosen: datetime | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether settings decide the retention of both events and alerts."""
        return bool(self.events.setting and self.alerts.setting)


def kept_rows() -> KeptRows:
    """Return the retention from the settings and the choice in the console."""
    row = Retention.objects.filter(id=1).first()
    return KeptRows(
        events=_kept("OPSAPI_EVENT_RETENTION_DAYS", row.event_days if row else 0),
        alerts=_kept("OPSAPI_ALERT_RETENTION_DAYS", row.alert_days if row else 0),
        username=row.username if row else None,
        chosen=row.updated if row else None,
    )


def _kept(setting: str, chosen: int) -> KeptFor:
    days: int | None = getattr(settings, setting)
    return KeptFor(chosen) if days is None else KeptFor(days, setting)
