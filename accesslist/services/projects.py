"""Organizations and projects (decisions 3 "from first key to a project")."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F

from accesslist.hooks import group_created
from accesslist.models import ApiKey, Organization, Project, RoleGrant
from accesslist.selectors.projects import project_facts, project_rows
from events.choices import DiffType
from events.diffs import diff
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Role


@transaction.atomic
def project_create(
    *,
    name: str,
    org_id: str | None,
    tags: Sequence[str],
    owned_by_maker: bool,
    actor: Actor,
    now: datetime,
) -> Project:
    """Make a project, with an organization of its name when none is given.

    `owned_by_maker`: the acting key becomes GROUP_OWNER (it holds no global role).

    Raises:
        ApiError: GROUP_ALREADY_EXISTS.
    """
    org = org_id or organization_create(name=name, actor=actor, now=now).id
    project, created = Project.objects.get_or_create(
        name=name, defaults={"org_id": org, "tags": list(tags), "created": now}
    )
    if not created:
        raise ApiError(ErrorCode.GROUP_ALREADY_EXISTS, name)
    if owned_by_maker:
        _make_owner(project, actor)
    event_record(
        event_type=EventType.GROUP_CREATED,
        actor=actor,
        now=now,
        group_id=project.id,
        org_id=project.org_id,
        diffs=diff(DiffType.GROUP, project.id, new=project_facts(project_rows().get(id=project.id))),
    )
    group_created.send(sender=Project, project=project, actor=actor, now=now)
    return project


@transaction.atomic
def organization_create(*, name: str, actor: Actor, now: datetime) -> Organization:
    """Make an organization; names need not be unique."""
    org = Organization.objects.create(name=name, created=now)
    event_record(event_type=EventType.ORG_CREATED_AUDIT, actor=actor, now=now, org_id=org.id)
    return org


def project_hosts_counted(*, group_id: str, difference: int) -> None:
    """Hosts came or went: keep the project's count, in the caller's transaction."""
    Project.objects.filter(id=group_id).update(host_count=F("host_count") + difference)


def _make_owner(project: Project, actor: Actor) -> None:
    if actor.kind is ActorKind.KEY:
        key = ApiKey.objects.get(id=actor.id)
        RoleGrant.objects.create(role=Role.GROUP_OWNER.value, api_key=key, project=project)
