"""What a channel is: its config fields, what it is told of, and how it sends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from integrations.choices import ChannelType, Fault, MessageKind
from integrations.messages import Message


class DeliveryError(Exception):
    """One message was not delivered.

    `reason` is shown to the people who configured the channel: it quotes neither their credentials nor
    what the receiver answered. `retry_after` is in seconds, as the receiver asked. `perhaps_received`: the
    request was sent and not definitely refused. `reached`: a connection was made.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        retry_after: int | None = None,
        fault: Fault = Fault.MESSAGE,
        perhaps_received: bool = False,
        reached: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after
        self.fault = fault
        self.perhaps_received = perhaps_received
        self.reached = reached


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

    `origin` names the host that a config leads to, as scheme, name and port: what cannot be connected to
    fails for all its destinations. `kinds` are the messages it is told of (decisions 6 "told of what");
    `keeps_state`: the service keeps an alert's state itself, so nothing is repeated unless asked for
    (decisions 5 "intervalMin").
    """

    type: ChannelType
    fields: tuple[ConfigField, ...]
    kinds: frozenset[MessageKind]
    send: Send
    origin: Callable[[Mapping[str, str]], str]
    keeps_state: bool = False

    def missing(self, config: Mapping[str, str]) -> list[str]:
        """The names of required fields that have no value there."""
        return [field.name for field in self.fields if field.required and not config.get(field.name)]
