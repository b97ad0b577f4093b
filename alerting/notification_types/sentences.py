"""Sentences that say whom a notification of a configuration reaches, and when.

They take notifications as answers show them, with secrets redacted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from alerting.choices import ConfigNotificationType
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.rules.recipients import TYPE_LABELS
from integrations.choices import SecretKind

_WAYS = {"emailEnabled": "e-mail", "smsEnabled": "SMS"}

Part = Mapping[str, Any]


def receiver_sentence(notification: Part) -> str:
    """Whom a notification tells and by which way, such as: User ada by e-mail and SMS."""
    kind = NOTIFICATION_TYPES[ConfigNotificationType(notification["typeName"])]
    named = [
        ", ".join(value) if isinstance(value, list) else str(value)
        for value in _named(notification, (one.name for one in kind.fields if one.secret is SecretKind.PLAIN))
    ]
    ways = [way for flag, way in _WAYS.items() if kind.for_people and notification.get(flag)]
    own = [] if kind.has_credentials(notification) else ["with the project's integration"]
    by = [f"by {' and '.join(ways)}"] if ways else []
    return " ".join([TYPE_LABELS[kind.type], *named, *by, *own])


def rhythm_sentence(notification: Part) -> str:
    """When it tells: after which delay, and how often again; in minutes."""
    delay, interval = notification["delayMin"], notification.get("intervalMin")
    first = f"after {delay} min" if delay else "at once"
    again = f"again every {interval} min" if interval else "not again"
    return f"{first}, {again}"


def _named(notification: Part, names: Iterable[str]) -> Iterable[Any]:
    """The values that name somebody; a team by the name it has, where it is not gone."""
    for name in names:
        if name == "teamId" and "teamName" in notification:
            yield notification["teamName"]
        elif name in notification and name not in _WAYS:
            yield notification[name]
