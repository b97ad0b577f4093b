"""Placeholders in the strings of a document: the table, the check and the insertion. Pure.

    {{title}}       the value
    {{title:130}}   the value as text, with at most 130 characters
    {{word.colour}} a word of a template, which depends on the kind and the severity of the message
    {{url.topic}}   a parameter of the query of the webhook's URL

A string that is exactly a placeholder becomes the value with its type: a number stays a number. If there is
no value, its member or item is left out. In a longer string, the value is inserted as text. Nothing is
evaluated, and inserted text is not read again.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import isfinite
from typing import Any

from integrations.choices import ENDS
from integrations.messages import Message, joined, printable
from opsapi.clock import wire_time
from opsapi.wire_json import UNKEPT_TEXT, is_kept

MOST_PLACEHOLDERS = 100
"""The most placeholders of a document: with LONGEST_VALUE, it limits the size of what is sent."""
LONGEST_VALUE = 4000
"""The most characters of an inserted value."""
LARGEST_DOCUMENT = 16_384
"""The most bytes of a document with placeholders, as compact JSON."""
WORD = "word."
PARAMETER = "url."

_PLACEHOLDER = re.compile(r"\{\{([^{}]*)\}\}")
_BEGIN = "{{"
_REFERENCE = re.compile(r" *((?:word\.|url\.)?[A-Za-z0-9_-]{1,40})(?::([0-9]{1,4}))? *")
_LINE_LIMIT = 500
_LARGEST_INTEGER = 2**63

Value = str | int | float | bool | list[str] | dict[str, str] | None


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder: its name, what it means, the value, and the JSON type of the value alone in a string.

    `is_own`: the value is a URL of the platform, which no escape changes. `is_url`: the value is a URL of
    others, in which no escape inserts spaces without width.
    """

    name: str
    meaning: str
    value: Callable[[Message], Value]
    type: str = "string"
    is_own: bool = False
    is_url: bool = False


def _of_document(name: str) -> Callable[[Message], Value]:
    """A text of the document in a line; None if it is absent."""

    def value(message: Message) -> Value:
        text = message.document.get(name)
        return printable(text, _LINE_LIMIT) or None if isinstance(text, str) else None

    return value


def _texts_of_document(name: str) -> Callable[[Message], Value]:
    def value(message: Message) -> Value:
        texts = message.document.get(name)
        return [printable(text) for text in texts if isinstance(text, str)] if isinstance(texts, list) else []

    return value


def _description(message: Message) -> Value:
    return message.facts.get("Description")


PLACEHOLDERS: Mapping[str, Placeholder] = {
    placeholder.name: placeholder
    for placeholder in (
        Placeholder(
            "title",
            "What happened and where, in a line, as in the subject of a mail",
            lambda message: message.title,
        ),
        Placeholder(
            "text",
            "All facts and links, a line each, as in a mail",
            lambda message: joined(message.lines, LONGEST_VALUE),
        ),
        Placeholder(
            "facts",
            "All facts by their label. In a longer string: a line each",
            lambda message: dict(message.facts),
            "object",
        ),
        Placeholder("what", "What happened, in a few words", lambda message: message.what),
        Placeholder(
            "where", "The target and the project; empty if neither is known", lambda message: message.where
        ),
        Placeholder(
            "state", "The kind of the message in words, such as `Open`", lambda message: message.state
        ),
        Placeholder(
            "condition",
            "`resolved` in messages about the end of an alert, `firing` in all others",
            lambda message: "resolved" if message.kind in ENDS else "firing",
        ),
        Placeholder(
            "event",
            "The kind of the message, as in the header `X-Ops-Event`",
            lambda message: message.kind.value,
        ),
        Placeholder(
            "severity",
            "The severity: `INFO`, `WARNING` or `CRITICAL`",
            lambda message: message.severity.value,
        ),
        Placeholder("isTest", "Whether the message is a test", lambda message: message.is_test, "boolean"),
        Placeholder("eventTypeName", "The event type", lambda message: printable(message.event_type_name)),
        Placeholder(
            "status", "The status of the alert; absent in messages about events", _of_document("status")
        ),
        Placeholder(
            "projectName",
            "The name of the project",
            lambda message: printable(message.project_name or "") or None,
        ),
        Placeholder(
            "target",
            "The affected target, such as a host",
            lambda message: printable(message.target or "") or None,
        ),
        Placeholder("hostnameAndPort", "The host and its port", _of_document("hostnameAndPort")),
        Placeholder("clusterName", "The name of the cluster", _of_document("clusterName")),
        Placeholder("replicaSetName", "The name of the replica set", _of_document("replicaSetName")),
        Placeholder("metricName", "The name of the metric", _of_document("metricName")),
        Placeholder("tags", "The tags of the alert", _texts_of_document("tags"), "array"),
        Placeholder(
            "acknowledgingUsername", "Who acknowledged the alert", _of_document("acknowledgingUsername")
        ),
        Placeholder(
            "acknowledgementComment",
            "The comment of the acknowledgement",
            _of_document("acknowledgementComment"),
        ),
        Placeholder(
            "link",
            "The URL of the alert or event in the console",
            lambda message: message.link,
            is_own=True,
        ),
        Placeholder(
            "configLink",
            "The URL of the alert configuration in the console",
            lambda message: message.config_link,
            is_own=True,
        ),
        Placeholder("description", "The description of the alert configuration", _description),
        Placeholder(
            "runbookUrl",
            "The URL of the runbook of the alert configuration",
            lambda message: message.runbook_url or None,
            is_url=True,
        ),
        Placeholder(
            "key",
            "Identifies the alert or incident: the same in all its messages",
            lambda message: message.thread_key,
        ),
        Placeholder("id", "The ID of the alert or event", _of_document("id")),
        Placeholder("groupId", "The ID of the project", _of_document("groupId")),
        Placeholder("alertConfigId", "The ID of the alert configuration", _of_document("alertConfigId")),
        Placeholder(
            "deliveryId",
            "The delivery ID: the same in all attempts of a message, as in the header `X-Ops-Delivery`",
            lambda message: message.delivery_id,
        ),
        Placeholder(
            "time",
            "When the alert opened or ended, or the event happened",
            lambda message: wire_time(message.occurred_at),
        ),
        Placeholder(
            "unixTime",
            "The same time in seconds since 1970",
            lambda message: int(message.occurred_at.timestamp()),
            "number",
        ),
    )
}
"""The placeholders by name, in the order of the documents."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A placeholder in a string; `limit` is in characters."""

    name: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class DocumentFault:
    """Why a document is refused. `path` is the path of the value, such as `embeds[0].title`."""

    path: str
    reason: str
    allowed: tuple[str, ...] = ()


def faults_of(document: Any, words: Collection[str] = ()) -> Iterator[DocumentFault]:
    """The faults of a document with placeholders; `words` are the names of the words that it can refer to."""
    if not isinstance(document, (dict, list)) or not document:
        yield DocumentFault("", "must be an object or an array, and not empty")
    elif len(_compact(document)) > LARGEST_DOCUMENT:
        yield DocumentFault("", f"must have at most {LARGEST_DOCUMENT} bytes")
    elif sum(1 for _ in references_of(document)) > MOST_PLACEHOLDERS:
        yield DocumentFault("", f"must have at most {MOST_PLACEHOLDERS} placeholders")
    else:
        yield from _faults_below(document, "", words)


def _compact(document: Any) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def _faults_below(value: Any, path: str, words: Collection[str]) -> Iterator[DocumentFault]:
    match value:
        case dict():
            for name, below in value.items():
                inside = f"{path}.{printable(name)}" if path else printable(name)
                yield from _name_faults(name, inside)
                yield from _faults_below(below, inside, words)
        case list():
            for place, item in enumerate(value):
                yield from _faults_below(item, f"{path}[{place}]", words)
        case str():
            yield from text_faults(value, path, words)
        case _ if not _is_plain(value):
            yield DocumentFault(path, "must be a number that 64 bits can represent")


def _name_faults(name: str, path: str) -> Iterator[DocumentFault]:
    if not is_kept(name):
        yield DocumentFault(path, UNKEPT_TEXT)
    if _BEGIN in name:
        yield DocumentFault(path, "must not have a placeholder in its name")


def _is_plain(value: Any) -> bool:
    """Whether it is null, a boolean, or a number that every JSON parser reads."""
    return isfinite(value) if isinstance(value, float) else value is None or abs(value) < _LARGEST_INTEGER


def text_faults(text: str, path: str, words: Collection[str] = ()) -> Iterator[DocumentFault]:
    """The faults of a string with placeholders."""
    if not is_kept(text):
        yield DocumentFault(path, UNKEPT_TEXT)
    if _BEGIN in _PLACEHOLDER.sub("", text):
        yield DocumentFault(path, "has a placeholder that does not end with }}")
    for inside in _PLACEHOLDER.findall(text):
        reference = _reference(inside)
        if reference is None or not _is_known(reference.name, words):
            allowed = (*PLACEHOLDERS, *(f"{WORD}{word}" for word in words), f"{PARAMETER}NAME")
            yield DocumentFault(path, f"has an unknown placeholder: {{{{{printable(inside, 60)}}}}}", allowed)
        elif reference.limit is not None and not 1 <= reference.limit <= LONGEST_VALUE:
            yield DocumentFault(path, f"the limit of a placeholder must be from 1 to {LONGEST_VALUE}")


def _is_known(name: str, words: Collection[str]) -> bool:
    if name.startswith(WORD):
        return name.removeprefix(WORD) in words
    return name.startswith(PARAMETER) or name in PLACEHOLDERS


def _reference(inside: str) -> Reference | None:
    match = _REFERENCE.fullmatch(inside)
    return Reference(match[1], int(match[2]) if match[2] else None) if match else None


def references_of(document: Any) -> Iterator[Reference]:
    """The placeholders of all strings of a document, in its order."""
    match document:
        case dict():
            for below in document.values():
                yield from references_of(below)
        case list():
            for item in document:
                yield from references_of(item)
        case str():
            yield from filter(None, map(_reference, _PLACEHOLDER.findall(document)))


Values = Callable[[str], Value]
"""The value of a placeholder by its name."""
Escapes = Mapping[str, str]
"""Texts in inserted values, such as `@`, and the texts that are inserted instead."""
NO_ESCAPES: Escapes = {}
_NO_WIDTH = "\u200b"


def filled(document: Any, values: Values, escapes: Escapes = NO_ESCAPES) -> Any:
    """The document with the values inserted; members and items without a value are left out."""
    match document:
        case dict():
            members = {name: filled(below, values, escapes) for name, below in document.items()}
            return {name: new for name, new in members.items() if _remains(document[name], new)}
        case list():
            items = [(old, filled(old, values, escapes)) for old in document]
            return [new for old, new in items if _remains(old, new)]
        case str():
            alone = _PLACEHOLDER.fullmatch(document)
            reference = _reference(alone[1]) if alone else None
            if reference and (reference.limit is None or values(reference.name) is None):
                return _bounded(values(reference.name), _escapes_of(reference.name, escapes))
            return filled_text(document, values, escapes=escapes)
    return document


def _remains(old: Any, new: Any) -> bool:
    """Whether a member stays: null is kept where the document has it."""
    return new is not None or old is None


def _escapes_of(name: str, escapes: Escapes) -> Escapes:
    """The escapes of a value: none for words, parameters and URLs of the platform."""
    if name.startswith((WORD, PARAMETER)) or PLACEHOLDERS[name].is_own:
        return NO_ESCAPES
    if PLACEHOLDERS[name].is_url:
        return {text: new for text, new in escapes.items() if _NO_WIDTH not in new}
    return escapes


def _bounded(value: Value, escapes: Escapes) -> Value:
    match value:
        case str():
            return _cut(value, LONGEST_VALUE, escapes)
        case list():
            return [_cut(text, LONGEST_VALUE, escapes) for text in value]
        case dict():
            return {label: _cut(text, LONGEST_VALUE, escapes) for label, text in value.items()}
    return value


def shows_whole(document: Any, message: Message, escapes: Escapes) -> bool:
    """Whether a document has all facts of a message in one of its strings, and cuts them in none."""
    texts = {"facts": _as_text(dict(message.facts)), "text": "\n".join(message.lines)}
    references = [reference for reference in references_of(document) if reference.name in texts]
    lengths = {name: sum(map(len, _pieces(text, escapes))) for name, text in texts.items()}
    return bool(references) and all(
        lengths[reference.name] <= (reference.limit or LONGEST_VALUE) for reference in references
    )


def filled_text(
    text: str, values: Values, written: Callable[[str], str] = str, *, escapes: Escapes = NO_ESCAPES
) -> str:
    """The text with the values inserted, each as `written` writes it."""

    def inserted(match: re.Match[str]) -> str:
        reference = _reference(match[1])
        if reference is None:
            raise ValueError("the document was not checked")
        limit, own = reference.limit or LONGEST_VALUE, _escapes_of(reference.name, escapes)
        return written(_cut(_as_text(values(reference.name)), limit, own))

    return _PLACEHOLDER.sub(inserted, text)


def _as_text(value: Value) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case list():
            return ", ".join(value)
        case dict():
            return "\n".join(f"{label}: {text}" for label, text in value.items())
    return json.dumps(value)


def _cut(text: str, limit: int, escapes: Escapes = NO_ESCAPES) -> str:
    """The text with its escapes in at most `limit` characters; no escape is cut."""
    pieces = _pieces(text, escapes)
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    lengths = accumulate(map(len, pieces))
    kept = "".join(piece for piece, length in zip(pieces, lengths, strict=True) if length < limit)
    return kept.rstrip() + "…"


def _pieces(text: str, escapes: Escapes) -> list[str]:
    """The escapes and the other characters of a text, of which none may be cut."""
    if not escapes:
        return list(text)
    longest_first = sorted(escapes, key=len, reverse=True)
    pieces = re.findall("|".join([*map(re.escape, longest_first), "."]), text, re.DOTALL)
    return [escapes.get(piece, piece) for piece in pieces]
