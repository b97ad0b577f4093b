"""Reads why a user was, or was not, notified of an alert."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

from accesslist.models import User
from alerting.configs.models import NotificationSetting
from alerting.configs.recipients import why_not_reached
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification
from alerting.engine.notification_log import origins_of, senders_of, setting_words
from alerting.insight.message_explanations import DeliveryFacts, explanations_of, verdict_of
from alerting.insight.message_reasons import NotificationExplanation
from alerting.insight.recorded_conditions import HIDDEN_CONDITION
from alerting.insight.timeline_notifications import messages_about, shown_notification, with_tries
from alerting.insight.user_reasons import (
    UserExplanation,
    UserFacts,
    UserNotification,
    explain_user_notification,
    user_detail,
)
from opsapi.fields import Among


@dataclass(frozen=True, slots=True)
class _UserMessages:
    """The messages of an alert by setting: to the user's addresses, to all recipients, and whether any."""

    own: Mapping[str, NotificationExplanation]
    shared: Mapping[str, NotificationExplanation]
    any: frozenset[str]


def explain_user(facts: DeliveryFacts, user: User, *, sees_config: bool, now: datetime) -> UserExplanation:
    """Explain for each notification of the configuration whether it notified the user.

    If the configuration is not visible, nothing about the user is.
    """
    if not sees_config:
        return UserExplanation(
            user_id=user.id, username=user.username, notified=None, detail=HIDDEN_CONDITION
        )
    messages = _messages(facts, user, now)
    notifications = [_explained(setting, facts, user, messages) for setting in facts.kept]
    notified = _of_user(facts, user).filter(status=NotificationStatus.DELIVERED.value).exists()
    return UserExplanation(
        user_id=user.id,
        username=user.username,
        notified=notified,
        detail=user_detail(user.username, notified=notified, notifications=notifications),
        notifications=notifications,
    )


def _explained(
    setting: NotificationSetting, facts: DeliveryFacts, user: User, messages: _UserMessages
) -> UserNotification:
    alert = facts.alert
    kept_out = why_not_reached(setting, user, group_id=alert.group_id)
    explanation = explain_user_notification(
        UserFacts(
            kept_out=kept_out,
            own=messages.own.get(setting.id),
            shared=messages.shared.get(setting.id),
            has_others=setting.id in messages.any,
            no_message=facts.no_message_reason,
        )
    )
    return UserNotification(
        setting_id=setting.id,
        type_name=setting.type_name,
        label=setting_words(setting, alert.group_id),
        reaches=kept_out is None,
        explanation=explanation,
    )


def _of_user(facts: DeliveryFacts, user: User) -> QuerySet[Notification]:
    """The messages to an address of the user."""
    addresses = [address for address in (user.email_address, user.mobile_number) if address]
    if not addresses:
        return Notification.objects.none()
    of_user = Q(*(("recipient__iexact", address) for address in addresses), _connector=Q.OR)
    return messages_about(facts.alert).filter(of_user, channel__isnull=False)


def _messages(facts: DeliveryFacts, user: User, now: datetime) -> _UserMessages:
    """For each setting the delivered message, or else the newest."""
    of_alert = messages_about(facts.alert)
    return _UserMessages(
        own=_by_setting(_of_user(facts, user), facts, now),
        shared=_by_setting(of_alert.filter(channel=None), facts, now),
        any=frozenset(of_alert.values_list("setting_id", flat=True).distinct()),
    )


def _by_setting(
    rows: QuerySet[Notification], facts: DeliveryFacts, now: datetime
) -> dict[str, NotificationExplanation]:
    is_delivered = When(status=NotificationStatus.DELIVERED.value, then=Value(0))
    first = Case(is_delivered, default=Value(1), output_field=IntegerField())
    # First the ids: PostgreSQL would read the attempts of all rows before it leaves rows out.
    chosen_rows = rows.order_by("setting_id", first, "-created", "-id").distinct("setting_id")
    ids = list(chosen_rows.values_list("id", flat=True))
    chosen = list(with_tries(Notification.objects.filter(Among("id", ids))))
    origins = origins_of(chosen)
    pending = [row for row in chosen if row.status == NotificationStatus.PENDING]
    senders = senders_of(chosen, with_recipients=True)
    notifications = [
        shown_notification(row, origins.get(row.id), now, senders.get(row.id, "")) for row in chosen
    ]
    verdicts = {row.id: verdict_of(row, facts, now=now) for row in pending}
    explained = explanations_of(notifications, verdicts, facts, now=now)
    return {notification.setting_id: explained[notification.id] for notification in notifications}
