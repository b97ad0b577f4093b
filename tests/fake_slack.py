"""A Slack on loopback: it keeps messages by channel and `ts`, and changes no others."""

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.receivers import HttpReceiver

CHANNELS = {"oncall": "C123ABC456", "C123ABC456": "C123ABC456"}
FIRST = 1_503_435_956


@dataclass
class FakeSlack:
    """Answers as https://slack.com/api with a token.

    `messages` are the documents by channel and `ts`, in the order of posting; `refused` are the errors of
    methods. After `loses_answers`, it posts messages and says nothing. `answers_posts` replaces its answer to
    a posted message.
    """

    receiver: HttpReceiver
    token: str
    messages: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    loses_answers: bool = False
    answers_posts: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self.receiver.behave(self._answer)

    @property
    def texts(self) -> list[str]:
        """The text of each message that people see in the channel, as it is now."""
        return [message["text"] for message in self.messages.values()]

    @property
    def colours(self) -> list[str]:
        """The colour of each message that is no reply."""
        return [
            message["attachments"][0]["color"] for message in self.messages.values() if not _reply(message)
        ]

    @property
    def replies(self) -> list[dict[str, Any]]:
        """The messages in threads."""
        return [message for message in self.messages.values() if _reply(message)]

    @property
    def methods(self) -> list[str]:
        """The methods that were called, in order."""
        return [request.path.removeprefix("/api/chat.") for request in self.receiver.requests]

    def facts(self, number: int = 0) -> list[str]:
        """The facts of a message, as label and value."""
        [attachment] = [*self.messages.values()][number]["attachments"]
        return [entry["text"] for block in attachment["blocks"] for entry in block.get("fields", ())]

    def delete_all(self) -> None:
        """A person deletes all messages."""
        self.messages.clear()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        request = self.receiver.requests[-1]
        method = request.path.removeprefix("/api/")
        document = json.loads(request.body)
        answer = self._refusal(method, request.headers["Authorization"])
        answer = answer or (self._post(document) if method == "chat.postMessage" else self._update(document))
        if self.loses_answers and answer["ok"]:
            return
        body = json.dumps(answer).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _refusal(self, method: str, authorization: str) -> dict[str, Any] | None:
        if authorization != f"Bearer {self.token}":
            return {"ok": False, "error": "invalid_auth"}
        if method in self.refused:
            return {"ok": False, "error": self.refused[method]}
        return (
            None
            if method in {"chat.postMessage", "chat.update"}
            else {"ok": False, "error": "unknown_method"}
        )

    def _post(self, document: dict[str, Any]) -> dict[str, Any]:
        channel = CHANNELS.get(document["channel"].lstrip("#"))
        if channel is None:
            return {"ok": False, "error": "channel_not_found"}
        if "thread_ts" in document and (channel, document["thread_ts"]) not in self.messages:
            return {"ok": False, "error": "thread_not_found"}
        ts = f"{FIRST + len(self.receiver.requests)}.000247"
        self.messages[channel, ts] = document
        return self.answers_posts or {"ok": True, "channel": channel, "ts": ts, "message": document}

    def _update(self, document: dict[str, Any]) -> dict[str, Any]:
        # Slack takes only the ID of a channel here.
        place = (document["channel"], document["ts"])
        if document["channel"] not in CHANNELS.values():
            return {"ok": False, "error": "channel_not_found"}
        if place not in self.messages:
            return {"ok": False, "error": "message_not_found"}
        self.messages[place] = document
        return {"ok": True, "channel": place[0], "ts": place[1], "text": document["text"]}


def _reply(message: dict[str, Any]) -> bool:
    return "thread_ts" in message
