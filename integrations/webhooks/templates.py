"""The requests of webhooks that are no alert documents: ready templates for services, and documents of users.

A ready template is a file `ready/NAME.json`:

    label          the name of the service
    url            an example of the URL that users copy from the service or put together
    parameters     optional: parameters of the query of the URL that the template needs: name, meaning. They
                   are inserted with {{url.NAME}}, and are not sent in the URL
    authorization  optional: an example of the value of the header Authorization, which the service needs
    tracksAlerts   optional: true if the service keeps an alert open until a message closes it. The alert
                   of a test is closed at once
    retryAfter     optional: where a refusal of the service has the seconds to wait, as names of members in
                   its JSON document, such as ["parameters", "retry_after"]. Retry-After takes precedence
    escape         optional: texts in values, and the texts that are inserted instead, so that the service
                   reads no name as markup or as a mention. It changes no words, parameters and links
    words          optional: words by name; for each the JSON value by kind of message or by severity, with
                   {{word.NAME}}. The kind takes precedence; without all severities, a default is needed
    requests       the requests by kind of message, each with
                   body    the JSON document
                   method  optional: POST (the default) or PUT
                   path    optional: added to the path of the URL
                   query   optional: parameters that are added to the query of the URL

Kinds of messages are the values of `X-Ops-Event`; severities are INFO, WARNING and CRITICAL; `default` is
for all others. Strings of body, path and query can have placeholders (`integrations.webhooks.placeholders`).
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote_plus, urlsplit

from events.types import Severity
from integrations.choices import MessageKind
from integrations.messages import Message
from integrations.webhooks.placeholders import (
    PARAMETER,
    PLACEHOLDERS,
    WORD,
    DocumentFault,
    Escapes,
    Value,
    faults_of,
    filled,
    filled_text,
    references_of,
    shows_whole,
    text_faults,
)
from opsapi.wire_json import write_json

DEFAULT = "default"
Method = Literal["POST", "PUT"]
METHODS: tuple[Method, ...] = ("POST", "PUT")
_KINDS = frozenset({DEFAULT, *(kind.value for kind in MessageKind)})
_SEVERITIES = frozenset(severity.value for severity in Severity)
_MEMBERS = frozenset(
    {
        "label",
        "url",
        "parameters",
        "authorization",
        "tracksAlerts",
        "retryAfter",
        "escape",
        "words",
        "requests",
    }
)
_REQUEST_MEMBERS = frozenset({"body", "method", "path", "query"})
_READY = Path(__file__).parent / "ready"


@dataclass(frozen=True, slots=True)
class TemplateRequest:
    """The request of a kind of message; strings can have placeholders."""

    body: Any
    method: Method = "POST"
    path: str = ""
    query: Mapping[str, str] = field(default_factory=dict)

    def references(self) -> Iterator[str]:
        """The names of its placeholders."""
        return (reference.name for reference in references_of([self.body, self.path, dict(self.query)]))


@dataclass(frozen=True, slots=True)
class Template:
    """The requests by kind of message, with the words they use; `name` is None for a document of a user."""

    name: str | None
    requests: Mapping[str, TemplateRequest]
    label: str = ""
    url: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    authorization: str | None = None
    tracks_alerts: bool = False
    retry_after: Sequence[str] = ()
    escape: Escapes = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def parameter_names(self) -> frozenset[str]:
        """The parameters of the URL that are inserted, and not sent in the URL."""
        names = (name for request in self.requests.values() for name in request.references())
        return frozenset(name.removeprefix(PARAMETER) for name in names if name.startswith(PARAMETER))


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A request as it is sent."""

    method: Method
    url: str
    body: bytes


def own_template(body: Any) -> Template:
    """The template of a document that a user wrote, which is the body of all messages."""
    return Template(None, {DEFAULT: TemplateRequest(body)})


def request_of(template: Template, url: str, message: Message) -> WebhookRequest:
    """The request of a message to a URL."""
    kind, parameters = message.kind.value, parameters_of(url)

    def value(name: str) -> Value:
        if name.startswith(WORD):
            words = template.words[name.removeprefix(WORD)]
            key = next(key for key in (kind, message.severity.value, DEFAULT) if key in words)
            word: Value = words[key]
            return word
        if name.startswith(PARAMETER):
            return parameters.get(name.removeprefix(PARAMETER))
        return PLACEHOLDERS[name].value(message)

    def in_url(text: str) -> str:
        return filled_text(text, value, lambda inserted: quote(inserted, safe=""))

    request = template.requests.get(kind) or template.requests[DEFAULT]
    parts, used = urlsplit(url), template.parameter_names()
    kept = [pair for pair in parts.query.split("&") if pair and _name_of(pair) not in used]
    added = [f"{quote(name, safe='')}={in_url(text)}" for name, text in request.query.items()]
    path = parts.path.rstrip("/") + in_url(request.path) if request.path else parts.path
    sent = parts._replace(path=path, query="&".join([*kept, *added]), fragment="")
    return WebhookRequest(
        request.method, sent.geturl(), write_json(filled(request.body, value, template.escape))
    )


def shows_report(template: Template, message: Message) -> bool:
    """Whether the request of a message with a report has all its lines."""
    request = template.requests.get(message.kind.value) or template.requests[DEFAULT]
    return shows_whole(request.body, message, template.escape)


def parameters_of(url: str) -> Mapping[str, str]:
    """The parameters of the query of a URL that have a value."""
    return dict(parse_qsl(urlsplit(url).query))


def _name_of(pair: str) -> str:
    return unquote_plus(pair.partition("=")[0])


def template_faults(document: Mapping[str, Any]) -> Iterator[DocumentFault]:
    """The faults of the document of a ready template."""
    for name in sorted({"label", "url", "requests"} - document.keys()):
        yield DocumentFault(name, "is missing")
    yield from _unknown_members(document, _MEMBERS, "")
    if "" in document.get("escape", {}):
        yield DocumentFault("escape", "must not have an empty name")
    words, requests = document.get("words", {}), document.get("requests", {})
    for name, by_kind in words.items():
        yield from _kind_faults(by_kind, f"words.{name}", _SEVERITIES)
    yield from _kind_faults(requests, "requests")
    for kind, request in requests.items():
        yield from _request_faults(request, f"requests.{kind}", words)
    used = {name for request in requests.values() for name in _request(request).references()}
    for prefix, declared in ((PARAMETER, document.get("parameters", {})), (WORD, words)):
        named = {name.removeprefix(prefix) for name in used if name.startswith(prefix)}
        for name in sorted(named ^ declared.keys()):
            yield DocumentFault(f"{prefix}{name}", "must be declared and used")


def _request_faults(request: Mapping[str, Any], path: str, words: Collection[str]) -> Iterator[DocumentFault]:
    yield from _unknown_members(request, _REQUEST_MEMBERS, f"{path}.")
    if request.get("method", "POST") not in METHODS:
        yield DocumentFault(f"{path}.method", "is unknown", METHODS)
    yield from _below(f"{path}.body", faults_of(request.get("body"), words))
    yield from text_faults(request.get("path", ""), f"{path}.path", words)
    for name, text in request.get("query", {}).items():
        yield from text_faults(text, f"{path}.query.{name}", words)


def _unknown_members(
    document: Mapping[str, Any], known: frozenset[str], above: str
) -> Iterator[DocumentFault]:
    for name in sorted(document.keys() - known):
        yield DocumentFault(f"{above}{name}", "is unknown", tuple(sorted(known)))


def _kind_faults(
    by_kind: Mapping[str, Any], path: str, severities: frozenset[str] = frozenset()
) -> Iterator[DocumentFault]:
    allowed = _KINDS | severities
    for kind in sorted(by_kind.keys() - allowed):
        yield DocumentFault(f"{path}.{kind}", "is no kind of message", tuple(sorted(allowed)))
    if DEFAULT not in by_kind and not (severities and severities <= by_kind.keys()):
        yield DocumentFault(f"{path}.{DEFAULT}", "is missing")


def _below(path: str, faults: Iterator[DocumentFault]) -> Iterator[DocumentFault]:
    for fault in faults:
        joint = "" if not fault.path or fault.path.startswith("[") else "."
        yield DocumentFault(f"{path}{joint}{fault.path}", fault.reason, fault.allowed)


def _request(document: Mapping[str, Any]) -> TemplateRequest:
    return TemplateRequest(
        document.get("body"),
        document.get("method", "POST"),
        document.get("path", ""),
        document.get("query", {}),
    )


def read_template(name: str, document: Any) -> Template:
    """The ready template of a document.

    Raises: ValueError: with its faults.
    """
    if faults := [f"{fault.path}: {fault.reason}" for fault in template_faults(document)]:
        raise ValueError(f"template {name}: {'; '.join(faults)}")
    return Template(
        name,
        {kind: _request(request) for kind, request in document["requests"].items()},
        label=document["label"],
        url=document["url"],
        parameters=document.get("parameters", {}),
        authorization=document.get("authorization"),
        tracks_alerts=document.get("tracksAlerts", False),
        retry_after=document.get("retryAfter", ()),
        escape=document.get("escape", {}),
        words=document.get("words", {}),
    )


TEMPLATES: Mapping[str, Template] = {
    path.stem: read_template(path.stem, json.loads(path.read_text("utf-8")))
    for path in sorted(_READY.glob("*.json"))
}
"""The ready templates by name."""
NAMES = list(TEMPLATES)
