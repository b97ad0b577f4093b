"""What a channel is: its config fields, what it is told of, and how it sends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message


class DeliveryError(Exception):
    """One message was not delivered.

    `reason` is shown to the people who configured the channel: it quotes neither their credentials nor
    what the receiver answered. `retry_after` is in seconds, as the receiver asked. `unavailable`: the
    service itself failed, for everybody; else it is there, and put off or refused this one message.
    """

    def __init__(
        self, reason: str, *, retryable: bool, retry_after: int | None = None, unavailable: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after
        self.unavailable = unavailable


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One field of a channel's config.

    `name` is its key in the config and in an integration (decisions 7), whose type says what is secret.
    """

    name: str
    required: bool = True


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
