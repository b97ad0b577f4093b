"""The text of a receiver as the log of notifications can show it: short, printable, without secrets. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

import orjson

from integrations.messages import printable
from opsapi.outbound.guard import AddressVerdict, check_destination
from opsapi.redaction import MASK, redact_urls, without_secrets

LONGEST_TEXT = 200
"""The maximum number of characters of a receiver's text."""
LONGEST_REASON = 300
"""The maximum number of characters of a reason with a receiver's text, which is the size of the columns."""
_LONGEST_READ = 2_000
_NAMES: Sequence[str] = ("error", "errors", "code", "title", "message", "messages", "detail", "description")
"""Fields of JSON answers in which services say why they refused: Slack, PagerDuty, Opsgenie, Twilio, Datadog,
Splunk On-Call, HipChat, Power Automate (Teams)."""
_DEEPEST = 3
_PIECES_AT_MOST = 6
_CREDENTIAL = re.compile(
    r"(?i)\b((?:bearer|basic|geniekey)\s+|(?:api[ _-]?key|key|token|secret|password|passwd|pwd)\s*[:=]\s*)"
    r"[\"']?[^\s\"',;]{4,}[\"']?"
)
_MAIL_ADDRESS = re.compile(r"[^\s<>@:;,\"'()\[\]/*]{1,64}@[^\s<>@:;,\"'()\[\]]{1,255}")
_ADDRESS = re.compile(
    r"(?<![\w.])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}[0-9.]*)"
)
_INTERNAL_NAME = re.compile(
    r"(?i)\b(?:[a-z0-9_-]{1,63}\.){1,10}(?:local|internal|localdomain|lan|intranet|corp|home\.arpa)\b|\blocalhost\b"
)
_MARKUP = re.compile(r"^\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)


def peer_text(text: str, *, secrets: Iterable[str] = ()) -> str:
    """A line of at most LONGEST_TEXT characters, without control characters.

    `******` replaces secrets, credentials, mail addresses, addresses and names of internal networks, and the
    user info and query of URLs.
    """
    # Cut without a mark of it, so that a secret at the end is recognized.
    line = redact_urls(without_secrets(printable(text[:_LONGEST_READ], _LONGEST_READ), secrets))
    line = _CREDENTIAL.sub(lambda match: f"{match[1]}{MASK}", line)
    line = _MAIL_ADDRESS.sub(MASK, line)
    line = _ADDRESS.sub(lambda match: MASK if _is_internal(match[0]) else match[0], line)
    return printable(_INTERNAL_NAME.sub(MASK, line), LONGEST_TEXT)


def with_peer_text(reason: str, text: str, joint: str = ": ") -> str:
    """The reason, followed by the text, in at most LONGEST_REASON characters."""
    return printable(f"{reason}{joint}{text}" if text else reason, LONGEST_REASON)


def answer_text(body: bytes, content_type: str | None) -> str:
    """The text in the body of an HTTP response: the known fields of JSON, or plain text of type text or JSON.

    Empty for markup, for other content and for a body in a content encoding (`content_type` None).
    """
    if content_type is None or not body:
        return ""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        kind = content_type.partition(";")[0].strip().lower()
        text = body.decode("utf-8", errors="replace")
        is_text = kind == "text/plain" or kind.endswith("json") or (not kind and "\0" not in text)
        return text if is_text and not _MARKUP.match(text) else ""
    return "; ".join(dict.fromkeys(_said(document, _DEEPEST)[:_PIECES_AT_MOST]))


def json_number(body: bytes, members: Sequence[str]) -> str | None:
    """The whole number at this place of a JSON document, in digits; None without one."""
    if not members:
        return None
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    for name in members:
        value = value.get(name) if isinstance(value, dict) else None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _said(document: Any, depth: int) -> list[str]:
    """The texts of the known fields, in the order of their names."""
    match document:
        case str():
            return [document] if document.strip() else []
        case int() if not isinstance(document, bool):
            return [str(document)]
        case list() if depth:
            return [text for item in document[:_PIECES_AT_MOST] for text in _said(item, depth - 1)]
        case dict() if depth:
            return _of_fields(document, depth)
    return []


def _of_fields(document: Mapping[str, Any], depth: int) -> list[str]:
    return [text for name in _NAMES if name in document for text in _said(document[name], depth - 1)]


def _is_internal(text: str) -> bool:
    try:
        address = ip_address(text.strip(":") if text.count(":") == 1 else text)
    except ValueError:
        return False
    return check_destination(address, ()) is not AddressVerdict.PUBLIC
