"""The definition of a channel: its configuration, its messages and how it sends them."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Protocol

from integrations.channels.outcome import Posted
from integrations.channels.stages import INCOMPLETE, Quote, Receipt, StageRow
from integrations.choices import ChannelType, DeliveryFault, MessageKind, SecretKind
from integrations.fields import Field, FieldSet
from integrations.messages import Message
from opsapi.api.catalogue import ErrorCode
from opsapi.api.fields import Copied

EVERY_KIND = frozenset(MessageKind)
KINDS_FOR_READERS = frozenset({MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE, MessageKind.INFORM})
"""Messages for people; services take no action on them."""


class DeliveryError(Exception):
    """A message was not delivered.

    `reason` is shown to the users who configured the channel: it quotes neither credentials nor the answer of
    the receiver. `peer` is the unchanged text of the receiver, and `detail` the reason of the TLS library or
    the system. `integrations.channels.delivery` shortens and masks them, and adds them after `joint`.
    `retry_after` is in seconds, as requested by the receiver.
    `perhaps_received`: the request was sent and not definitely rejected. `reached`: a connection was
    established. `busy`: the receiver answered that it takes no messages at the moment. `forbidden`: the
    refusal does not depend on how many messages the platform sends.
    """

    def __init__(
        self,
        reason: str,
        *,
        retryable: bool,
        retry_after: int | None = None,
        fault: DeliveryFault = DeliveryFault.MESSAGE,
        perhaps_received: bool = False,
        reached: bool = False,
        busy: bool = False,
        forbidden: bool = False,
        peer: str = "",
        detail: str = "",
        joint: str = ": ",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retryable = retryable
        self.retry_after = retry_after
        self.fault = fault
        self.perhaps_received = perhaps_received
        self.reached = reached
        self.busy = busy
        self.forbidden = forbidden
        self.peer = peer
        self.detail = detail
        self.joint = joint


def failure_at(
    row: StageRow,
    *,
    code: int | None = None,
    peer: str = "",
    detail: str = "",
    retry_after: int | None = None,
) -> DeliveryError:
    """The failure that a row of the table of stages describes.

    `peer` is the text of the receiver, `detail` the reason of the TLS library or the system. `retry_after` is
    in seconds, and counts only if the attempt is repeated.
    """
    return DeliveryError(
        row.said.format(code=code),
        retryable=row.is_retried,
        retry_after=retry_after if row.is_retried else None,
        fault=row.fault,
        perhaps_received=row.receipt is Receipt.PERHAPS,
        reached=row.is_reached,
        busy=row.is_busy,
        forbidden=row.is_forbidden,
        peer=peer if row.quote is Quote.PEER else "",
        detail=detail if row.quote is Quote.LIBRARY else "",
        joint=row.joint,
    )


def cannot_send(reason: str) -> DeliveryError:
    """The failure of a message that cannot be sent with these settings; `reason` names the value."""
    return DeliveryError(reason, retryable=INCOMPLETE.is_retried, fault=INCOMPLETE.fault)


@dataclass(frozen=True, slots=True)
class ChannelField(Field):
    """A field of a channel, with its name in the configuration and in an integration.

    `notification_name` is its name in a notification; None if it is the same. `in_notification`: whether a
    notification has the field. `in_config`: whether the configuration that `send` gets has it.
    """

    _: KW_ONLY
    notification_name: str | None = None
    in_notification: bool = True
    in_config: bool = True


def token(
    name: str, label: str, notification_name: str | None = None, *, example: str, required: bool = True
) -> ChannelField:
    """A secret that users copy from the service. Spaces around it are removed."""
    return ChannelField(
        name,
        label,
        Copied(what=label, required=required),
        example=example,
        secret=SecretKind.TOKEN,
        notification_name=notification_name,
    )


class Send(Protocol):
    """Sends one message."""

    def __call__(self, config: Mapping[str, str], message: Message, *, now: datetime) -> Posted | None:
        """Send the message; `now` is the time of the attempt.

        Return the message that later messages about the same alert change; None if they change no message.

        Raises: DeliveryError: the message was not delivered.
        """


@dataclass(frozen=True, slots=True)
class Channel(FieldSet):
    """A channel.

    The first of `fields` is the address, or the credential that the others belong to. `send` sends a message
    of one of `kinds` with a configuration: field values by name. `origin` names the host of a configuration
    as scheme, name and port: if it accepts no connection, all destinations on that host wait. Two
    configurations with the same `identity` have the same receiver, however their fields are spelled.
    `keeps_state`: the service tracks alerts itself, with every configuration; `tracks_alerts`: with a
    configuration. `longest_attempt` limits the time of an attempt. `changes_messages`: whether the later
    messages of an alert change the message of its opening, with a configuration; None if they never do.
    `shows_report`: whether a message with a report is sent whole, with a configuration; None if its messages
    are no long texts.
    """

    type: ChannelType
    fields: tuple[ChannelField, ...]
    _: KW_ONLY
    send: Send
    origin: Callable[[Mapping[str, str]], str]
    identity: Callable[[Mapping[str, str]], Mapping[str, str]] = dict
    kinds: frozenset[MessageKind] = KINDS_FOR_READERS
    base_url_settings: tuple[str, ...] = ()
    keeps_state: bool = False
    longest_attempt: timedelta = timedelta(seconds=15)
    place_field: str | None = None
    place_mark: str = ""
    changes_messages: Callable[[Mapping[str, str]], bool] | None = None
    tracks_alerts: Callable[[Mapping[str, str]], bool] = lambda _: False
    shows_report: Callable[[Mapping[str, str], Message], bool] | None = None
    missing_code: ErrorCode = ErrorCode.MISSING_ATTRIBUTE

    @property
    def has_address(self) -> bool:
        """Whether it sends to an address, which is not a secret, so that no integration is needed."""
        return self.fields[0].secret is SecretKind.PLAIN

    def kinds_sent(self, *, changes_messages: bool) -> frozenset[MessageKind]:
        """The kinds of messages that are sent. A message that is changed shows every change of its alert."""
        return EVERY_KIND if changes_messages else self.kinds

    def missing(self, config: Mapping[str, str]) -> list[str]:
        return [field.name for field in self.fields if field.form.required and not config.get(field.name)]

    def receiver_words(self, recipient: str, place: str = "") -> str:
        """The name of a receiver: `ada@example.com`, `Slack #oncall`, `Webhook hooks.example.com`.

        `recipient` is the first field as shown; `place` is the value of the `place_field`.
        """
        match self.fields[0].secret:
            case SecretKind.PLAIN:
                return recipient or self.label
            case SecretKind.URL:
                name = recipient.partition("://")[2].partition("/")[0]
            case _:
                name = self.place_mark + place.lstrip(self.place_mark) if place else ""
        return f"{self.label} {name}".rstrip()
