"""Receivers and projects that are left alone for now, so that they delay nobody else (decisions 7)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import Q, QuerySet

from alerting.choices import NotificationStatus
from alerting.models import FailingReceiver, Notification


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Keys of receivers: `busy` ones have enough in hand, `failing` ones are not to be tried now.

    `busy_projects` keep as many senders at work, whoever their receivers are: others go first.
    """

    busy: Sequence[str]
    busy_projects: Sequence[str]
    failing: QuerySet[FailingReceiver, str]


def receivers_left_alone(*, now: datetime, only_answering: bool) -> LeftAlone:
    """The receivers that get nothing now; with `only_answering` all whose last attempt failed.

    One that fails gets one message at a time, others leave a sender free, in the whole installation.
    """
    pending = Notification.objects.filter(status=NotificationStatus.PENDING.value, lease_until__gte=now)
    # As many as there are senders.
    in_hand = list(pending.values_list("receiver", "group_id"))
    receivers = Counter(receiver for receiver, _ in in_hand if receiver)
    projects = Counter(group_id for _, group_id in in_hand)
    waiting = Q() if only_answering else Q(next_try__gt=now) | Q(key__in=list(receivers))
    failing = FailingReceiver.objects.filter(waiting).values_list("key", flat=True)
    return LeftAlone(_busy(receivers), _busy(projects), failing)


def _busy(counts: Counter[str]) -> Sequence[str]:
    """Those that have all senders in hand but one."""
    most = max(1, settings.OPSAPI_SENDERS - 1)
    return [key for key, count in counts.items() if count >= most]
