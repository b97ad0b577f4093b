"""Receivers and projects that are left alone for now, so that they delay nobody else (decisions 7)."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.conf import settings
from django.db.models import Q, QuerySet

from alerting.choices import NotificationStatus
from alerting.models import FailingReceiver, Notification

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Keys of receivers: `busy` ones have enough in hand, `failing` ones are not to be tried now.

    `busy_projects` keep as many senders at work, whoever their receivers are: others go first; None is what
    happened without a project.
    """

    busy: Sequence[str]
    busy_projects: Sequence[str | None]
    failing: QuerySet[FailingReceiver, str]


def receivers_left_alone(
    *, now: datetime, known_to_answer: Collection[str], only_answering: bool
) -> LeftAlone:
    """The receivers that get nothing now; with `only_answering` all whose last attempt failed.

    One that fails, or is not `known_to_answer`, gets one message at a time, others leave a sender free, in
    the whole installation.
    """
    pending = Notification.objects.filter(status=NotificationStatus.PENDING.value, lease_until__gte=now)
    # As many as there are senders.
    in_hand = list(pending.values_list("receiver", "group_id"))
    receivers = Counter(receiver for receiver, _ in in_hand if receiver)
    projects: Counter[str | None] = Counter(group_id for _, group_id in in_hand)
    failing = failing_receivers()
    if not only_answering:
        failing = failing.filter(Q(next_try__gt=now) | Q(key__in=list(receivers)))
    untried = [key for key in receivers if key not in known_to_answer]
    return LeftAlone([*_busy(receivers), *untried], _busy(projects), failing)


def failing_receivers(among: Collection[str] | None = None) -> QuerySet[FailingReceiver, str]:
    """The keys of all receivers whose last attempt failed, or of those `among` these."""
    failing = FailingReceiver.objects.values_list("key", flat=True)
    return failing if among is None else failing.filter(key__in=among)


def _busy(counts: Counter[T]) -> Sequence[T]:
    """Those that have all senders in hand but one."""
    most = max(1, settings.OPSAPI_SENDERS - 1)
    return [key for key, count in counts.items() if count >= most]
