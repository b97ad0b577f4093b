"""Organizations: created, renamed, deleted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.models import Organization, Project
from accesslist.serializers.organizations import OrganizationDocument
from accesslist.services.locks import actor_lock_in_turn, actor_lock_shared
from accesslist.services.scope_roles import keys_lock, scope_roles_delete
from accesslist.services.teams import teams_delete
from events.choices import DiffType
from events.diffs import diff
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor
from opsapi.roles import Scope


@transaction.atomic
def organization_create(*, name: str, actor: Actor, now: datetime) -> Organization:
    """Create an organization; names need not be unique."""
    actor_lock_shared(actor)
    org = Organization.objects.create(name=name, created=now)
    _record(org, EventType.ORG_CREATED_AUDIT, actor, now, new=OrganizationDocument.stored(org))
    return org


@transaction.atomic
def organization_rename(*, org_id: str, name: str, actor: Actor, now: datetime) -> None:
    """Rename the organization; without a change, no event is recorded.

    Raises:
        ApiError: ORG_NOT_FOUND, when it was deleted in the meantime.
    """
    actor_lock_shared(actor)
    org = _locked(org_id)
    if org.name == name:
        return
    old = OrganizationDocument.stored(org)
    org.name = name
    org.save(update_fields=["name"])
    _record(org, EventType.ORG_RENAMED, actor, now, old=old, new=OrganizationDocument.stored(org))


@transaction.atomic
def organization_delete(*, org_id: str, actor: Actor, now: datetime) -> None:
    """Delete an empty organization, with the roles held in it and its teams.

    Raises:
        ApiError: ORG_NOT_EMPTY, or ORG_NOT_FOUND when it was deleted in the meantime.
    """
    actor_lock_in_turn(actor)
    keys_lock(here=Scope(org_id=org_id))
    org = _locked(org_id)
    projects = Project.objects.filter(org=org).count()
    if projects:
        raise ApiError(ErrorCode.ORG_NOT_EMPTY, org.id, str(projects))
    scope_roles_delete(here=Scope(org_id=org.id), actor=actor, now=now)
    teams_delete(org_id=org.id, actor=actor, now=now)
    _record(org, EventType.ORG_DELETED_AUDIT, actor, now, old=OrganizationDocument.stored(org))
    org.delete()


def _locked(org_id: str) -> Organization:
    org = Organization.objects.select_for_update().filter(id=org_id).first()
    return get_or_404(org, ErrorCode.ORG_NOT_FOUND, org_id)


def _record(
    org: Organization, event_type: EventType, actor: Actor, now: datetime, **sides: Mapping[str, Any]
) -> None:
    # GROUP is the nearest of the closed set of diff types: a scope of roles.
    changes = diff(DiffType.GROUP, org.id, **sides)
    event_record(event_type=event_type, actor=actor, now=now, org_id=org.id, diffs=changes)
