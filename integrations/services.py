"""Create, replace and delete integrations (decisions 7). Writes in a project run one at a time."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.models import Project
from accesslist.services.locks import actor_lock_shared
from events.choices import DiffType
from events.diffs import diff
from events.services import event_record
from events.types import EventType
from integrations.models import Integration
from integrations.redaction import Secrets, replaced_alike
from integrations.selectors import integration_facts, integration_secrets
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.batches import delete_batch
from opsapi.encryption import encrypt

Values = Mapping[str, Any]
Read = Callable[[Secrets], Values]
"""Validates the requested values, given the stored secrets that redacted values refer to."""


@transaction.atomic
def integration_create(
    *, group_id: str, integration_type: str, values: Values, actor: Actor, now: datetime
) -> Integration:
    """Create an integration from a validated document.

    Raises:
        ApiError: INTEGRATION_ALREADY_CONFIGURED, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    actor_lock_shared(actor)
    if _locked(group_id, integration_type):
        raise ApiError(ErrorCode.INTEGRATION_ALREADY_CONFIGURED, integration_type, group_id)
    return _create(group_id, integration_type, values, actor, now)


@transaction.atomic
def integration_put(
    *, group_id: str, integration_type: str, read: Read, actor: Actor, now: datetime
) -> Integration:
    """Create the integration, or replace the stored integration; identical values change nothing.

    The body is read while nobody else writes the integration, so that redacted values refer to the secrets
    stored at that moment.

    Raises:
        ApiError: the errors of `read`, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    actor_lock_shared(actor)
    stored = _locked(group_id, integration_type)
    if stored is None:
        return _create(group_id, integration_type, read({}), actor, now)
    secrets = integration_secrets(stored)
    values = read(secrets)
    if values != {**stored.fields, **secrets}:
        _change(stored, values, actor, now)
    return stored


@transaction.atomic
def integration_delete(*, group_id: str, integration_type: str, actor: Actor, now: datetime) -> None:
    """Delete an integration and its secrets.

    Raises:
        ApiError: INTEGRATION_NOT_CONFIGURED, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    actor_lock_shared(actor)
    stored = _locked(group_id, integration_type)
    integration = get_or_404(stored, ErrorCode.INTEGRATION_NOT_CONFIGURED, integration_type, group_id)
    facts = integration_facts(integration)
    _record(integration, EventType.INTEGRATION_DELETED_AUDIT, actor, now, old=facts)
    integration.delete()


def integrations_purge(*, group_id: str, limit: int) -> int:
    """Delete at most `limit` of the project's integrations, and return their number, 0 at the end."""
    return delete_batch(Integration.objects.filter(group_id=group_id), limit)


def _locked(group_id: str, integration_type: str) -> Integration | None:
    """The integration, while nobody else writes integrations of the project; None if missing."""
    # The weaker lock, so that reports continue. The integration may not have a row to lock.
    live = Project.objects.select_for_update(no_key=True).filter(id=group_id).first()
    get_or_404(live, ErrorCode.GROUP_NOT_FOUND, group_id)
    return Integration.objects.filter(group_id=group_id, type=integration_type).first()


def _create(group_id: str, integration_type: str, values: Values, actor: Actor, now: datetime) -> Integration:
    integration = Integration(group_id=group_id, type=integration_type, created=now)
    _write(integration, values, now)
    _record(integration, EventType.INTEGRATION_ADDED_AUDIT, actor, now, new=integration_facts(integration))
    return integration


def _change(integration: Integration, values: Values, actor: Actor, now: datetime) -> None:
    old, old_secrets = integration_facts(integration), integration_secrets(integration)
    _write(integration, values, now)
    new, new_secrets = integration_facts(integration), integration_secrets(integration)
    replaced = replaced_alike(old, new, old_secrets, new_secrets)
    _record(integration, EventType.INTEGRATION_CHANGED_AUDIT, actor, now, old=old, new={**new, **replaced})


def _write(integration: Integration, values: Values, now: datetime) -> None:
    """Store the values: secrets encrypted, and redacted among the shown fields."""
    kind = INTEGRATION_TYPES[integration.type]
    integration.fields = kind.shown(values)
    integration.secrets = encrypt(json.dumps(kind.secrets(values)), owner=integration.id)
    integration.updated = now
    integration.save()


def _record(
    integration: Integration, event_type: EventType, actor: Actor, now: datetime, **sides: Mapping[str, Any]
) -> None:
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        group_id=integration.group_id,
        # Within a project, the type identifies an integration.
        diffs=diff(DiffType.INTEGRATION, integration.type, **sides),
    )
