"""The tabs of the list of alerts: a tab decides the states and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.db.models import QuerySet
from django.utils.functional import cached_property

from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.store import acknowledged, acknowledged_at
from alerting.windows.store import muting_windows
from opsapi.fields import Among
from opsapi.first_rows import MOST_COUNTED, bounded_count


class AlertTab(StrEnum):
    """A tab of the list; the values are in URLs of the console."""

    NEEDS_YOU = "needs-you"
    ACKNOWLEDGED = "acknowledged"
    MUTED = "muted"
    PENDING = "pending"
    CLOSED = "closed"
    ALL = "all"


TAB_WORDS: Final[Mapping[AlertTab, str]] = {
    AlertTab.NEEDS_YOU: "Needs you",
    AlertTab.ACKNOWLEDGED: "Acknowledged",
    AlertTab.MUTED: "Muted",
    AlertTab.PENDING: "Pending",
    AlertTab.CLOSED: "Closed",
    AlertTab.ALL: "All",
}
EMPTY_WORDS: Final[Mapping[AlertTab, str]] = {
    AlertTab.NEEDS_YOU: "No alert needs you: each open alert is acknowledged or muted, or there is none.",
    AlertTab.ACKNOWLEDGED: "No alert is acknowledged.",
    AlertTab.MUTED: "No open alert is muted now.",
    AlertTab.PENDING: "No alert is pending. A pending alert opens unless its condition ends first.",
    AlertTab.CLOSED: "No alert has ended, or retention has deleted the alerts that ended.",
    AlertTab.ALL: "No alerts yet. Alerts appear here when the condition of an enabled alert configuration is "
    "met.",
}
_OVER = [alert_status.value for alert_status in AlertStatus if alert_status not in ACTIVE]


@dataclass(frozen=True, slots=True)
class WaitingAlerts:
    """Open alerts that nobody has acknowledged: how many need somebody, and the ids of the muted ones.

    `is_cut`: there are more than MOST_COUNTED. The older ones were not compared with windows, and count as
    needing somebody.
    """

    needing: int
    muted: frozenset[str]
    is_cut: bool


def waiting_alerts(alerts: QuerySet[Alert], *, now: datetime) -> WaitingAlerts:
    """Compare the newest MOST_COUNTED open, unacknowledged alerts with maintenance windows."""
    newest = _waiting(alerts.select_related(None), now).order_by("-created", "-id")
    rows = list(newest[: MOST_COUNTED + 1])
    windows = muting_windows(rows[:MOST_COUNTED], now=now)
    # If it is not known whether an alert is muted, it needs somebody.
    muted = frozenset(windows)
    return WaitingAlerts(len(rows) - len(muted), muted, len(rows) > MOST_COUNTED)


def _waiting(alerts: QuerySet[Alert], now: datetime) -> QuerySet[Alert]:
    return alerts.filter(status=AlertStatus.OPEN.value).exclude(acknowledged_at(now))


class TabbedAlerts:
    """The alerts of a list by tab; `alerts` are the alerts that its filters and its search find."""

    def __init__(self, alerts: QuerySet[Alert], now: datetime) -> None:
        self._alerts, self._now = alerts, now

    @cached_property
    def waiting(self) -> WaitingAlerts:
        """Its open alerts that nobody has acknowledged."""
        return waiting_alerts(self._alerts, now=self._now)

    def rows(self, tab: AlertTab) -> QuerySet[Alert]:
        """The alerts of a tab."""
        alerts, now = self._alerts, self._now
        rows: Mapping[AlertTab, Callable[[], QuerySet[Alert]]] = {
            AlertTab.NEEDS_YOU: lambda: _waiting(alerts, now).exclude(Among("id", self.waiting.muted)),
            AlertTab.ACKNOWLEDGED: lambda: acknowledged(alerts, True, now=now),
            AlertTab.MUTED: lambda: alerts.filter(Among("id", self.waiting.muted)),
            AlertTab.PENDING: lambda: alerts.filter(status=AlertStatus.TRACKING.value).exclude(
                acknowledged_at(now)
            ),
            AlertTab.CLOSED: lambda: alerts.filter(status__in=_OVER),
            AlertTab.ALL: lambda: alerts,
        }
        return rows[tab]()

    def count(self, tab: AlertTab) -> int | None:
        """The number of alerts of a tab, at most MOST_COUNTED + 1; None for all, which nobody counts."""
        match tab:
            case AlertTab.NEEDS_YOU:
                return self.waiting.needing
            case AlertTab.MUTED:
                return len(self.waiting.muted)
            case AlertTab.ALL:
                return None
        return bounded_count(self.rows(tab))
