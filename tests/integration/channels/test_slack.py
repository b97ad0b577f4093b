"""CHAT_SERVICE against a receiver that answers as Slack does."""

import json
from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.http import deliver_json
from integrations.channels.outcome import Posted
from integrations.channels.slack import SLACK, send
from integrations.choices import OPEN_KINDS, DeliveryFault, MessageKind
from integrations.messages import Message
from tests.integration.channels.provider import closed, faults, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import LONGEST, NOW, ODD, make_message

TOKEN = "xoxb-2345678901-very-secret"
CONFIG = {"apiToken": TOKEN, "channelName": "#oncall"}

SHORT = {"type": "string", "minLength": 1}
PLAIN = closed(type={"const": "plain_text"}, text={**SHORT, "maxLength": 2000}, emoji={"type": "boolean"})
TITLE = closed(type={"const": "plain_text"}, text={**SHORT, "maxLength": 150}, emoji={"type": "boolean"})
MRKDWN = closed(type={"const": "mrkdwn"}, text={**SHORT, "maxLength": 2000})
BLOCKS = [
    closed(type={"const": "header"}, text=TITLE),
    closed(
        type={"const": "section"}, fields={"type": "array", "items": PLAIN, "minItems": 1, "maxItems": 10}
    ),
    closed(type={"const": "context"}, elements={"type": "array", "items": MRKDWN, "maxItems": 10}),
]
POSTED = closed(
    channel=SHORT,
    text={**SHORT, "maxLength": 4000},
    blocks={"type": "array", "items": {"anyOf": BLOCKS}, "minItems": 1, "maxItems": 50},
    unfurl_links={"type": "boolean"},
    unfurl_media={"type": "boolean"},
)
COLOURED = closed(
    color={"enum": ["danger", "warning", "good", "#808080"]},
    blocks={"type": "array", "items": {"anyOf": BLOCKS[1:]}, "minItems": 1},
)
TITLE_ONLY = {"type": "array", "items": BLOCKS[0], "minItems": 1, "maxItems": 1}
SHOWN: dict[str, Any] = {
    "text": {**SHORT, "maxLength": 4000},
    "blocks": TITLE_ONLY,
    "attachments": {"type": "array", "items": COLOURED, "minItems": 1, "maxItems": 1},
}
NO_PREVIEWS = {"unfurl_links": {"type": "boolean"}, "unfurl_media": {"type": "boolean"}}
POSTED_TO_CHANGE = closed(channel=SHORT, **SHOWN, **NO_PREVIEWS)
CHANGED = closed(channel={"const": "C123ABC456"}, ts={"const": "1503435956.000247"}, **SHOWN)
REPLIED = closed(
    channel={"const": "C123ABC456"},
    thread_ts={"const": "1503435956.000247"},
    reply_broadcast={"const": True},
    text={**SHORT, "maxLength": 4000},
    blocks={"type": "array", "items": closed(type={"const": "section"}, text=PLAIN)},
    **NO_PREVIEWS,
)
HANDLE = "C123ABC456 1503435956.000247"
AWAY = "Slack cannot post the message at the moment"
BROKEN = "Slack failed while it posted the message"
BUSY = "Slack accepts no more messages at the moment"
UNTRUSTED = "Slack does not accept the API token"
UNSCOPED = "the API token has no permission to post messages"
CLOSED = "the channel does not accept messages from the owner of the API token"
UNKNOWN = "Slack refused the message"


def slack(request: ReceivedRequest) -> tuple[int, dict[str, Any]]:
    """As chat.postMessage answers: 200 whatever it says."""
    if request.path != "/api/chat.postMessage":
        return 404, {}
    if request.headers["Authorization"] != f"Bearer {TOKEN}":
        return 200, {"ok": False, "error": "invalid_auth"}
    if request.headers["Content-Type"] != "application/json; charset=utf-8":
        return 200, {"ok": False, "error": "invalid_post_type"}
    document = json.loads(request.body)
    if faults(document, POSTED):
        return 200, {"ok": False, "error": "invalid_arguments"}
    if document["channel"] != "#oncall":
        return 200, {"ok": False, "error": "channel_not_found"}
    return 200, {"ok": True, "channel": "C123ABC456", "ts": "1503435956.000247", "message": document}


@pytest.fixture(autouse=True)
def service(http_receiver: HttpReceiver, settings: Settings) -> HttpReceiver:
    """The service that the settings name."""
    settings.OPSAPI_CHAT_BASE_URL = http_receiver.url("")
    provide(http_receiver, slack)
    return http_receiver


def failure_of(message: Message | None = None, **changes: str) -> DeliveryError:
    """Why sending fails."""
    with pytest.raises(DeliveryError) as caught:
        send({**CONFIG, **changes}, message or make_message(), now=NOW)
    return caught.value


@pytest.mark.parametrize("kind", sorted(SLACK.kinds))
def test_the_service_takes_every_kind_of_message(service: HttpReceiver, kind: MessageKind) -> None:
    send(CONFIG, make_message(kind=kind, link="https://ops.example/alerts/1"), now=NOW)
    [request] = service.requests
    assert json.loads(request.body)["channel"] == "#oncall"


@pytest.mark.parametrize("name", [*ODD, *(char * 500 for char in LONGEST)], ids=range(len(ODD + LONGEST)))
def test_the_service_takes_whatever_names_there_are(service: HttpReceiver, name: str) -> None:
    send(CONFIG, make_message(event_type_name=name, target=name, project_name=name), now=NOW)
    assert len(service.requests) == 1


def test_a_private_installation_may_be_below_a_path(service: HttpReceiver, settings: Settings) -> None:
    settings.OPSAPI_CHAT_BASE_URL = service.url("/chat")
    service.answer(200, body=b'{"ok":true}')
    send(CONFIG, make_message(), now=NOW)
    assert [request.path for request in service.requests] == ["/chat/api/chat.postMessage"]


def test_a_wrong_token_fails_for_good() -> None:
    failure = failure_of(apiToken="xoxb-wrong")
    assert (failure.reason, failure.retryable) == (UNTRUSTED, False)


def test_an_unknown_channel_fails_for_good() -> None:
    failure = failure_of(channelName="#nobody")
    assert (failure.reason, failure.retryable) == ("the Slack channel does not exist", False)


@pytest.mark.parametrize(
    ("error", "reason", "retryable"),
    [
        ("ratelimited", BUSY, True),
        ("rate_limited", BUSY, True),
        ("internal_error", BROKEN, True),
        ("fatal_error", BROKEN, True),
        ("service_unavailable", AWAY, True),
        ("request_timeout", AWAY, True),
        ("team_added_to_org", AWAY, True),
        ("org_login_required", AWAY, True),
        ("not_authed", UNTRUSTED, False),
        ("account_inactive", UNTRUSTED, False),
        ("token_revoked", UNTRUSTED, False),
        ("token_expired", UNTRUSTED, False),
        ("missing_scope", UNSCOPED, False),
        ("no_permission", UNSCOPED, False),
        ("not_allowed_token_type", UNSCOPED, False),
        ("access_denied", UNSCOPED, False),
        ("not_in_channel", "the owner of the API token is not in the channel", False),
        ("is_archived", "the channel is archived", False),
        ("restricted_action", CLOSED, False),
        ("restricted_action_read_only_channel", CLOSED, False),
        ("restricted_action_thread_only_channel", CLOSED, False),
        ("ekm_access_denied", CLOSED, False),
        ("invalid_blocks", UNKNOWN, False),
        ("msg_too_long", UNKNOWN, False),
        (f"something new about {TOKEN}", UNKNOWN, False),
        (None, UNKNOWN, False),
        ({"code": 5}, UNKNOWN, False),
    ],
    ids=str,
)
def test_an_answer_that_is_not_ok_is_a_failure(
    service: HttpReceiver, error: object, reason: str, retryable: bool
) -> None:
    provide(service, lambda request: (200, {"ok": False, "error": error}))
    failure = failure_of()
    assert (failure.reason, failure.retryable, failure.retry_after) == (reason, retryable, None)


@pytest.mark.parametrize(
    ("error", "fault", "perhaps"),
    [
        ("ratelimited", DeliveryFault.DESTINATION, False),
        ("org_login_required", DeliveryFault.DESTINATION, False),
        ("internal_error", DeliveryFault.DESTINATION, True),
        ("fatal_error", DeliveryFault.DESTINATION, True),
        ("invalid_auth", DeliveryFault.MESSAGE, False),
    ],
)
def test_what_may_pass_is_a_fault_of_the_destination(
    service: HttpReceiver, error: str, fault: DeliveryFault, perhaps: bool
) -> None:
    provide(service, lambda request: (200, {"ok": False, "error": error}))
    failure = failure_of()
    assert (failure.fault, failure.perhaps_received) == (fault, perhaps)


@pytest.mark.parametrize(("error", "retry_after"), [("ratelimited", 30), ("invalid_auth", None)])
def test_it_waits_as_long_as_an_answer_that_is_not_ok_asks(
    service: HttpReceiver, error: str, retry_after: int | None
) -> None:
    service.answer(200, {"Retry-After": "30"}, json.dumps({"ok": False, "error": error}).encode())
    assert failure_of().retry_after == retry_after


@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in</html>", b'{"message":"' + b"x" * 65_536 + b'","ok":true}']
)
def test_an_answer_that_is_none_of_the_services_is_tried_again(service: HttpReceiver, body: bytes) -> None:
    service.answer(200, {}, body)
    failure = failure_of()
    assert failure.reason == "the receiver did not send a valid Slack response"
    assert failure.retryable
    assert (failure.fault, failure.perhaps_received) == (DeliveryFault.DESTINATION, True)


@pytest.mark.parametrize("kind", sorted(MessageKind))
@pytest.mark.parametrize("name", ["db1.example.com", *ODD, *(char * 500 for char in LONGEST)])
def test_the_service_takes_every_message_that_is_changed(
    service: HttpReceiver, kind: MessageKind, name: str
) -> None:
    config = {**CONFIG, "updateInPlace": "True"}
    service.answer(200, {}, b'{"ok":true,"channel":"C123ABC456","ts":"1503435956.000247"}')
    link = "https://ops.example/alerts/1"
    message = make_message(kind=kind, event_type_name=name, target=name, project_name=name, link=link)
    assert send(config, message, now=NOW) == Posted(HANDLE)
    assert send(config, replace(message, handle=HANDLE), now=NOW) == Posted(HANDLE, in_place=True)
    posted, changed, *replied = service.requests
    assert [request.path for request in service.requests[:2]] == ["/api/chat.postMessage", "/api/chat.update"]
    assert faults(json.loads(posted.body), POSTED_TO_CHANGE) == []
    assert faults(json.loads(changed.body), CHANGED) == []
    assert [faults(json.loads(request.body), REPLIED) for request in replied] == (
        [[]] if kind in OPEN_KINDS else []
    )


def test_both_requests_of_an_attempt_share_the_time_of_one(service: HttpReceiver) -> None:
    spent: list[float] = []

    def noted(request: Any, **options: Any) -> Any:
        spent.append(options["total_timeout"])
        return deliver_json(request, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("integrations.channels.slack.deliver_json", noted)
        service.answer(200, {}, b'{"ok":true}')
        config = {**CONFIG, "updateInPlace": "True"}
        send(config, make_message(kind=MessageKind.UPDATE, handle=HANDLE), now=NOW)
    assert len(spent) == 2
    assert sum(spent) <= SLACK.longest_attempt.total_seconds()
