"""Closed sets of the outside; the values are the wire values."""

from enum import StrEnum


class ChannelType(StrEnum):
    """The ways a notification can leave (decisions 5 "notifications.typeName", less the groups of people)."""

    EMAIL = "EMAIL"
    SMS = "SMS"
    PAGER_SERVICE = "PAGER_SERVICE"
    CHAT_SERVICE = "CHAT_SERVICE"
    GROUP_CHAT_SERVICE = "GROUP_CHAT_SERVICE"
    METRICS_SERVICE = "METRICS_SERVICE"
    OPS_ALERT_SERVICE = "OPS_ALERT_SERVICE"
    ON_CALL_SERVICE = "ON_CALL_SERVICE"
    WEBHOOK = "WEBHOOK"
    TEAM_CHAT_SERVICE = "TEAM_CHAT_SERVICE"


class IntegrationType(StrEnum):
    """The kinds of outside services a project can be integrated with (decisions 7)."""

    PAGER_SERVICE = "PAGER_SERVICE"
    CHAT_SERVICE = "CHAT_SERVICE"
    METRICS_SERVICE = "METRICS_SERVICE"
    GROUP_CHAT_SERVICE = "GROUP_CHAT_SERVICE"
    OPS_ALERT_SERVICE = "OPS_ALERT_SERVICE"
    ON_CALL_SERVICE = "ON_CALL_SERVICE"
    WEBHOOK = "WEBHOOK"
    TEAM_CHAT_SERVICE = "TEAM_CHAT_SERVICE"
    SCRAPER = "SCRAPER"


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
