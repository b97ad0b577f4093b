"""HipChat (GROUP_CHAT_SERVICE): room notifications with version 2 of its API.

https://developer.atlassian.com/hipchat/guide/sending-messages. HipChat itself no longer exists; a setting
names a server with the same API.
"""

from collections.abc import Mapping
from datetime import datetime
from html import escape
from urllib.parse import quote

from django.conf import settings

from events.types import Severity
from integrations.channels.base import Channel, ChannelField, cannot_send, token
from integrations.channels.http import ServiceRequest, in_header, origin_of, over_http
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message, joined
from opsapi.api.fields import Text

_MESSAGE_LIMIT = 10_000
_BREAK = "<br>"
_COLOURS: Mapping[Severity, str] = {
    Severity.CRITICAL: "red",
    Severity.WARNING: "yellow",
    Severity.INFO: "purple",
}
_TEST_COLOUR = "gray"
_PATH_SEGMENTS = frozenset({".", ".."})


def build_request(config: Mapping[str, str], message: Message, _now: datetime) -> ServiceRequest:
    """The request to notify the room `config["roomName"]`.

    The message is HTML: in a text message, a name such as `@all` would notify everybody.

    Raises: DeliveryError: no server is configured, or the token cannot be sent in a header.
    """
    document = {
        "message": _html(message),
        "message_format": "html",
        "color": _colour(message),
        "notify": not message.is_test,
    }
    headers = {"Authorization": f"Bearer {in_header(config['notificationToken'])}"}
    return ServiceRequest(_url(config["roomName"]), document, headers)


def _colour(message: Message) -> str:
    if message.kind is MessageKind.CLOSE:
        return "green"
    return _TEST_COLOUR if message.is_test else _COLOURS[message.severity]


def _url(room: str) -> str:
    base = settings.OPSAPI_GROUP_CHAT_BASE_URL
    if not base:
        raise cannot_send("HipChat is not configured in this installation")
    if room in _PATH_SEGMENTS:
        # Such a name would lead to another path.
        raise cannot_send("the room name cannot be part of a URL")
    return f"{base}/v2/room/{quote(room, safe='')}/notification"


def _html(message: Message) -> str:
    return joined(_lines(message), _MESSAGE_LIMIT, _BREAK)


def _lines(message: Message) -> list[str]:
    lines = [f"<b>{escape(message.title)}</b>"]
    lines += [
        f"{escape(label)}: {escape(value)}".replace("\n", _BREAK) for label, value in message.facts.items()
    ]
    lines += [f'<a href="{escape(url)}">{escape(label)}</a>' for label, url in message.links.items()]
    return lines


def _shows_report(_config: Mapping[str, str], message: Message) -> bool:
    return len(_BREAK.join(_lines(message))) <= _MESSAGE_LIMIT


HIPCHAT = Channel(
    ChannelType("GROUP_CHAT_SERVICE"),
    "HipChat",
    fields=(
        token("notificationToken", "Notification token", example="token-0123456789"),
        ChannelField("roomName", "Room", Text(max_length=200), example="oncall"),
    ),
    send=over_http(build_request),
    origin=lambda _: origin_of(settings.OPSAPI_GROUP_CHAT_BASE_URL),
    base_url_settings=("OPSAPI_GROUP_CHAT_BASE_URL",),
    place_field="roomName",
    shows_report=_shows_report,
)
