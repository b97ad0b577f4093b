"""The recipient and the schedule of a notification, in words."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from alerting.notification_types import NOTIFICATION_TYPES
from integrations.channels import CHANNELS
from integrations.channels.sms import SMS
from integrations.choices import ChannelType, SecretKind
from opsapi.clock import age_words

_WAYS = {"emailEnabled": "e-mail", "smsEnabled": SMS.label}

NotificationDocument = Mapping[str, Any]


def recipient_words(
    *, type_name: str, channel: ChannelType | None, recipient: str | None, place: str = ""
) -> str:
    """The recipient of a message: `ada@example.com`, `Slack #oncall`, `Webhook hooks.example.com`.

    `channel` is None until the addresses of people are looked up. `recipient` is as the log has it, without
    secrets; None: not to be shown. `place` is the channel, the room or the team that is named.
    """
    label = CHANNELS[channel].label if channel else NOTIFICATION_TYPES[type_name].label
    if recipient is None:
        return f"{label} (recipient not shown)"
    if channel:
        return CHANNELS[channel].receiver_words(recipient, place)
    named = place or recipient
    return f"{label}: {named}" if named else label


def receiver_sentence(notification: NotificationDocument) -> str:
    """The recipient and channels of a notification, such as: User ada by e-mail and SMS.

    The notification is as shown by the API, with redacted secrets.
    """
    kind = NOTIFICATION_TYPES[notification["typeName"]]
    plain = [field.name for field in kind.fields if field.secret is SecretKind.PLAIN]
    named = [
        ", ".join(value) if isinstance(value, list) else str(value) for value in _named(notification, plain)
    ]
    ways = [way for flag, way in _WAYS.items() if kind.for_people and notification.get(flag)]
    own = [] if kind.has_credentials(notification) else ["with the integration of the project"]
    by = [f"by {' and '.join(ways)}"] if ways else []
    return " ".join([kind.label, *named, *by, *own])


def rhythm_sentence(notification: NotificationDocument) -> str:
    """The schedule of a notification: delay and reminders; input in minutes."""
    delay, interval = notification["delayMin"], notification.get("intervalMin")
    first = f"after {_minutes(delay)}" if delay else "immediately"
    again = f"reminder every {_minutes(interval)}" if interval else "no reminders"
    return f"{first}, {again}"


def _minutes(number: int) -> str:
    return age_words(timedelta(minutes=number))


def _named(notification: NotificationDocument, names: Iterable[str]) -> Iterable[Any]:
    """The values that name recipients; a team by its name, unless it is deleted."""
    for name in names:
        if name == "teamId" and "teamName" in notification:
            yield notification["teamName"]
        elif name in notification and name not in _WAYS:
            yield notification[name]
