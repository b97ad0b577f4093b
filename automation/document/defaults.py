"""Fills in the defaults of a checked document before it is stored. Pure."""

from collections.abc import Mapping
from typing import Any

from automation.document.schema import SCHEMA, resolved
from automation.document.sections import Section, items, keyed, text
from opsapi.wire_json import JsonObject

_AGENTS = ("monitoringVersions", "backupVersions")


def completed(document: Mapping[str, Any], stored: Mapping[str, Any]) -> JsonObject:
    """The document with defaults, without nulls in optional fields and without older names.

    Agents keep the read-only `name` stored for their hostname. Fields outside the schema and the order of
    keys stay as sent.
    """
    found: JsonObject = _completed(document, SCHEMA)
    return {name: _kept(found, stored, name) if name in _AGENTS else value for name, value in found.items()}


def _completed(value: Any, schema: Mapping[str, Any]) -> Any:
    schema = resolved(schema)
    if isinstance(value, Mapping):
        return _object(value, schema)
    if isinstance(value, list) and "items" in schema:
        return [_completed(item, schema["items"]) for item in value]
    return value


def _object(value: Section, schema: Mapping[str, Any]) -> JsonObject:
    known = schema.get("properties", {})
    found: JsonObject = {}
    for name, member in value.items():
        field = known.get(name, {})
        if member is not None or not field:
            found.setdefault(field.get("olderNameOf", name), _completed(member, field))
    for name, field in known.items():
        if "default" in field:
            found.setdefault(name, field["default"])
    return found


def _kept(document: Section, stored: Section, array: str) -> list[Any]:
    """The agents, each with the name stored for its hostname."""
    before = keyed((agent for _, agent in items(stored, array)), _hostname)
    after = keyed((agent for _, agent in items(document, array)), _hostname)
    return [
        {**agent, "name": before[key]["name"]} if key in before else agent for key, agent in after.items()
    ]


def _hostname(agent: Section) -> str | None:
    return text(agent, "hostname")
