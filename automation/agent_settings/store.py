"""The settings that projects keep for their agents."""

import json
import logging
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from django.db.models import QuerySet

from automation.agent_file import agent_file, agent_file_facts
from automation.agent_settings.models import AgentSettings
from automation.agent_settings.rules import FORMS
from automation.desired_state.store import wanted_agent_version
from automation.metrics import Engine
from opsapi import VERSION
from opsapi.api.errors import unavailable
from opsapi.api.resources import Facts
from opsapi.encryption import CannotDecryptError, decrypt

logger = logging.getLogger("opsapi.automation")

STRINGS = ("mongodb", "postgresql")
"""The fields with connection strings."""
NO_VERSION = "0"
"""The version before the first write."""
SELF_UPDATE = "selfUpdate"
"""The field that says that agents update themselves. Stored only if it is true."""
_NOTHING: Facts = {name: [] for name in STRINGS}


def agent_settings_of(group_id: str) -> AgentSettings | None:
    """Return the settings of a project with their secrets, still encrypted; None before the first write."""
    return _of(group_id).first()


def shown_agent_settings_of(group_id: str) -> AgentSettings | None:
    """As `agent_settings_of`, without the secrets."""
    return _of(group_id).defer("secrets").first()


def version_for_agents(group_id: str, hostnames: Collection[str]) -> str:
    """Return the version of a project's settings as agents get it, without reading the secrets.

    `hostnames`: as for `full_settings`.
    """
    stored = shown_agent_settings_of(group_id)
    return _version_for_agents(stored, hostnames, updates=_updates_agents(group_id, stored))


def settings_etag(version: str) -> str:
    """Return the entity tag of the settings, from their version."""
    return f'"{version}"'


def version_of(stored: AgentSettings | None) -> str:
    """Return the version of the settings; NO_VERSION without a row."""
    return stored.version if stored else NO_VERSION


def _of(group_id: str) -> QuerySet[AgentSettings]:
    return AgentSettings.objects.filter(group_id=group_id)


def shown_settings(stored: AgentSettings | None) -> Facts:
    """Return the settings with their version, with secrets redacted."""
    values = stored.shown if stored else _NOTHING
    return {SELF_UPDATE: False, **values, "version": version_of(stored)}


def full_settings(group_id: str, stored: AgentSettings | None, hostnames: Collection[str]) -> Facts:
    """Return the settings of a project with their secrets, for agents, and the file that replaces theirs.

    `hostnames`: the names of the machine of the agent's key, in lower case, which gets only the connection
    strings of its machine. Without names, it gets all.

    Raises: ApiError: SERVICE_UNAVAILABLE, if the encryption key of the secrets is no longer configured.
    """
    values = _NOTHING if stored is None else opened_settings(stored)
    if values is None:
        raise unavailable(
            "the settings of the agents cannot be read without their encryption key, which is not in "
            "OPSAPI_ENCRYPTION_KEYS"
        )
    settings = {name: value for name, value in values.items() if name != SELF_UPDATE}
    if hostnames:
        withheld = 0
        for name in STRINGS:
            form = FORMS[Engine(name.upper())]
            settings[name] = [text for text in values[name] if form.is_on_machine(text, hostnames)]
            withheld += len(values[name]) - len(settings[name])
        if withheld:
            settings["withheldCount"] = withheld
    updates = _updates_agents(group_id, stored)
    file = {"agentFile": agent_file_facts()} if updates else {}
    return {**settings, **file, "version": _version_for_agents(stored, hostnames, updates=updates)}


def _updates_agents(group_id: str, stored: AgentSettings | None) -> bool:
    """Whether the settings or the automation configuration ask for the version of the platform."""
    is_on = stored is not None and bool(stored.shown.get(SELF_UPDATE))
    return is_on or wanted_agent_version(group_id) == VERSION


def _version_for_agents(stored: AgentSettings | None, hostnames: Collection[str], *, updates: bool) -> str:
    """The version, with the beginnings of the checksums of what else decides on the answer.

    These are the file by which agents replace theirs, and the names of the machine.
    """
    parts = [version_of(stored)]
    if updates:
        parts.append(agent_file().sha256[:16])
    if hostnames:
        parts.append(sha256(" ".join(sorted(hostnames)).encode()).hexdigest()[:16])
    return ".".join(parts)


def opened_settings(stored: AgentSettings) -> Mapping[str, Any] | None:
    """Return the settings with their secrets; None, and a line in the log, if they cannot be decrypted."""
    try:
        values: Mapping[str, Any] = json.loads(decrypt(stored.secrets or "", owner=stored.id))
    except CannotDecryptError as error:
        logger.error("the settings of the agents of project %s: %s", stored.group_id, error)
        return None
    return values
