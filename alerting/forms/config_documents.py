"""Converts form input into the API's document, and a stored document into form input.

An input has the name of the API's field, `notifications[1].intervalMin`, so a refusal finds its input.
Nothing is validated here: text that cannot be converted stays text, and the API's schema reports the fault.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from django import forms
from django.utils.text import capfirst

from alerting.forms.config_inputs import (
    FLAGS,
    MATCHER_INPUTS,
    NOTIFICATION_INPUTS,
    ROW_INPUTS,
    THRESHOLD_INPUTS,
    Input,
    config_inputs,
)
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.serializers.config_parts import MOST_MATCHERS
from alerting.serializers.notifications import MOST_NOTIFICATIONS
from integrations.inputs import read_body, read_headers, shown_text
from integrations.webhook_fields import HeaderValues, WebhookBody
from opsapi.api.errors import BadField
from opsapi.api.fields import Flag, ListOf, Number, Option, Text, Whole
from opsapi.console.forms import CLEAR, part_of
from opsapi.wire_json import JsonObject, without_nulls

Typed = Mapping[str, Sequence[str]]
"""The submitted values by input name, as browsers send them."""

TICKED = "on"
"""The value of a ticked checkbox."""
PARTS = ("matchers", "notifications")
MOST_READ = {"matchers": MOST_MATCHERS + 1, "notifications": MOST_NOTIFICATIONS + 1}
"""One more than the API allows, so that it reports too many; further rows are ignored."""
REMOVED = "removed"
"""The checkbox that removes a row, for browsers without JavaScript."""
_NAME = re.compile(r"(matchers|notifications)\[([0-9]{1,4})\]\.([A-Za-z.]{1,60})")


def rows_of(typed: Typed, part: str) -> list[Typed]:
    """The values of each row by name, in order, up to MOST_READ rows."""
    found: dict[int, dict[str, Sequence[str]]] = {}
    for name, texts in typed.items():
        place = _NAME.fullmatch(name)
        if place and place[1] == part:
            found.setdefault(int(place[2]), {})[place[3]] = texts
    rows = (row for _, row in sorted(found.items()) if not row.get(REMOVED) and _is_filled(row))
    return list(islice(rows, MOST_READ[part]))


def renumbered(typed: Typed) -> dict[str, Sequence[str]]:
    """The same, numbered from 0 without gaps, as in the API; empty rows are left out."""
    rest = {name: texts for name, texts in typed.items() if not _NAME.fullmatch(name)}
    rows = {
        f"{part}[{place}].{name}": texts
        for part in PARTS
        for place, row in enumerate(rows_of(typed, part))
        for name, texts in row.items()
    }
    return {**rest, **rows}


def within(typed: Typed, part: str) -> Typed:
    """The values of a part that exists once, by name."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): texts for name, texts in typed.items() if name.startswith(prefix)}


def _is_filled(row: Typed) -> bool:
    """Whether an input has a value; checkboxes do not count, because some are ticked initially."""
    return any(name not in FLAGS and any(texts) for name, texts in row.items())


_EXACT = 1e15  # Smaller doubles are written without an exponent.
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")


def value_of(
    declared: Input, typed: Mapping[str, Sequence[str]], before: Mapping[str, Any] | None = None
) -> Any:
    """The value of an input, None for nothing; `before` is the stored value, None for a new one."""
    texts = typed.get(declared.name, ())
    text = texts[0] if texts else ""
    stored = None if before is None else before.get(declared.name)
    if declared.is_secret:
        sent = read_headers(text) if isinstance(declared.field, HeaderValues) else text
        return sent or (None if typed.get(declared.name + CLEAR) else stored)
    match declared.field:
        case Option():
            # Unticked, it leaves the decision to the integration.
            return True if text else (None if stored else stored)
        case Flag():
            # A value that was never set is not set by an untouched checkbox.
            left_alone = before is not None and stored is None
            return bool(text) or (None if left_alone else False)
        case ListOf(child=Text()):
            return [line for line in text.replace("\r\n", "\n").split("\n") if line] or None
        case ListOf():
            return _in_order([text for text in texts if text], stored)
        case _:
            return read_body(text) if isinstance(declared.field, WebhookBody) else _one_value(declared, text)


def texts_of(declared: Input, value: Any) -> list[str]:
    """The form value of a stored value; empty for a secret."""
    if value is None or declared.is_secret:
        return []
    match declared.field:
        case Flag():
            return [TICKED] if value else []
        case ListOf(child=Text()):
            return ["\n".join(value)]
        case ListOf():
            return list(value)
        case Number():
            return [number_text(value)]
        case _:
            return [shown_text(value)]


def number_text(value: float) -> str:
    """A number with all significant digits, without a trailing `.0`."""
    return str(int(value)) if abs(value) < _EXACT and value == int(value) else repr(value)


def _in_order(chosen: Sequence[str], stored: Sequence[str] | None) -> list[str] | None:
    """The selected values in stored order, then new ones, because the page has its own order."""
    kept = [value for value in stored or () if value in chosen]
    return kept + [value for value in chosen if value not in kept] or None


def _one_value(declared: Input, text: str) -> Any:
    match declared.field:
        case Whole():
            return _whole(text)
        case Number():
            return _number(text)
        case _:
            return text or None


def _whole(text: str) -> int | str | None:
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) else stripped or None


def _number(text: str) -> float | str | None:
    stripped = text.strip()
    number = float(stripped) if _NUMBER.fullmatch(stripped) else math.inf
    return number if math.isfinite(number) else stripped or None


Document = Mapping[str, Any]
_NOTHING: Document = {}


def document_of(typed: Typed, *, is_global: bool, stored: Document | None = None) -> JsonObject:
    """The document; `stored` is the configuration as the API shows it, None for a new one.

    A secret without input is sent in its redacted form, which the API accepts as unchanged. Input that does
    not belong to the chosen types is sent too, so that the API reports it.
    """
    known = stored or _NOTHING
    parts = {
        "matchers": [_values(MATCHER_INPUTS, row) for row in rows_of(typed, "matchers")],
        **{part: _values(inputs, within(typed, part)) for part, inputs in THRESHOLD_INPUTS.items()},
        "notifications": [_notification(row, known) for row in rows_of(typed, "notifications")],
    }
    values = _values(config_inputs(is_global=is_global), typed, stored)
    return {**values, **{name: part for name, part in parts.items() if part}}


def typed_of(document: Document, *, is_global: bool, as_new: bool = False) -> dict[str, Sequence[str]]:
    """The form values of a configuration from the API; `as_new`: for a copy."""
    texts = _texts("", config_inputs(is_global=is_global), document)
    for part, inputs in THRESHOLD_INPUTS.items():
        texts |= _texts(f"{part}.", inputs, document.get(part, _NOTHING))
    for place, matcher in enumerate(document["matchers"]):
        texts |= _texts(f"matchers[{place}].", MATCHER_INPUTS, matcher)
    for place, notification in enumerate(document["notifications"]):
        row = f"notifications[{place}]."
        texts[f"{row}typeName"] = [notification["typeName"]]
        if not as_new:
            texts[f"{row}id"] = [notification["id"]]
        texts |= _texts(row, NOTIFICATION_INPUTS[notification["typeName"]], notification)
    return texts


def stored_secrets(rows: Iterable[tuple[str, Document]]) -> dict[str, Any]:
    """The redacted secrets of stored notifications, by input name; `rows` are their rows in the form."""
    return {
        f"{row}.{declared.name}": notification[declared.name]
        for row, notification in rows
        for declared in NOTIFICATION_INPUTS[notification["typeName"]]
        if declared.is_secret and declared.name in notification
    }


def _notification(row: Typed, stored: Document) -> JsonObject:
    type_name, setting_id = _first(row, "typeName"), _first(row, "id")
    # With another type, it becomes a new notification.
    same = (
        setting
        for setting in stored.get("notifications", ())
        if (setting["id"], setting["typeName"]) == (setting_id, type_name)
    )
    before = next(same, None)
    own = NOTIFICATION_INPUTS.get(type_name, ())
    named = {declared.name for declared in own}
    # A checkbox always has a value; a checkbox of another type has none.
    others = [next(iter(of.values())) for name, of in ROW_INPUTS.items() if name not in {*named, *FLAGS}]
    common = {name: text for name, text in (("typeName", type_name), ("id", setting_id)) if text}
    declared = NOTIFICATION_TYPES[type_name].fields if before else ()
    # Fields that the form does not show keep their stored values.
    hidden = [field.name for field in declared if field.name not in named]
    kept = {name: before[name] for name in hidden if before and name in before}
    return {**common, **kept, **_values(own, row, before), **_values(others, row)}


def _values(inputs: Iterable[Input], typed: Typed, before: Document | None = None) -> JsonObject:
    return without_nulls({declared.name: value_of(declared, typed, before) for declared in inputs})


def _texts(prefix: str, inputs: Iterable[Input], document: Document) -> dict[str, Sequence[str]]:
    return {
        f"{prefix}{declared.name}": texts_of(declared, document.get(declared.name)) for declared in inputs
    }


def _first(row: Typed, name: str) -> str:
    texts = row.get(name, ())
    return texts[0] if texts else ""


_LAST_STEP = re.compile(r"(\.[^.\[\]]*|\[[0-9]*\])$")


def faults_of(
    bad_fields: Iterable[BadField], names: Collection[str], fields: Mapping[str, forms.Field] | None = None
) -> list[tuple[str | None, str]]:
    """Each refusal in a sentence, with the innermost input, part or row of its field; None: the form.

    `fields` are the inputs. If an input shows a document, the sentence begins with the path inside it.
    """
    return [_fault_of(bad, names, fields or {}) for bad in bad_fields]


def _fault_of(
    bad: BadField, names: Collection[str], fields: Mapping[str, forms.Field]
) -> tuple[str | None, str]:
    name = _nearest(bad.field, names)
    part = part_of(fields.get(name), name, bad.field) if name else ""
    return name, f"{part}: {bad.message}.{_allowed(bad)}" if part else _sentence(bad)


def _nearest(field: str, names: Collection[str]) -> str | None:
    while field and field not in names:
        step = _LAST_STEP.search(field)
        field = field[: step.start()] if step else ""
    return field or None


def _sentence(bad: BadField) -> str:
    return f"{capfirst(bad.message)}.{_allowed(bad)}"


def _allowed(bad: BadField) -> str:
    return f" Allowed: {', '.join(bad.allowed)}." if bad.allowed else ""
