"""What a channel is: how people configure it, which messages it sends, and how."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Protocol

from integrations.choices import ChannelType, Fault, MessageKind, SecretKind
from integrations.fields import Field, FieldSet
from integrations.messages import Message
from opsapi.api.catalogue import ErrorCode
from opsapi.api.fields import Text

EVERY_KIND = frozenset(MessageKind)
KINDS_FOR_READERS = frozenset({MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE, MessageKind.INFORM})
"""The messages for people to read: no service acts on them."""


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
class ChannelField(Field):
    """One field of a channel, under its name in the config and in a project's integration.

    A notification calls it `notification_name`, or the same where that is None; it does not have the field
    where `in_notification` is false. `in_config`: whether the config that `send` gets has it.
    """

    _: KW_ONLY
    notification_name: str | None = None
    in_notification: bool = True
    in_config: bool = True


def token(
    name: str, label: str, notification_name: str | None = None, *, example: str, required: bool = True
) -> ChannelField:
    """A secret that the service gives to people, who copy it."""
    return ChannelField(
        name,
        label,
        Text(required=required),
        example=example,
        secret=SecretKind.TOKEN,
        notification_name=notification_name,
    )


class Send(Protocol):
    """Sends one message."""

    def __call__(self, config: Mapping[str, str], message: Message, *, now: datetime) -> None:
        """Send the message; `now` is the time of the attempt.

        Raises:
            DeliveryError: when it was not delivered.
        """


@dataclass(frozen=True, slots=True)
class Channel(FieldSet):
    """One way out.

    The first of `fields` is the address, or the credential that the others go with. `send` sends a message of
    one of `kinds` with a config: the values of the fields by name.

    `origin` names the host that a config leads to, as scheme, name and port: when no connection can be made,
    all destinations on that host wait. `base_url_settings` are the settings that say where the service is
    reached. `keeps_state`: the service keeps an alert's state itself, so reminders are sent only when asked
    for. `place_field` is the field that names a channel or a room there; people write `place_mark` before it.
    `missing_code` refuses a notification that lacks a required field.
    """

    type: ChannelType
    fields: tuple[ChannelField, ...]
    _: KW_ONLY
    send: Send
    origin: Callable[[Mapping[str, str]], str]
    kinds: frozenset[MessageKind] = KINDS_FOR_READERS
    base_url_settings: tuple[str, ...] = ()
    keeps_state: bool = False
    place_field: str | None = None
    place_mark: str = ""
    missing_code: ErrorCode = ErrorCode.MISSING_ATTRIBUTE

    @property
    def has_address(self) -> bool:
        """Whether it sends to an address, which is no secret: an integration would have nothing to hold."""
        return self.fields[0].secret is SecretKind.PLAIN

    def missing(self, config: Mapping[str, str]) -> list[str]:
        """The names of required fields that the config has no value for."""
        return [field.name for field in self.fields if field.form.required and not config.get(field.name)]

    def receiver_words(self, recipient: str, place: str = "") -> str:
        """A receiver as people know it: `ada@example.com`, `Slack #oncall`, `Webhook hooks.example.com`.

        `recipient` is the first field as it is shown; `place` is the value of the `place_field`.
        """
        match self.fields[0].secret:
            case SecretKind.PLAIN:
                return recipient or self.label
            case SecretKind.URL:
                name = recipient.partition("://")[2].partition("/")[0]
            case _:
                name = self.place_mark + place.lstrip(self.place_mark) if place else ""
        return f"{self.label} {name}".rstrip()
