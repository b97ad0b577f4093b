"""What a channel is: its config fields, what it is told of, and how it sends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from integrations.choices import ChannelType, MessageKind, SecretKind
from integrations.messages import Message
from integrations.redaction import redact


class DeliveryError(Exception):
    """One message was not delivered.

    `reason` is shown to the people who configured the channel: it quotes neither their credentials nor
    what the receiver answered. `retry_after` is in seconds, as the receiver asked.
    """

    def __init__(self, reason: str, *, retryable: bool, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One field of a channel's config.

    `name` is its key in the config and in an integration (decisions 7), `notification_name` its key in
    an alert config's notification (decisions 5).
    """

    name: str
    notification_name: str
    secret: SecretKind = SecretKind.PLAIN
    required: bool = True

    def redact(self, value: str) -> str:
        """The value as it may be shown (contract 2.1)."""
        return redact(self.secret, value)


class Send(Protocol):
    """Sends one message or says why not."""

    def __call__(self, config: Mapping[str, str], message: Message, *, now: datetime) -> None:
        """Send it; `now` is the time of the attempt.

        Raises:
            DeliveryError: when it was not delivered.
        """


@dataclass(frozen=True, slots=True)
class Channel:
    """One way out.

    `kinds` are the messages it is told of (decisions 6 "told of what"); `keeps_state`: the service keeps
    an alert's state itself, so nothing is repeated unless asked for (decisions 5 "intervalMin").
    """

    type: ChannelType
    fields: tuple[ConfigField, ...]
    kinds: frozenset[MessageKind]
    send: Send
    keeps_state: bool = False

    def missing(self, config: Mapping[str, str]) -> list[str]:
        """The names of required fields that have no value there."""
        return [field.name for field in self.fields if field.required and not config.get(field.name)]
