"""Closed sets of the integrations with their wire values, and the name of a channel."""

from enum import StrEnum
from typing import NewType

ChannelType = NewType("ChannelType", str)
"""The wire name of a channel: a key of `integrations.channels.CHANNELS`."""


class Region(StrEnum):
    """Region of a service that has several addresses."""

    US = "US"
    EU = "EU"


class MessageKind(StrEnum):
    """Kind of a message; the header `X-Ops-Event` has the same values."""

    OPEN = "alert.open"
    UPDATE = "alert.update"
    ACKNOWLEDGE = "alert.acknowledge"
    CLOSE = "alert.close"
    CANCEL = "alert.cancel"
    INFORM = "alert.inform"


OPEN_KINDS = frozenset({MessageKind.OPEN, MessageKind.UPDATE})
"""They say that an alert is open; recipients of one of them are notified when it ends."""
ENDS = frozenset({MessageKind.CLOSE, MessageKind.CANCEL})
"""They go to everybody who was notified before, even if the configuration has changed."""
FOLLOWING = ENDS | {MessageKind.ACKNOWLEDGE}
"""They go to the destination of the opening, even if the configuration names another destination now."""


class SecretKind(StrEnum):
    """How a field is redacted."""

    PLAIN = "plain"
    TOKEN = "token"  # noqa: S105 - the name of a kind, not a token
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret
    URL = "url"
    HEADERS = "headers"


class DeliveryFault(StrEnum):
    """The place of a failure, which decides what else waits (docs/architecture.md, "Destinations")."""

    MESSAGE = "message"
    """The receiver rejected this message, or it could not be built; other messages can be delivered."""
    DESTINATION = "destination"
    """The receiver was reached and did not accept the message; its other messages wait."""
    HOST = "host"
    """The host accepts no connection, or refuses all messages; messages to all its destinations wait."""
    SETTINGS = "settings"
    """The settings of the platform are wrong, such as the log-in of the mail server. If the message is
    retried, messages to all destinations on the host wait, as for HOST."""
    WORKER = "worker"
    """The worker was delayed and sent no request; nothing waits."""


class DeliveryStatus(StrEnum):
    """The result of an attempt."""

    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
