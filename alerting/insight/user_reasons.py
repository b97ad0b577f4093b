"""Why a notification of an alert's configuration did, or did not, notify a user. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from alerting.insight.message_reasons import NotificationExplanation
from alerting.reasons import NotificationReason, in_full


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFacts:
    """The facts about a user and a notification of a configuration.

    `kept_out`: why the notification does not reach the user now; None if it does. `own`: the message to an
    address of the user, if there is any. `shared`: the message to all recipients, whose addresses are not
    looked up yet or were not found. `has_others`: there are messages to other recipients. `no_message`: why
    there would be no message at all.
    """

    kept_out: NotificationReason | None
    own: NotificationExplanation | None
    shared: NotificationExplanation | None
    has_others: bool
    no_message: NotificationReason


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNotification:
    """Whether a notification of the configuration reached the user.

    `reaches`: whether it reaches the user now. `reason`: DELIVERED, or the part that kept the user out.
    """

    setting_id: str
    type_name: str
    label: str
    reaches: bool
    explanation: NotificationExplanation


@dataclass(frozen=True, slots=True, kw_only=True)
class UserExplanation:
    """Whether a user was notified of an alert, with each notification of the configuration.

    `notified` is None if the reader may not see the configuration.
    """

    user_id: str
    username: str
    notified: bool | None
    detail: str
    notifications: Sequence[UserNotification] = ()


_NOTIFIED = frozenset({NotificationReason.DELIVERED, NotificationReason.MERGED})


def explain_user_notification(facts: UserFacts) -> NotificationExplanation:
    """Return the first that applies: notified, kept out, the state of the message, no message."""
    if facts.own is not None and facts.own.reason in _NOTIFIED:
        return facts.own
    if facts.kept_out is not None:
        return _because(facts.kept_out)
    if facts.own is not None:
        return facts.own
    if facts.shared is not None:
        return facts.shared
    return _because(NotificationReason.NOT_A_RECIPIENT_THEN if facts.has_others else facts.no_message)


def _because(reason: NotificationReason) -> NotificationExplanation:
    return NotificationExplanation(reason=reason, detail=in_full(reason.of_user))


def user_detail(username: str, *, notified: bool, notifications: Sequence[UserNotification]) -> str:
    """The answer in a sentence."""
    if notified:
        return f"{username} was notified."
    if not notifications:
        return f"{username} was not notified: the alert configuration has no notifications."
    if not any(notification.reaches for notification in notifications):
        return f"{username} was not notified: no notification of the alert configuration reaches this user."
    yet = " yet" if any(notification.explanation.until for notification in notifications) else ""
    return f"{username} was not notified{yet}."
