"""Integrations of a project. Only code that sends to the outside sees their secrets."""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from django.db.models import QuerySet

from integrations.credentials.models import Integration
from integrations.redaction import Secrets
from integrations.types import INTEGRATION_TYPES
from opsapi.api.resources import Facts
from opsapi.encryption import CannotDecryptError, decrypt


def integrations_of(group_id: str) -> QuerySet[Integration]:
    """Return a project's integrations in the order of creation, without their secrets."""
    return Integration.objects.filter(group_id=group_id).defer("secrets").order_by("created", "id")


def integration_of(group_id: str, integration_type: str) -> Integration | None:
    """The one of `integrations_of` that has the type."""
    return integrations_of(group_id).filter(type=integration_type).first()


def integration_facts(integration: Integration) -> Facts:
    """An integration without its links, with redacted secrets, as in answers and diffs."""
    fields, stored = INTEGRATION_TYPES[integration.type].fields, integration.fields
    values = {field.name: stored[field.name] for field in fields if field.name in stored}
    return {"type": integration.type, **values}


def live_integration(group_id: str, integration_type: str) -> Integration | None:
    """The integration with its project, for use; None if missing or the project is deleted."""
    live = Integration.objects.filter(group__deleted=None).select_related("group")
    return live.filter(group_id=group_id, type=integration_type).first()


def stored_integration(group_id: str, integration_type: str) -> Integration | None:
    """The integration, also of a deleted project: recipients of an open alert are notified of its end."""
    return Integration.objects.filter(group_id=group_id, type=integration_type).first()


def integration_secrets(integration: Integration) -> Secrets:
    """The secrets by field; None if they cannot be decrypted."""
    names = INTEGRATION_TYPES[integration.type].secret_fields
    return readable(names, integration.fields, lambda: _opened(integration))


def readable(
    names: Collection[str], stored: Collection[str], opened: Callable[[], Mapping[str, Any]]
) -> Secrets:
    """Stored secrets by field; None for each that cannot be decrypted.

    `names`: the secret fields. `stored`: the stored fields. `opened` returns their values, or raises
    CannotDecryptError.
    """
    try:
        values: Mapping[str, Any] = opened()
    except CannotDecryptError:
        values = dict.fromkeys(stored)
    return {name: values[name] for name in names if name in values}


def integration_values(integration: Integration) -> Mapping[str, Any]:
    """All fields in full: the configuration as sent.

    Raises: CannotDecryptError: the key of its secrets is no longer configured.
    """
    return {**integration.fields, **_opened(integration)}


def _opened(integration: Integration) -> Mapping[str, str]:
    encrypted = integration.secrets
    opened: dict[str, str] = json.loads(decrypt(encrypted, owner=integration.id)) if encrypted else {}
    return opened
