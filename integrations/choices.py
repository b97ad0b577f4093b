"""Closed sets of the outside, whose values are the wire values; and the name of a channel."""

from enum import StrEnum
from typing import NewType

ChannelType = NewType("ChannelType", str)
"""The wire name of a channel: a key of `integrations.channels.CHANNELS`."""


class Region(StrEnum):
    """Where a service that has several addresses is reached."""

    US = "US"
    EU = "EU"


class MessageKind(StrEnum):
    """What a message says; the values are those of the header `X-Ops-Event`."""

    OPEN = "alert.open"
    UPDATE = "alert.update"
    ACKNOWLEDGE = "alert.acknowledge"
    CLOSE = "alert.close"
    CANCEL = "alert.cancel"
    INFORM = "alert.inform"


TELLING = frozenset({MessageKind.OPEN, MessageKind.UPDATE})
"""They say that an alert is open; whoever was notified by one of them is notified of its end."""
ENDS = frozenset({MessageKind.CLOSE, MessageKind.CANCEL})
"""They go to whoever was notified before, whatever became of the configuration."""


class SecretKind(StrEnum):
    """How a field is redacted on the way out."""

    PLAIN = "plain"
    TOKEN = "token"  # noqa: S105 - the name of a kind, not a token
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret
    URL = "url"


class Fault(StrEnum):
    """Where an attempt failed, which decides what else waits (delivery, "destinations")."""

    MESSAGE = "message"
    """The receiver refused this message, or it could not be built: other messages may be delivered."""
    DESTINATION = "destination"
    """The receiver was reached and did not accept the message: its other messages wait."""
    HOST = "host"
    """No connection could be made: messages to every destination on that host wait."""


class DeliveryStatus(StrEnum):
    """How one attempt ended."""

    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
