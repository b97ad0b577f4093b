"""What a webhook sends about a sample alert."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from integrations.choices import MessageKind
from integrations.webhooks.sample import sample_message
from integrations.webhooks.templates import Template, request_of

SHOWN_KINDS = (MessageKind.OPEN, MessageKind.ACKNOWLEDGE, MessageKind.CLOSE)
_URL = "https://hooks.example.com"


@dataclass(frozen=True, slots=True)
class PreviewedRequest:
    """The request of a kind of message: `added` is what follows the URL, `body` is indented JSON."""

    kind: str
    method: str
    added: str
    body: str


def previewed_requests(template: Template) -> Sequence[PreviewedRequest]:
    """The requests of the template about the sample alert; parameters of the URL have their name as value."""
    query = "&".join(f"{name}={name}" for name in sorted(template.parameter_names()))
    return [_previewed(template, f"{_URL}?{query}" if query else _URL, kind) for kind in SHOWN_KINDS]


def _previewed(template: Template, url: str, kind: MessageKind) -> PreviewedRequest:
    request = request_of(template, url, sample_message(kind))
    body = json.dumps(json.loads(request.body), indent=2, ensure_ascii=False)
    return PreviewedRequest(kind.value, request.method, request.url.removeprefix(_URL), body)
