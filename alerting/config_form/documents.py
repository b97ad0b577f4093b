"""Converts form input into the API's document, and a stored document into form input.

Nothing is validated here: the API's document does that, so that console and API refuse alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from alerting.config_form.inputs import Input, InputKind
from alerting.config_form.kinds import (
    KINDS,
    MATCHER_INPUTS,
    NOTIFICATION_INPUTS,
    THRESHOLD_INPUTS,
    config_inputs,
)
from alerting.config_form.rows import Typed, rows_of, within
from alerting.config_form.values import texts_of, value_of
from opsapi.wire_json import JsonObject, without_nulls

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
        texts |= _texts(row, KINDS[notification["typeName"]].inputs, notification)
    return texts


def stored_secrets(rows: Iterable[tuple[str, Document]]) -> dict[str, str]:
    """The redacted secrets of stored notifications, by input name; `rows` are their rows in the form."""
    return {
        f"{row}.{declared.name}": notification[declared.name]
        for row, notification in rows
        for declared in KINDS[notification["typeName"]].inputs
        if declared.kind is InputKind.SECRET and declared.name in notification
    }


def _notification(row: Typed, stored: Document) -> JsonObject:
    type_name, setting_id = _first(row, "typeName"), _first(row, "id")
    before = _stored_notification(stored, setting_id, type_name)
    kind = KINDS.get(type_name)
    own = kind.inputs if kind else ()
    named = {declared.name for declared in own}
    # A checkbox always has a value; a checkbox of another type has none.
    others = [
        row_input.input
        for row_input in NOTIFICATION_INPUTS
        if row_input.input.name not in named and row_input.input.kind is not InputKind.FLAG
    ]
    common = {name: text for name, text in (("typeName", type_name), ("id", setting_id)) if text}
    kept = {name: before[name] for name in (kind.kept if kind else ()) if before and name in before}
    return {**common, **kept, **_values(own, row, before), **_values(others, row)}


def _stored_notification(stored: Document, setting_id: str, type_name: str) -> Document | None:
    """With another type, it becomes a new notification."""
    named = (setting for setting in stored.get("notifications", ()) if setting["id"] == setting_id)
    return next((setting for setting in named if setting["typeName"] == type_name), None)


def _values(inputs: Iterable[Input], typed: Typed, before: Document | None = None) -> JsonObject:
    return without_nulls({declared.name: value_of(declared, typed, before) for declared in inputs})


def _texts(prefix: str, inputs: Iterable[Input], document: Document) -> dict[str, Sequence[str]]:
    return {
        f"{prefix}{declared.name}": texts_of(declared, document.get(declared.name)) for declared in inputs
    }


def _first(row: Typed, name: str) -> str:
    texts = row.get(name, ())
    return texts[0] if texts else ""
