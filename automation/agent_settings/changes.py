"""Writes the settings that a project keeps for its agents. Writes in a project run one at a time."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from accesslist.changes import RecordedAct, acting
from accesslist.locks import project_lock_in_turn
from automation.agent_settings.models import AgentSettings
from automation.agent_settings.rules import redacted_string, replaced_strings, stored_partners
from automation.agent_settings.store import (
    SELF_UPDATE,
    STRINGS,
    agent_settings_of,
    opened_settings,
    settings_etag,
    shown_settings,
    version_of,
)
from automation.desired_state.document.publish import ANY_ETAG
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, ApiError, BadField
from opsapi.api.principal import Actor
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import Scope

UNREADABLE = "must be sent in full: the stored value can no longer be decrypted"
UNKNOWN = "must be sent in full: it is not the redacted form of a stored value"


def agent_settings_put(
    *, group_id: str, sent: Mapping[str, Any], if_match: Sequence[str] | None, actor: Actor, now: datetime
) -> AgentSettings | None:
    """Replace the settings by the validated document `sent`; equal settings change nothing.

    A redacted connection string means the stored string with the same redacted form. The `version` of the
    document and the entity tags `if_match`, if given, must be of the stored settings.

    Returns the stored settings, None if nothing was ever stored.

    Raises: ApiError: AGENT_SETTINGS_CONCURRENT_MODIFICATION; REDACTED_VALUE_UNKNOWN or INVALID_ATTRIBUTE,
    with the wrong strings in `badFields`; GROUP_NOT_FOUND if the project was deleted in the meantime.
    """
    # Before the first write, there is no row to lock.
    with acting(actor, now, here=Scope(group_id=group_id), locks=(project_lock_in_turn,)) as act:
        return _put(act, group_id, sent, if_match)


def _put(
    act: RecordedAct, group_id: str, sent: Mapping[str, Any], if_match: Sequence[str] | None
) -> AgentSettings | None:
    stored = agent_settings_of(group_id)
    _check_version(sent, stored, if_match)
    old = {name: [] for name in STRINGS} if stored is None else opened_settings(stored)
    left_out = {"version", *STRINGS, *(() if sent.get(SELF_UPDATE) else (SELF_UPDATE,))}
    values = {name: value for name, value in sent.items() if name not in left_out}
    values = {**_strings(sent, shown_settings(stored), old), **values}
    if values == old:
        return stored
    row = stored or AgentSettings(group_id=group_id)
    before = None if stored is None else dict(stored.shown)
    _write(row, values)
    marked = {name: replaced_strings(None if old is None else old[name], values[name]) for name in STRINGS}
    diffs = diff(DiffType.MONITORING_AGENT, row.id, old=before, new={**row.shown, **marked})
    act.record(NewEvent(event_type=EventType.AGENT_SETTINGS_CHANGED_AUDIT, diffs=diffs))
    return row


def _check_version(
    sent: Mapping[str, Any], stored: AgentSettings | None, if_match: Sequence[str] | None
) -> None:
    """Before the strings: redacted strings of another version must not be compared with this version."""
    version = version_of(stored)
    code = ErrorCode.AGENT_SETTINGS_CONCURRENT_MODIFICATION
    if if_match is not None and not {ANY_ETAG, settings_etag(version)}.intersection(if_match):
        raise ApiError(code, ", ".join(tag.strip('"') for tag in if_match), version)
    if sent.get("version", version) != version:
        raise ApiError(code, sent["version"], version)


def _strings(
    sent: Mapping[str, Any], redacted: Mapping[str, Any], old: Mapping[str, Any] | None
) -> dict[str, list[str]]:
    """The sent connection strings in full, by field. Raises ApiError with the faults."""
    strings: dict[str, list[str]] = {}
    faults: list[BadField] = []
    for name in STRINGS:
        meant = stored_partners(sent.get(name, []), redacted[name], None if old is None else old[name])
        strings[name] = [text for text in meant if text is not None]
        for place, text in enumerate(meant):
            field = f"{name}[{place}]"
            if text is None:
                why = UNREADABLE if old is None else UNKNOWN
                faults.append(BadField(field, ErrorCode.REDACTED_VALUE_UNKNOWN, why))
            elif text in meant[:place]:
                faults.append(BadField(field, ErrorCode.INVALID_ATTRIBUTE, "is given twice"))
    if faults:
        raise ApiError.of_fields(faults[:MOST_FAULTS])
    return strings


def _write(row: AgentSettings, values: Mapping[str, Any]) -> None:
    row.version = new_id()
    row.shown = {**values, **{name: list(map(redacted_string, values[name])) for name in STRINGS}}
    row.secrets = encrypt(json.dumps(values), owner=row.id)
    row.save()
