"""Formats of single values: times, hosts, write concerns, restore URLs. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from opsapi.clock import parse_time
from opsapi.hostnames import canonical_hostname

CANCEL: Final = "CANCEL"
"""The backupRestoreUrl that stops a running restore."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the schema: a check, and the message if it fails."""

    holds: Callable[[str], bool]
    message: str


def moment(text: str) -> datetime | None:
    """Parse an ISO 8601 time into UTC, keeping fractions; without a zone it is UTC. None if invalid."""
    if not is_time(text):
        return None
    found = datetime.fromisoformat(text.upper())
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def is_time(text: str) -> bool:
    """Whether the text is an ISO 8601 date-time, with or without a zone."""
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def has_zone(text: str) -> bool:
    """Whether an ISO 8601 date-time has a time zone."""
    return is_time(text) and datetime.fromisoformat(text.upper()).tzinfo is not None


def is_host(text: str) -> bool:
    """Whether the text is a host name (RFC 1123) or an IP address."""
    return canonical_hostname(text) is not None


def is_write_concern(text: str) -> bool:
    """Whether the text is `majority` or digits."""
    return text == "majority" or (text.isascii() and text.isdecimal())


def is_restore_url(text: str) -> bool:
    """Whether the text is `CANCEL` or an http(s) URL."""
    return text == CANCEL or is_web_url(text)


def is_web_url(text: str) -> bool:
    """Whether the text is an http or https URL with a host."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    plain = text.isascii() and text.isprintable() and " " not in text and "\\" not in text
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and plain


FORMATS: Final[Mapping[str, Format]] = {
    "iso-8601-time": Format(is_time, "must be an ISO 8601 date-time, such as 2026-11-21T07:26:14Z"),
    "host": Format(is_host, "must be a host name (RFC 1123) or an IP address"),
    "write-concern": Format(is_write_concern, "must be majority or a number of members"),
    "restore-url": Format(is_restore_url, "must be CANCEL or an http or https URL"),
}


def has_format(name: str, value: Any) -> bool:
    """Whether the value has the format; only strings are checked, because types are checked elsewhere."""
    return not isinstance(value, str) or FORMATS[name].holds(value)
