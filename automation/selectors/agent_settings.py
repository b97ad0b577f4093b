"""The settings that projects keep for their agents."""

import json
import logging
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from automation.models import AgentSettings
from opsapi.api.errors import unavailable
from opsapi.api.resources import Facts
from opsapi.encryption import CannotDecryptError, decrypt

logger = logging.getLogger("opsapi.automation")

STRINGS = ("mongodb", "postgresql")
"""The fields with connection strings."""
NO_VERSION = "0"
"""The version before the first write."""
_NOTHING: Facts = {name: [] for name in STRINGS}


def agent_settings_of(group_id: str) -> AgentSettings | None:
    """Return the settings of a project with their secrets, still encrypted; None before the first write."""
    return _of(group_id).first()


def shown_agent_settings_of(group_id: str) -> AgentSettings | None:
    """As `agent_settings_of`, without the secrets."""
    return _of(group_id).defer("secrets").first()


def version_known(group_id: str) -> str:
    """Return the version of a project's settings, without reading the settings."""
    return _of(group_id).values_list("version", flat=True).first() or NO_VERSION


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
    return {**(stored.shown if stored else _NOTHING), "version": version_of(stored)}


def full_settings(stored: AgentSettings | None) -> Facts:
    """Return the settings with their version and their secrets, for agents.

    Raises: ApiError: SERVICE_UNAVAILABLE, if the encryption key of the secrets is no longer configured.
    """
    if stored is None:
        return shown_settings(stored)  # Without secrets.
    found = opened_settings(stored)
    if found is None:
        raise unavailable(
            "the settings of the agents cannot be read without their encryption key, which is not in "
            "OPSAPI_ENCRYPTION_KEYS"
        )
    return {**found, "version": stored.version}


def opened_settings(stored: AgentSettings) -> Mapping[str, Any] | None:
    """Return the settings with their secrets; None, and a line in the log, if they cannot be decrypted."""
    try:
        found: Mapping[str, Any] = json.loads(decrypt(stored.secrets or "", owner=stored.id))
    except CannotDecryptError as error:
        logger.error("the settings of the agents of project %s: %s", stored.group_id, error)
        return None
    return found
