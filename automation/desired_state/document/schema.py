"""Validates every listed field of the document against its JSON Schema. Pure."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, FormatChecker, TypeChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from automation.sections import pointer, steps
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, BadField, must_be_one_of
from opsapi.clock import parse_time
from opsapi.hostnames import canonical_hostname
from opsapi.wire_json import SEVERAL_LINES_TEXT, is_single_line

CANCEL: Final = "CANCEL"
"""The backupRestoreUrl that stops a running restore."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of the schema: a check, and the message if it fails."""

    holds: Callable[[str], bool]
    message: str


def is_time(text: str) -> bool:
    """Whether the text is an ISO 8601 date-time, with or without a zone."""
    try:
        parse_time(text)
    except ValueError:
        return False
    return True


def is_host(text: str) -> bool:
    """Whether the text is a host name (RFC 1123) or an IP address."""
    return canonical_hostname(text) is not None


def is_write_concern(text: str) -> bool:
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
    "single-line": Format(is_single_line, SEVERAL_LINES_TEXT),
    "restore-url": Format(is_restore_url, "must be CANCEL or an http or https URL"),
}


def has_format(name: str, value: Any) -> bool:
    """Whether the value has the format; only strings are checked, because types are checked elsewhere."""
    return not isinstance(value, str) or FORMATS[name].holds(value)


SCHEMA: Final[Mapping[str, Any]] = json.loads((Path(__file__).parent / "schema.json").read_text("utf-8"))
"""The schema as published."""

_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
}


def schema_faults(document: Any) -> list[BadField]:
    """Faults of type, presence, range, format and allowed values.

    At most MOST_FAULTS, one for each place, as JSON Pointers in the documented order.
    """
    if _fits(document, SCHEMA):
        return []
    faults: dict[str, BadField] = {}
    for error in _VALIDATOR.iter_errors(document):
        for fault in _faults(error):
            faults.setdefault(fault.field, fault)
        if len(faults) >= MOST_FAULTS:
            break
    return in_documented_order(faults.values())[:MOST_FAULTS]


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether the validator would find no fault, in a third of its time.

    The validator creates a validator for each value. This walks containers itself and leaves the rest to the
    library.
    """
    schema = resolved(schema)
    for keyword, demand in schema.items():
        if keyword == "properties":
            known = isinstance(value, Mapping)
            if known and not all(
                _fits(value[name], section) for name, section in demand.items() if name in value
            ):
                return False
        elif keyword == "items":
            if isinstance(value, list) and not all(_fits(item, demand) for item in value):
                return False
        elif (check := _VALIDATOR.VALIDATORS.get(keyword)) is not None:
            for _ in check(_VALIDATOR, demand, value, schema) or ():
                return False
    return True


def in_documented_order(faults: Iterable[BadField]) -> list[BadField]:
    """Faults in the order of the schema; the first decides the error code of the answer."""
    return sorted(faults, key=lambda fault: _place(fault.field))


def _place(field: str) -> list[tuple[int, str]]:
    place: list[tuple[int, str]] = []
    schema: Mapping[str, Any] = SCHEMA
    for step in steps(field):
        schema = resolved(schema)
        known = list(schema.get("properties", ()))
        if "items" in schema and step.isdecimal():
            place.append((int(step), ""))
            schema = schema["items"]
        elif step in known:
            place.append((known.index(step), ""))
            schema = schema["properties"][step]
        else:
            place.append((len(known), step))
            schema = schema.get("additionalProperties", {})
    return place


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the schema behind a `$ref`."""
    reference = schema.get("$ref")
    return SCHEMA["$defs"][reference.rpartition("/")[2]] if reference else schema


def _faults(error: ValidationError) -> Iterator[BadField]:
    demand: Any = error.validator_value
    instance: Any = error.instance
    if error.validator == "required":
        absent = (name for name in demand if name not in instance)
        yield from (_missing([*error.absolute_path, name]) for name in absent)
    elif instance is None:
        yield _missing(error.absolute_path)
    else:
        closed: Any = error.schema
        yield _wrong(pointer(error.absolute_path), str(error.validator), demand, closed.get("enum", ()))


def _missing(path: Iterable[str | int]) -> BadField:
    return BadField(pointer(path), ErrorCode.MISSING_ATTRIBUTE, "is required")


def _wrong(field: str, keyword: str, demand: Any, closed_set: Sequence[Any]) -> BadField:
    allowed = tuple(value for value in closed_set if value is not None)
    if keyword == "enum":
        return BadField(field, ErrorCode.INVALID_ENUM_VALUE, must_be_one_of(allowed), allowed)
    return BadField(field, ErrorCode.INVALID_ATTRIBUTE, _MESSAGES[keyword](demand), allowed)


def _types(demand: str | Sequence[str]) -> str:
    names = [demand] if isinstance(demand, str) else demand
    return "must be " + " or ".join(_TYPES[name] for name in names if name != "null")


_MESSAGES: Final[Mapping[str, Callable[[Any], str]]] = {
    "type": _types,
    "minLength": lambda _: "must not be empty",
    "maxLength": lambda most: f"must have at most {most} characters",
    "minimum": lambda least: f"must be at least {least}",
    "maximum": lambda most: f"must be at most {most}",
    "maxItems": lambda most: f"must have at most {most} items",
    "format": lambda name: FORMATS[name].message,
}


def _checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name in FORMATS:
        checker.checks(name)(partial(has_format, name))
    return checker


def _is_integer(_: TypeChecker, value: Any) -> bool:
    """Reject 5.0, which JSON Schema accepts as an integer."""
    return isinstance(value, int) and not isinstance(value, bool)


_STRICT: Final = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
_Validator = extend(Draft202012Validator, type_checker=_STRICT)  # type: ignore[no-untyped-call]  # stub lacks it
_VALIDATOR: Final = _Validator(SCHEMA, format_checker=_checker())
