"""Decides whether a sent document is rejected or becomes the next version, with its defaults. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property  # noqa: TID251 - pure: nothing in it waits
from typing import Any, Final

from automation.document.changes import ProcessChange, process_changes
from automation.document.rules import document_faults
from automation.document.schema import SCHEMA, in_documented_order, resolved
from automation.document.secrets import restored
from automation.document.sections import Section, items, keyed, text
from automation.document.text import canonical
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, ApiError, BadField
from opsapi.wire_json import JsonObject

ANY_ETAG: Final = "*"
NEW_PROJECT: Final[Mapping[str, Any]] = {
    "version": 0,
    "options": {"downloadBase": "/var/lib/ops-agent"},
    "databaseVersions": [],
    "processes": [],
}
"""The initial document of every project."""
_AGENTS = ("monitoringVersions", "backupVersions")


@dataclass(frozen=True)
class Publication:
    """The document before and after; the same object if nothing changes."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @property
    def changes_something(self) -> bool:
        """Whether there is anything to publish."""
        return self.new is not self.old

    @cached_property
    def changes(self) -> Sequence[ProcessChange]:
        """The changes of each process, with secrets redacted."""
        return process_changes(self.old, self.new)


def etag(version: int) -> str:
    """The entity tag of a document, from its version."""
    return f'"{version}"'


def publication(
    sent: Mapping[str, Any],
    stored: Mapping[str, Any],
    *,
    if_match: Sequence[str] | None = None,
    unstorable: Sequence[BadField] = (),
) -> Publication:
    """Check the sent document against the stored one, and return the result of publishing it.

    `unstorable` are the faults found while reading it; they hide other faults at the same places. `if_match`
    are entity tags, one of which must match the stored document; None if there is no such condition.

    Raises: ApiError: AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, if the document is based on another version;
    otherwise the code of the first fault, with all faults in `badFields`.
    """
    sent = _with_first_version(sent, stored)
    _check_version(sent, stored, if_match)
    document, unknown = restored(sent, stored)
    places = {fault.field for fault in unstorable}
    others = (*unknown, *document_faults(document, stored))
    faults = [*unstorable, *(fault for fault in others if fault.field not in places)]
    if faults:
        raise ApiError.of_fields(in_documented_order(faults)[:MOST_FAULTS])
    document = {**completed(document, stored), "version": stored["version"]}
    if canonical(document) == canonical(stored):
        return Publication(stored, stored)
    return Publication(stored, {**document, "version": stored["version"] + 1})


def _with_first_version(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first document of a project can leave out its version: clients drop a value of 0."""
    if sent.get("version") is None and stored["version"] == NEW_PROJECT["version"]:
        return {**sent, "version": stored["version"]}
    return sent


def _check_version(
    sent: Mapping[str, Any], stored: Mapping[str, Any], if_match: Sequence[str] | None
) -> None:
    """Before the faults: a document based on another version must not be checked against this one."""
    if if_match is not None and not {ANY_ETAG, etag(stored["version"])}.intersection(if_match):
        raise _concurrent(", ".join(tag.strip('"') for tag in if_match), stored)
    version = sent.get("version")
    if isinstance(version, int) and not isinstance(version, bool) and version != stored["version"]:
        raise _concurrent(str(version), stored)


def _concurrent(asked: str, stored: Mapping[str, Any]) -> ApiError:
    return ApiError(ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, asked, str(stored["version"]))


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
