"""Destinations: those that fail, and what waits for each."""

from django.db.models import Count, DateTimeField, F, IntegerField, Min, OuterRef, QuerySet, Subquery

from alerting.choices import NotificationStatus
from alerting.models import Destination, Notification
from opsapi.api.principal import Reach
from opsapi.console.first_rows import FirstRows, first_rows


def with_waiting(rows: QuerySet[Destination]) -> QuerySet[Destination]:
    """Destinations with `waiting_count` and `waiting_since`; those that fail come first, latest first."""
    waiting = Notification.objects.filter(
        status=NotificationStatus.PENDING.value, destination__gt="", destination=OuterRef("id")
    ).order_by()
    of_each = waiting.values("destination")
    counts = of_each.annotate(count=Count("id")).values("count")
    oldest = of_each.annotate(oldest=Min("due")).values("oldest")
    return rows.annotate(
        waiting_count=Subquery(counts, output_field=IntegerField()),
        waiting_since=Subquery(oldest, output_field=DateTimeField()),
    ).order_by(F("failing_since").desc(nulls_last=True), "-updated", "id")


def destinations_failing(*, reach: Reach) -> FirstRows[Destination]:
    """The destinations in reach whose last attempt failed, the latest first."""
    failing = Destination.objects.filter(failing_since__isnull=False, group__deleted=None)
    if not reach.everything:
        failing = failing.filter(group_id__in=reach.group_ids, is_global=False)
    return first_rows(with_waiting(failing).select_related("group"))
