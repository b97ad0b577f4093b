"""Delivery over time: the messages of the last day or week, by the hour in which they were created.

Only the newest messages are counted, so the chart costs the same in an installation with many messages.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from django.db.models import Count, Q
from django.db.models.functions import TruncHour

from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.notification_log import of_own_configs
from alerting.engine.store import HELD_BACK
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import list_url
from opsapi.console.widgets import Chart, ChartHour
from opsapi.first_rows import in_visible_scope

MOST_COUNTED: Final = 20_000
"""The most messages that are counted, the newest."""
_HOUR: Final = timedelta(hours=1)


class DeliveryRange(StrEnum):
    """The time that the chart shows; the values are in the address of the page."""

    DAY = "24h"
    WEEK = "7d"

    @property
    def hours(self) -> int:
        return 24 if self is DeliveryRange.DAY else 7 * 24

    @property
    def words(self) -> str:
        return "24 h" if self is DeliveryRange.DAY else "7 days"


def delivery_chart(visible_scope: VisibleScope, chosen: DeliveryRange, now: datetime) -> tuple[Chart, str]:
    """Return the chart, and a note on the hours whose messages are not all counted; they have no number."""
    running = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    starts = [running - back * _HOUR for back in reversed(range(chosen.hours))]
    oldest = _oldest_counted(starts[0])
    counts = _counts(visible_scope, starts[0], now)
    chart = Chart(
        name="delivery",
        title=f"Delivery in the last {chosen.words}",
        series=["Sent", "Waiting", "Failed"],
        rows=[
            (
                ChartHour(start),
                [None] * 3 if oldest and start <= oldest else counts.get(start, (0, 0, 0)),
            )
            for start in starts
        ],
        url=list_url(Notification),
        empty=f"No message was due in the last {chosen.words}.",
        hour_format="H:i" if chosen is DeliveryRange.DAY else "m-d H:i",
    )
    if oldest is None:
        return chart, ""
    return chart, (
        f"Only the newest {MOST_COUNTED:,} messages are counted: the hours up to "
        f"{oldest:%Y-%m-%d %H:%M}Z have no number."
    )


def _oldest_counted(since: datetime) -> datetime | None:
    """When the oldest counted message was created; None if all are counted."""
    created = Notification.objects.filter(created__gte=since).order_by("-created", "-sequence")
    last = list(created.values_list("created", flat=True)[MOST_COUNTED - 1 : MOST_COUNTED + 1])
    return last[0] if len(last) > 1 else None


def _counts(visible_scope: VisibleScope, since: datetime, now: datetime) -> Mapping[datetime, Sequence[int]]:
    """The messages that were sent, that wait although they are due, and that failed, by hour.

    Muted messages and messages for later do not wait.
    """
    newest = Notification.objects.filter(created__gte=since).order_by("-created", "-sequence")
    rows = Notification.objects.filter(id__in=newest.values("id")[:MOST_COUNTED])
    if not visible_scope.everything:
        rows = of_own_configs(in_visible_scope(rows, visible_scope))
    pending = Q(status=NotificationStatus.PENDING.value)
    due = Q(due__lte=now) | Q(attempts__gt=0)
    counted = (
        rows.order_by()
        .values_list(TruncHour("created", tzinfo=UTC))
        .annotate(
            sent=Count("id", filter=Q(status=NotificationStatus.DELIVERED.value)),
            waiting=Count("id", filter=pending & due & ~HELD_BACK),
            failed=Count("id", filter=Q(status=NotificationStatus.FAILED.value)),
        )
    )
    return {hour: numbers for hour, *numbers in counted}
