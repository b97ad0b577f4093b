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
    """What a message tells; the values stand in `X-Ops-Event` (decisions 7)."""

    OPEN = "alert.open"
    UPDATE = "alert.update"
    ACKNOWLEDGE = "alert.acknowledge"
    CLOSE = "alert.close"
    CANCEL = "alert.cancel"
    INFORM = "alert.inform"


TELLING = frozenset({MessageKind.OPEN, MessageKind.UPDATE})
"""They say that an alert is open; whoever was told one of them is told of its end."""
ENDS = frozenset({MessageKind.CLOSE, MessageKind.CANCEL})
"""They are told to those who were told, whatever became of the configuration."""


class SecretKind(StrEnum):
    """How a config field looks on the way out (decisions 5 "redaction")."""

    PLAIN = "plain"
    TOKEN = "token"  # noqa: S105 - the name of a kind, not a token
    SECRET = "secret"  # noqa: S105 - the name of a kind, not a secret
    URL = "url"


class Fault(StrEnum):
    """Where an attempt failed, which decides what else waits for it (delivery, "destinations")."""

    MESSAGE = "message"
    """The receiver refused this one message, or it could not be made: other messages may fare better."""
    DESTINATION = "destination"
    """The receiver was reached and did not take it: its other messages wait."""
    HOST = "host"
    """No connection could be made: messages to every destination on that host wait."""


class DeliveryStatus(StrEnum):
    """How one attempt ended."""

    DELIVERED = "delivered"
    RETRY = "retry"
    FAILED = "failed"
