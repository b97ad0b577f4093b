"""What the services of the ready templates accept, as their documentation says. None was tried itself.

Each service has the page that its limits are from, the address of each kind of request, the schema of each
document, and how it reads mentions and links in the texts.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jsonschema import Draft202012Validator

from integrations.channels.http import SOURCE
from integrations.webhooks.templates import WebhookRequest

Schema = Mapping[str, Any]

DEFAULT = "default"
ENDS = ("alert.close", "alert.cancel")
LINK: Schema = {"type": "string", "pattern": r"^https?://[^\s]+$"}
COLOUR: Schema = {"type": "string", "pattern": "^#[0-9a-f]{6}$"}


def text(most: int) -> Schema:
    """A text that is not empty, of at most so many characters."""
    return {"type": "string", "minLength": 1, "maxLength": most}


def document(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Schema:
    """An object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def list_of(item: Schema) -> Schema:
    """An array of one item."""
    return {"type": "array", "items": item, "minItems": 1, "maxItems": 1}


def nobody(_said: str) -> list[str]:
    """The texts are plain: nothing in them mentions people or hides a link."""
    return []


MARKDOWN_LINK = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)")
SLACK_LINK = re.compile(r"<\w+?://[^\n]*?\|[^\n]*?>")
SLACK_MENTION = re.compile(r"<[!@#][^>\n]*>")


def as_slack(said: str) -> list[str]:
    """Links and mentions as Slack and Markdown write them, which some services pass on."""
    return [match[0] for each in (MARKDOWN_LINK, SLACK_LINK, SLACK_MENTION) for match in each.finditer(said)]


def as_mattermost(said: str) -> list[str]:
    """As `mention_parser_standard.go` reads mentions, also in code: services pass texts on to such chats."""
    words = re.split(r"[^\w:.@-]+", said)
    return [word for word in words if re.match(r"[:.\-_]*@[\w.-]", word)] + as_slack(said)


def as_rocket_chat(said: str) -> list[str]:
    """As `MentionsParser.ts` reads mentions."""
    return re.findall(r"(?m)(?:^|\s|>)@[0-9a-zA-Z-_.]+", said) + as_slack(said)


def as_google_chat(said: str) -> list[str]:
    """`<users/all>` mentions everybody."""
    return re.findall(r"<users/[^>]*>", said) + as_slack(said)


def as_zulip(said: str) -> list[str]:
    """`@**all**` mentions everybody, `@_**name**` silently; `@*team*` mentions a group."""
    return re.findall(r"@_?\*", said) + as_slack(said)


class _Html(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.shown = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(f"{tag}{attrs or ''}")

    def handle_data(self, data: str) -> None:
        self.shown += data


def shown_html(said: str) -> tuple[list[str], str]:
    """The tags of a text and what it shows."""
    parser = _Html()
    parser.feed(said)
    parser.close()
    return parser.tags, parser.shown


def as_telegram(said: str) -> list[str]:
    """The tags that the template does not have, and names with `@`."""
    tags, shown = shown_html(said)
    return [tag for tag in tags if tag not in {"b", "code", "pre"}] + re.findall(r"(?<!\w)@\w+", shown)


@dataclass(frozen=True, slots=True)
class ReadyService:
    """A service: requests by kind of message, `default` for all others.

    `texts` are the paths of the members with texts that people read. `sizes` are limits that are not in
    characters: what is measured, and the most of it. `key` is the path of the member that names the alert.
    """

    url: str
    source: str
    schemas: Mapping[str, Schema]
    texts: tuple[str, ...]
    authorization: str | None = None
    method: str = "POST"
    paths: Mapping[str, str] = field(default_factory=lambda: {DEFAULT: ""})
    query: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {DEFAULT: {}})
    unsent: tuple[str, ...] = ()
    found: Callable[[str], list[str]] = nobody
    sizes: tuple[tuple[Callable[[Any], int], int], ...] = ()
    key: str | None = None
    states: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def said(self, sent: Any) -> list[str]:
        """The texts that people read."""
        return [str(value) for path in self.texts if (value := at(sent, path)) is not None]


def at(value: Any, path: str) -> Any:
    """The member of a document, such as `embeds.0.title`; None if it is absent."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else value[int(name)] if value else None
        if value is None:
            return None
    return value


def utf16(said: str) -> int:
    """The UTF-16 code units of a text."""
    return len(said.encode("utf-16-le")) // 2


_ALIAS = {"identifierType": "alias"}
_NOTE = text(25_000)
_JSM_END = document({"source": {"const": SOURCE}, "note": _NOTE})

SERVICES: Mapping[str, ReadyService] = {
    "discord": ReadyService(
        "https://discord.com/api/webhooks/0123456789/token-0123456789",
        "https://discord.com/developers/docs/resources/message#embed-object-embed-limits",
        {
            DEFAULT: document(
                {
                    "embeds": list_of(
                        document(
                            {
                                "title": text(256),
                                "description": text(4096),
                                "color": {"type": "integer", "minimum": 0, "maximum": 0xFFFFFF},
                                "timestamp": {
                                    "type": "string",
                                    "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
                                },
                            },
                            {"url": LINK},
                        )
                    ),
                    "allowed_mentions": {"const": {"parse": []}},
                }
            )
        },
        ("embeds.0.title", "embeds.0.description"),
        found=as_slack,
        sizes=((lambda sent: len(sent["embeds"][0]["title"] + sent["embeds"][0]["description"]), 6000),),
    ),
    "mattermost": ReadyService(
        "https://mattermost.example.com/hooks/0123456789abcdefghijklmnop",
        "https://developers.mattermost.com/integrate/reference/message-attachments/",
        {
            DEFAULT: document(
                {
                    "attachments": list_of(
                        document(
                            {
                                "fallback": text(16383),
                                "color": COLOUR,
                                "title": text(16383),
                                "text": text(16383),
                            },
                            {"title_link": LINK},
                        )
                    )
                }
            )
        },
        ("attachments.0.fallback", "attachments.0.title", "attachments.0.text"),
        found=as_mattermost,
    ),
    "rocket-chat": ReadyService(
        "https://chat.example.com/hooks/0123456789abcdef/token-0123456789",
        "https://docs.rocket.chat/guides/administrator-guides/integrations",
        {
            DEFAULT: document(
                {
                    "text": text(5000),
                    "parseUrls": {"const": False},
                    "attachments": list_of(document({"color": COLOUR, "text": text(5000)})),
                }
            )
        },
        ("text", "attachments.0.text"),
        found=as_rocket_chat,
    ),
    "google-chat": ReadyService(
        "https://chat.googleapis.com/v1/spaces/0123456789/messages?key=0123456789&token=token-0123456789",
        "https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages/create",
        {DEFAULT: document({"text": text(4096), "thread": document({"threadKey": text(4000)})})},
        ("text",),
        query={DEFAULT: {"messageReplyOption": "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"}},
        found=as_google_chat,
        sizes=((lambda sent: len(sent["text"].encode()), 32_000),),
        key="thread.threadKey",
    ),
    "ntfy": ReadyService(
        "https://ntfy.example.com/?topic=alerts-0123456789",
        "https://docs.ntfy.sh/publish/#publish-as-json",
        {
            DEFAULT: document(
                {
                    "topic": {"const": "alerts-0123456789"},
                    "title": text(250),
                    "message": text(4096),
                    "priority": {"enum": [1, 2, 3, 4, 5]},
                    "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z_]+$"}},
                },
                {"click": LINK},
            )
        },
        ("title", "message"),
        unsent=("topic",),
        sizes=((lambda sent: len(sent["message"].encode()), 4096),),
    ),
    "telegram": ReadyService(
        "https://api.telegram.org/bot0123456789:token-0123456789/sendMessage?chat_id=-1000123456789",
        "https://core.telegram.org/bots/api#sendmessage",
        {
            DEFAULT: document(
                {
                    "chat_id": {"const": "-1000123456789"},
                    "text": {"type": "string", "minLength": 1},
                    "parse_mode": {"const": "HTML"},
                    "link_preview_options": {"const": {"is_disabled": True}},
                }
            )
        },
        ("text",),
        unsent=("chat_id",),
        found=as_telegram,
        sizes=((lambda sent: utf16(shown_html(sent["text"])[1]), 4096),),
    ),
    "zulip": ReadyService(
        "https://zulip.example.com/api/v1/external/slack_incoming?api_key=0123456789&stream=alerts&topic=databases",
        "https://zulip.com/integrations/slack_incoming",
        {DEFAULT: document({"text": text(10_000)})},
        ("text",),
        found=as_zulip,
    ),
    "matrix": ReadyService(
        "https://matrix.example.com/_matrix/client/v3/rooms/!0123456789:example.com/send/m.room.message",
        "https://spec.matrix.org/latest/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid",
        {
            DEFAULT: document(
                {"msgtype": {"const": "m.text"}, "body": text(32_000), "m.mentions": {"const": {}}},
            )
        },
        ("body",),
        "Bearer token-0123456789",
        method="PUT",
        paths={DEFAULT: "/{delivery}"},
        sizes=((lambda sent: len(sent["body"].encode()), 60_000),),
    ),
    "incident-io": ReadyService(
        "https://api.incident.io/v2/alert_events/http/0123456789",
        "https://api-docs.incident.io/tag/Alert-Events-V2/",
        {
            DEFAULT: document(
                {
                    "title": text(1000),
                    "status": {"enum": ["firing", "resolved"]},
                    "deduplication_key": text(100),
                    "description": text(10_000),
                    "metadata": {"type": "object"},
                },
                {"source_url": LINK},
            )
        },
        ("title", "description"),
        "Bearer token-0123456789",
        found=as_mattermost,
        key="deduplication_key",
        states={"status": ("firing", "resolved")},
    ),
    "jira-service-management": ReadyService(
        "https://api.atlassian.com/jsm/ops/integration/v2/alerts",
        "https://developer.atlassian.com/cloud/jira/service-desk-ops/rest/v1/api-group-integration-events/",
        {
            DEFAULT: document(
                {
                    "message": text(130),
                    "alias": text(512),
                    "description": text(15_000),
                    "source": text(100),
                    "tags": list_of(text(50)),
                    "details": {"type": "object", "additionalProperties": {"type": "string"}},
                    "priority": {"enum": ["P1", "P2", "P3", "P4", "P5"]},
                },
                {"entity": text(512)},
            ),
            "alert.acknowledge": document({"source": {"const": SOURCE}}, {"user": text(100), "note": _NOTE}),
            **dict.fromkeys(ENDS, _JSM_END),
        },
        ("message", "description", "note"),
        "GenieKey 01234567-89ab-cdef-0123-456789abcdef",
        paths={
            DEFAULT: "",
            "alert.acknowledge": "/{key}/acknowledge",
            **dict.fromkeys(ENDS, "/{key}/close"),
        },
        query={
            DEFAULT: {},
            "alert.acknowledge": _ALIAS,
            **dict.fromkeys(ENDS, _ALIAS),
        },
        sizes=((lambda sent: sum(len(name + fact) for name, fact in sent.get("details", {}).items()), 8000),),
    ),
    "grafana-irm": ReadyService(
        "https://oncall.example.com/integrations/v1/formatted_webhook/0123456789/",
        "https://grafana.com/docs/oncall/latest/configure/integrations/references/webhook/",
        {
            DEFAULT: document(
                {
                    "alert_uid": text(100),
                    "title": text(1000),
                    "state": {"enum": ["alerting", "ok"]},
                    "message": text(10_000),
                },
                {"link_to_upstream_details": LINK},
            )
        },
        ("title", "message"),
        found=as_mattermost,
        key="alert_uid",
        states={"state": ("alerting", "ok")},
    ),
}

_VALIDATORS = {
    (name, kind): Draft202012Validator(schema)
    for name, service in SERVICES.items()
    for kind, schema in service.schemas.items()
}


def faults(name: str, kind: str, request: WebhookRequest, ids: Mapping[str, str], sent: Any) -> Iterator[str]:
    """What the service refuses of a request, in whose path it expects the `ids` of the message."""
    service = SERVICES[name]
    stored, address = urlsplit(service.url), urlsplit(request.url)
    if request.method != service.method:
        yield f"method {request.method}"
    added = service.paths.get(kind, service.paths[DEFAULT]).format(**ids)
    if address.path != (stored.path.rstrip("/") + added if added else stored.path):
        yield f"path {address.path}"
    kept = {name: value for name, value in parse_qsl(stored.query) if name not in service.unsent}
    if dict(parse_qsl(address.query)) != {**kept, **service.query.get(kind, service.query[DEFAULT])}:
        yield f"query {address.query}"
    validator = _VALIDATORS[name, kind if kind in service.schemas else DEFAULT]
    for error in validator.iter_errors(sent):
        yield f"{'.'.join(map(str, error.path))}: {error.message[:200]}"
    yield from (f"{size(sent)} > {most}" for size, most in service.sizes if size(sent) > most)
