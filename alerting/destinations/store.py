"""Destinations with their state and the notifications that wait for them."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    F,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from alerting.destinations.choices import DestinationState
from alerting.destinations.models import Destination, UnreachableHost
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from integrations.channels.stages import PROXY_FAULTS
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words
from opsapi.first_rows import FirstRows, first_rows

FAILS_AFTER = timedelta(seconds=30)
"""How long messages must fail because of the outgoing proxy before it is reported."""
TRIED_WITHIN = timedelta(minutes=10)
"""A destination that was not tried for longer says nothing about the proxy. Retries are more frequent."""

_STATE = Case(
    When(failures__gt=0, then=Value(DestinationState.FAILING.value)),
    When(pace_ms__gt=0, then=Value(DestinationState.SLOWED.value)),
    When(answered__isnull=False, then=Value(DestinationState.HEALTHY.value)),
    default=Value(DestinationState.UNTRIED.value),
    output_field=CharField(),
)
# A retry waits since its first attempt; `due` is only the time of its next attempt.
WAITING_SINCE = Coalesce("first_attempt", "due")


def with_state(rows: QuerySet[Destination]) -> QuerySet[Any]:
    """Destinations with their `state`, a DestinationState."""
    annotated: QuerySet[Any] = rows.annotate(state=_STATE)
    return annotated


def with_waiting(rows: QuerySet[Destination]) -> QuerySet[Any]:
    """Destinations with `state`, `waiting_count` and `waiting_since`, the latest failure first."""
    of_each = waiting_for(OuterRef("id")).order_by().values("destination")
    counts = of_each.annotate(count=Count("id")).values("count")
    oldest = of_each.annotate(oldest=Min(WAITING_SINCE)).values("oldest")
    annotated: QuerySet[Any] = with_state(rows).annotate(
        waiting_count=Coalesce(Subquery(counts, output_field=IntegerField()), 0),
        waiting_since=Subquery(oldest, output_field=DateTimeField()),
    )
    return annotated.order_by(F("failing_since").desc(nulls_last=True), "-updated", "id")


def waiting_for(destination: str | F) -> QuerySet[Notification]:
    """The notifications that wait for a destination, in the order in which they go out."""
    pending = Q(status=NotificationStatus.PENDING.value, destination__gt="")
    return Notification.objects.filter(pending, destination=destination).order_by("due", "sequence")


def destinations_failing(*, visible_scope: VisibleScope) -> FirstRows[Destination]:
    """The destinations in reach whose last attempt failed, the latest first."""
    failing = _in_visible_scope(visible_scope).filter(failing_since__isnull=False)
    return first_rows(with_waiting(failing).select_related("group"))


def proxy_fault_words(now: datetime) -> str | None:
    """Why and since when messages fail because of the outgoing proxy; None if they do not.

    The words name no address. A receiver of an `http` URL can answer 407 itself, so its answer does not
    count.
    """
    if settings.OPSAPI_OUTBOUND_PROXY is None:
        return None
    of_proxy = Q()
    for sentence in PROXY_FAULTS:
        of_proxy |= Q(last_error__startswith=sentence)
    failing = Destination.objects.filter(
        of_proxy,
        failing_since__lte=now - FAILS_AFTER,
        tried__gte=now - TRIED_WITHIN,
    ).exclude(host__startswith="http:", last_error__endswith="(407)")
    row = failing.order_by("failing_since", "id").first()
    if row is None or row.failing_since is None:
        return None
    fault = next(sentence for sentence in PROXY_FAULTS if (row.last_error or "").startswith(sentence))
    return f"messages have failed for {age_words(now - row.failing_since)}: {fault}"


def any_message_delivered(visible_scope: VisibleScope) -> bool:
    """Whether a destination in reach has ever accepted a message."""
    return _in_visible_scope(visible_scope).filter(answered__isnull=False).exists()


def _in_visible_scope(visible_scope: VisibleScope) -> QuerySet[Destination]:
    live = Destination.objects.filter(group__deleted=None)
    if visible_scope.everything:
        return live
    return live.filter(group_id__in=visible_scope.group_ids, is_global=False)


def host_unreachable(host: str) -> UnreachableHost | None:
    return UnreachableHost.objects.filter(host=host).first()


def destinations_by_state() -> dict[str, int]:
    rows = with_state(Destination.objects.all()).order_by().values_list("state")
    return dict(rows.annotate(Count("id")))
