"""Create, replace and delete integrations (decisions 7). Writes in a project run one at a time."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from accesslist.changes import RecordedChange, Tracked, changing
from accesslist.locks import project_lock_in_turn
from events.choices import DiffType
from events.types import EventType
from integrations.credentials.models import Integration
from integrations.credentials.store import integration_facts, integration_secrets
from integrations.redaction import Secrets, replaced_alike
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.batches import delete_batch
from opsapi.encryption import encrypt
from opsapi.roles import Scope

Values = Mapping[str, Any]
Read = Callable[[Secrets], Values]
"""Validates the requested values, given the stored secrets that redacted values refer to."""


def _named(here: Scope, integration_type: str) -> Integration:
    integration = _of(here, integration_type)
    return get_or_404(
        integration, ErrorCode.INTEGRATION_NOT_CONFIGURED, integration_type, here.group_id or ""
    )


def _of(here: Scope, integration_type: str) -> Integration | None:
    return Integration.objects.filter(group_id=here.group_id, type=integration_type).first()


INTEGRATION = Tracked(
    diff_type=DiffType.INTEGRATION,
    stored=integration_facts,
    added=EventType.INTEGRATION_ADDED_AUDIT,
    changed=EventType.INTEGRATION_CHANGED_AUDIT,
    deleted=EventType.INTEGRATION_DELETED_AUDIT,
    # The integration may not have a row to lock.
    locks=(project_lock_in_turn,),
    find=_named,
    # Within a project, the type identifies an integration.
    name=lambda integration: integration.type,
)


def integration_create(
    *, group_id: str, integration_type: str, values: Values, actor: Actor, now: datetime
) -> Integration:
    """Create an integration from a validated document.

    Raises:
        ApiError: INTEGRATION_ALREADY_CONFIGURED, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    with changing(INTEGRATION, actor, now, here=Scope(group_id=group_id)) as change:
        if _of(change.here, integration_type):
            raise ApiError(ErrorCode.INTEGRATION_ALREADY_CONFIGURED, integration_type, group_id)
        return _create(change, integration_type, values)


def integration_put(
    *, group_id: str, integration_type: str, read: Read, actor: Actor, now: datetime
) -> Integration:
    """Create the integration, or replace the stored integration; identical values change nothing.

    The body is read while nobody else writes the integration, so that redacted values refer to the secrets
    stored at that moment.

    Raises:
        ApiError: the errors of `read`, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    with changing(INTEGRATION, actor, now, here=Scope(group_id=group_id)) as change:
        stored = _of(change.here, integration_type)
        if stored is None:
            return _create(change, integration_type, read({}))
        change.keep(stored)
        old_secrets = integration_secrets(stored)
        values = read(old_secrets)
        if values != {**stored.fields, **old_secrets}:
            _write(stored, values, now)
            new, new_secrets = integration_facts(stored), integration_secrets(stored)
            replaced = replaced_alike(change.old, new, old_secrets, new_secrets)
            change.record_changed(new={**new, **replaced})
        return stored


def integration_delete(*, group_id: str, integration_type: str, actor: Actor, now: datetime) -> None:
    """Delete an integration and its secrets.

    Raises:
        ApiError: INTEGRATION_NOT_CONFIGURED, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    here = Scope(group_id=group_id)
    with changing(INTEGRATION, actor, now, here=here, row_id=integration_type) as change:
        change.record_deleted()
        change.row.delete()


def integrations_tested(*, group_id: str, errors: Mapping[str, str | None], now: datetime) -> None:
    """Remember whether services accepted a test message. Later changes of their credentials forget it.

    `errors`: by the type of the service, why it did not accept the message; None if it did.
    """
    for integration_type, error in errors.items():
        rows = Integration.objects.filter(group_id=group_id, type=integration_type, updated__lte=now)
        if error is None:
            rows.update(tested=now, test_failed=None, test_error=None)
        else:
            rows.update(test_failed=now, test_error=error)


def integrations_purge(*, group_id: str, limit: int) -> int:
    """Delete at most `limit` of the project's integrations, and return their number, 0 at the end."""
    return delete_batch(Integration.objects.filter(group_id=group_id), limit)


def _create(change: RecordedChange[Integration], integration_type: str, values: Values) -> Integration:
    integration = Integration(group_id=change.here.group_id, type=integration_type, created=change.now)
    _write(integration, values, change.now)
    return change.record_added(integration)


def _write(integration: Integration, values: Values, now: datetime) -> None:
    """Store the values: secrets encrypted, and redacted among the shown fields."""
    kind = INTEGRATION_TYPES[integration.type]
    integration.fields = kind.shown(values)
    integration.secrets = encrypt(json.dumps(kind.secrets(values)), owner=integration.id)
    integration.updated = now
    integration.tested = integration.test_failed = integration.test_error = None
    integration.save()
