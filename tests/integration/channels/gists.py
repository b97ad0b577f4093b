"""Every channel with one receiver, and a word for each message that the receiver gets.

`GISTS` lists the word for each channel and kind of message; None if the channel does not get the message.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

from pytest_django import Settings

from integrations.channels import CHANNELS
from tests.receivers import HttpReceiver, MailReceiver, ReceivedRequest

OPENED, REPEATED, ACKNOWLEDGED, CLOSED, CANCELLED, ONE_SHOT = KINDS = (
    "alert.open",
    "alert.update",
    "alert.acknowledge",
    "alert.close",
    "alert.cancel",
    "alert.inform",
)


SECRET = "very-secret"
"""The credentials of every channel that has any."""


def _of(*words: str | None) -> Mapping[str, str | None]:
    return dict(zip(KINDS, words, strict=True))


_FOR_PEOPLE = _of("[OPEN]", "[STILL OPEN]", None, "[CLOSED]", None, "[EVENT]")

GISTS: Mapping[str, Mapping[str, str | None]] = {
    "EMAIL": _FOR_PEOPLE,
    "SMS": _FOR_PEOPLE,
    "CHAT_SERVICE": _FOR_PEOPLE,
    "GROUP_CHAT_SERVICE": _FOR_PEOPLE,
    "TEAM_CHAT_SERVICE": _FOR_PEOPLE,
    "METRICS_SERVICE": _of("error", "error", None, "success", None, "warning"),
    "PAGER_SERVICE": _of("trigger", "trigger", "acknowledge", "resolve", "resolve", "trigger"),
    "OPS_ALERT_SERVICE": _of("alerts", "alerts", "acknowledge", "close", "close", "alerts"),
    "ON_CALL_SERVICE": _of("CRITICAL", "CRITICAL", "ACKNOWLEDGEMENT", "RECOVERY", "RECOVERY", "WARNING"),
    "WEBHOOK": _of(*KINDS),
}

_LABEL = re.compile(r"\[[A-Z ]+\]")


def _label(text: str) -> str:
    found = _LABEL.search(text)
    assert found, text
    return found[0]


def _json(request: ReceivedRequest) -> Any:
    return json.loads(request.body)


_READ: Mapping[str, Callable[[ReceivedRequest], str]] = {
    "SMS": lambda request: _label(parse_qs(request.body.decode())["Body"][0]),
    "CHAT_SERVICE": lambda request: _label(_json(request)["text"]),
    "GROUP_CHAT_SERVICE": lambda request: _label(_json(request)["message"]),
    "TEAM_CHAT_SERVICE": lambda request: _label(request.body.decode().partition("inlines")[2]),
    "METRICS_SERVICE": lambda request: str(_json(request)["alert_type"]),
    "PAGER_SERVICE": lambda request: str(_json(request)["event_action"]),
    "OPS_ALERT_SERVICE": lambda request: request.path.partition("?")[0].rpartition("/")[2],
    "ON_CALL_SERVICE": lambda request: str(_json(request)["message_type"]),
    "WEBHOOK": lambda request: request.headers["X-Ops-Event"],
}


class Service:
    """The receiver of a channel: answers as the test asks, and names each message in a word."""

    def __init__(self, name: str, http: HttpReceiver, mail: MailReceiver) -> None:
        self.name, self._http, self._mail = name, http, mail

    def notification(self) -> dict[str, Any]:
        """A configuration's notification over that channel, which repeats every five minutes."""
        fields: Mapping[str, dict[str, str]] = {
            "EMAIL": {"emailAddress": "oncall@example.com"},
            "SMS": {"mobileNumber": "+12025550100"},
            "CHAT_SERVICE": {"apiToken": SECRET, "channelName": "oncall"},
            "GROUP_CHAT_SERVICE": {"notificationToken": SECRET, "roomName": "oncall"},
            "TEAM_CHAT_SERVICE": {"teamChatWebhookUrl": self._http.url(f"/{SECRET}")},
            "METRICS_SERVICE": {"metricsServiceApiKey": SECRET},
            "PAGER_SERVICE": {"serviceKey": SECRET},
            "OPS_ALERT_SERVICE": {"opsAlertApiKey": SECRET},
            "ON_CALL_SERVICE": {"onCallApiKey": SECRET},
            "WEBHOOK": {"webhookUrl": self._http.url(f"/{SECRET}")},
        }
        return {"typeName": self.name, "delayMin": 0, "intervalMin": 5, **fields[self.name]}

    def take(self) -> None:
        """From now on it takes everything."""
        self._http.answer(200, {}, b'{"ok": true}')
        self._mail.data_answer = "250 OK"

    def refuse_for_now(self) -> str:
        """From now on it takes nothing, and asks to try later; answers the reason that the log will show."""
        self._http.answer(503, {}, f"busy with {SECRET}".encode())
        self._mail.data_answer = "450 busy with oncall@example.com"
        answered = "the mail server answered 450" if self.name == "EMAIL" else "the receiver answered 503:"
        return f"{answered} busy with ******"

    def refuse_for_good(self) -> str:
        """From now on it refuses everything; answers the reason that the log will show."""
        self._http.answer(400, {}, f"no {SECRET}".encode())
        self._mail.data_answer = "550 no oncall@example.com"
        answered = "the mail server answered 550" if self.name == "EMAIL" else "the receiver answered 400:"
        return f"{answered} no ******"

    def forget(self) -> None:
        """Forget all messages."""
        self._http.requests.clear()
        self._mail.offered.clear()

    @property
    def received(self) -> list[str]:
        """A word for each message that reached it, accepted or refused, in order."""
        if self.name == "EMAIL":
            return [_label(mail.message["Subject"]) for mail in self._mail.offered]
        return [_READ[self.name](request) for request in self._http.requests]

    @property
    def delivery_ids(self) -> list[str]:
        """The delivery id of each, where the channel carries it."""
        if self.name == "EMAIL":
            return [mail.message["Message-ID"] for mail in self._mail.offered]
        return [request.headers["X-Ops-Delivery"] for request in self._http.requests]


def lead_here(settings: Settings, receiver: HttpReceiver) -> None:
    """Every service of the settings is the receiver."""
    for name in (name for channel in CHANNELS.values() for name in channel.base_url_settings):
        setattr(settings, name, receiver.url(""))
    settings.OPSAPI_SMS_ACCOUNT, settings.OPSAPI_SMS_TOKEN = "account", SECRET
    settings.OPSAPI_SMS_FROM = "+12025550199"
