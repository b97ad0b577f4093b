"""Organizations and projects: created, changed, deleted."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from accesslist.changes import Tracked, acting, changing
from accesslist.hooks import group_created, group_deleting, group_retagging
from accesslist.invitations.models import Invitation
from accesslist.invitations.rules import InvitationOutcome
from accesslist.keys.changes import api_key_roles_revoked, key_changes_record
from accesslist.keys.models import ApiKey
from accesslist.locks import scope_lock_shared
from accesslist.projects.models import Organization, Project
from accesslist.projects.resource import OrganizationDocument, ProjectDocument
from accesslist.retention import retention_choose
from accesslist.roles.changes import (
    grants_create,
    grants_of,
    keys_revoke,
    members_of,
    role_changes_record,
    users_revoke,
)
from accesslist.roles.models import RoleGrant
from accesslist.teams.changes import teams_delete
from accesslist.users.changes import NewUser, first_user_create
from accesslist.users.models import User
from events.choices import DiffType
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import Grant, Role, Scope


def _org_locked(_: Scope, org_id: str) -> Organization:
    org = Organization.objects.select_for_update().filter(id=org_id).first()
    return get_or_404(org, ErrorCode.ORG_NOT_FOUND, org_id)


def _project(projects: QuerySet[Project], group_id: str) -> Project:
    return get_or_404(projects.filter(id=group_id).first(), ErrorCode.GROUP_NOT_FOUND, group_id)


ORGANIZATION = Tracked(
    # The closest diff type.
    diff_type=DiffType.GROUP,
    stored=OrganizationDocument.stored,
    added=EventType.ORG_CREATED_AUDIT,
    changed=EventType.ORG_RENAMED,
    deleted=EventType.ORG_DELETED_AUDIT,
    find=_org_locked,
)
PROJECT = Tracked(
    diff_type=DiffType.GROUP,
    stored=ProjectDocument.stored,
    added=EventType.GROUP_CREATED,
    changed=EventType.GROUP_CHANGED_AUDIT,
    deleted=EventType.GROUP_DELETED_AUDIT,
    adding=(scope_lock_shared,),
    # The weaker lock does not block reports.
    find=lambda _, group_id: _project(Project.objects.select_for_update(no_key=True), group_id),
)


def organization_create(*, values: Mapping[str, Any], actor: Actor, now: datetime) -> Organization:
    """Create an organization from a checked document; names need not be unique."""
    with changing(ORGANIZATION, actor, now) as change:
        org = Organization.objects.create(**values, created=now)
        change.here = Scope(org_id=org.id)
        return change.record_added(org)


def organization_update(*, org_id: str, changes: Mapping[str, Any], actor: Actor, now: datetime) -> None:
    """Change the columns in `changes`; without a change, no event is recorded.

    Raises:
        ApiError: ORG_NOT_FOUND, when it was deleted in the meantime.
    """
    with changing(ORGANIZATION, actor, now, here=Scope(org_id=org_id), row_id=org_id):
        Organization.objects.filter(id=org_id).update(**changes)


def organization_delete(*, org_id: str, actor: Actor, now: datetime) -> None:
    """Delete an empty organization, with the roles held in it and its teams.

    Raises:
        ApiError: ORG_NOT_EMPTY, or ORG_NOT_FOUND when it was deleted in the meantime.
    """
    here = Scope(org_id=org_id)
    with acting(actor, now, here=here, locks=(_key_rows_lock,), ends=_key_ids(here)) as act:
        org = _org_locked(here, org_id)
        change = act.change(ORGANIZATION, org)
        projects = Project.objects.filter(org=org).count()
        if projects:
            raise ApiError(ErrorCode.ORG_NOT_EMPTY, org.id, str(projects))
        scope_roles_delete(here=here, actor=actor, now=now)
        teams_delete(org_id=org.id, actor=actor, now=now)
        change.record_deleted()
        org.delete()


def project_create(
    *, values: Mapping[str, Any], owned_by_creator: bool, actor: Actor, now: datetime
) -> Project:
    """Create a project from a checked document; without an organization, create one with the same name.

    `owned_by_creator`: the acting key or user becomes GROUP_OWNER, for actors without a global role.

    Raises:
        ApiError: GROUP_ALREADY_EXISTS; ORG_NOT_FOUND, API_KEY_NOT_FOUND, USER_NOT_FOUND, if they were
            deleted in the meantime.
    """
    name, org_id = values["name"], values.get("org_id")
    with changing(PROJECT, actor, now, here=Scope(org_id=org_id)) as change:
        creator = _creator(actor) if owned_by_creator else None
        if not org_id:
            org_id = organization_create(values={"name": name}, actor=actor, now=now).id
        with _named_once(name):
            project = Project.objects.create(**{**values, "org_id": org_id}, created=now)
        change.here = Scope(org_id, project.id)
        change.record_added(project)
        if creator:
            _give_to(creator, project, actor, now)
        group_created.send(sender=Project, project=project, actor=actor, now=now)
        return project


def project_update(*, group_id: str, changes: Mapping[str, Any], actor: Actor, now: datetime) -> None:
    """Change `name` or `tags`; without a change, no event is recorded.

    Raises:
        ApiError: GROUP_ALREADY_EXISTS, or GROUP_NOT_FOUND when it was deleted in the meantime.
    """
    here = Scope(group_id=group_id)
    with acting(actor, now, here=here, locks=()) as act:
        if "tags" in changes:
            # Before the project is locked, as in deletion: transactions that wait for the project hold locks
            # that the signal handlers need.
            project, tags = _project(Project.objects.all(), group_id), changes["tags"]
            group_retagging.send(sender=Project, project=project, tags=tags, actor=actor, now=now)
        project = PROJECT.find(here, group_id)
        wanted = {name: value for name, value in changes.items() if getattr(project, name) != value}
        if not wanted:
            return
        change = act.change(PROJECT, project)
        with _named_once(wanted.get("name", project.name)):
            Project.objects.filter(id=project.id).update(**wanted)
        change.record_changed()


def project_delete(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Delete a project at once; the worker deletes its contents later.

    Raises:
        ApiError: GROUP_NOT_FOUND, when it was deleted in the meantime.
    """
    here = Scope(group_id=group_id)
    with acting(actor, now, here=here, locks=(_key_rows_lock,), ends=_key_ids(here)) as act:
        # Before the project is locked: transactions that wait for it hold locks that the handlers need.
        project = _project(Project.objects.all(), group_id)
        group_deleting.send(sender=Project, project=project, actor=actor, now=now)
        project = _project(Project.objects.select_for_update(), group_id)
        act.here = Scope(project.org_id, project.id)
        act.change(PROJECT, project).record_deleted()
        scope_roles_delete(here=here, actor=actor, now=now)
        Invitation.objects.filter(project=project, outcome=None).update(
            outcome=InvitationOutcome.REVOKED, ended=now
        )
        project.deleted, project.org = now, None
        project.save(update_fields=["deleted", "org"])


@transaction.atomic
def project_purge(*, project: Project, now: datetime) -> None:
    """Delete the row of a deleted project after all its contents."""
    # A role that was granted at the moment of the deletion may be left.
    scope_roles_delete(here=Scope(group_id=project.id), actor=SYSTEM, now=now)
    project.delete()


def project_hosts_counted(*, group_id: str, difference: int) -> None:
    """Add `difference` to the project's number of hosts, in the caller's transaction.

    Raises:
        ApiError: LIMIT_REACHED, if hosts were added and the number exceeds OPSAPI_MAX_HOSTS.
    """
    most = settings.OPSAPI_MAX_HOSTS
    projects = Project.objects.filter(id=group_id)
    if difference > 0:
        projects = projects.filter(host_count__lte=most - difference)
    if not projects.update(host_count=F("host_count") + difference) and difference > 0:
        raise ApiError(ErrorCode.LIMIT_REACHED, "hosts", str(most), note="The setting is OPSAPI_MAX_HOSTS.")


@contextmanager
def _named_once(name: str) -> Iterator[None]:
    """Refuse the write in the block if another project has the name, the only unique value of a project."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise ApiError(ErrorCode.GROUP_ALREADY_EXISTS, name) from None


def _creator(actor: Actor) -> ApiKey | User:
    """The acting key or user."""
    if actor.kind is ActorKind.USER:
        user = User.objects.filter(id=actor.id).first()
        return get_or_404(user, ErrorCode.USER_NOT_FOUND, actor.id or "")
    key = ApiKey.objects.filter(id=actor.id).first()
    return get_or_404(key, ErrorCode.API_KEY_NOT_FOUND, actor.id or "")


def _give_to(creator: ApiKey | User, project: Project, actor: Actor, now: datetime) -> None:
    owner = Grant(Role.GROUP_OWNER, group_id=project.id)
    grants_create([owner], holder=creator)
    if isinstance(creator, User):
        role_changes_record(user=creator, old=(), new=[owner], actor=actor, now=now)
    else:
        key_changes_record(creator, before=(), after=[owner], actor=actor, now=now)


def _key_ids(here: Scope) -> QuerySet[ApiKey, str]:
    """The keys with roles in the scope, which may be writing to it."""
    return _keys(here).values_list("id", flat=True)


def _key_rows_lock(here: Scope) -> None:
    list(_keys(here).select_for_update().values_list("id"))


def scope_roles_delete(*, here: Scope, actor: Actor, now: datetime) -> None:
    """Revoke every role in the scope; keys without other roles are deleted, users and teams stay.

    Call it in a transaction.
    """
    before = {key: grants_of(key) for key in _keys(here)}
    rows = RoleGrant.objects.filter(_held(here))
    teams = rows.filter(team__isnull=False).values_list("team_id", flat=True)
    users = {*rows.filter(user__isnull=False).values_list("user_id", flat=True), *members_of(*teams)}
    rows.delete()
    keys_revoke(ids=[key.id for key in before], actor=actor)
    users_revoke(ids=users, actor=actor, now=now)
    for key, grants in before.items():
        api_key_roles_revoked(key=key, before=grants, actor=actor, now=now)


def _keys(here: Scope) -> QuerySet[ApiKey]:
    holders = RoleGrant.objects.filter(_held(here)).values("api_key_id")
    return ApiKey.objects.filter(id__in=holders).order_by("id")


def _held(here: Scope) -> Q:
    """Roles in the project; without a project, roles in the organization itself."""
    return Q(project_id=here.group_id) if here.group_id else Q(org_id=here.org_id)


@transaction.atomic
def installation_set_up(
    *,
    new: NewUser,
    project: Mapping[str, Any],
    kept_days: int | None = None,
    remote_address: str | None,
    now: datetime,
) -> User | None:
    """Create the first user and the first project, both or none; None if a user exists.

    `kept_days`: the number of days to keep events and ended alerts; 0 keeps them forever. With None, no
    choice is stored, and they are kept forever.

    A user without a project could not log in to continue. The user becomes GROUP_OWNER: the members of a
    project are notified, and a global role does not make a member. JOINED_GROUP notifies nobody, because the
    only member has just filled in the form.

    Raises:
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, GROUP_ALREADY_EXISTS.
    """
    first = first_user_create(new=new, remote_address=remote_address, now=now)
    if first is None:
        return None
    user, actor = first
    created = project_create(values=project, owned_by_creator=False, actor=actor, now=now)
    owner = [Grant(Role.GROUP_OWNER, group_id=created.id)]
    grants_create(owner, holder=user)
    role_changes_record(user=user, old=(), new=owner, actor=actor, now=now, was_invited=True, signals=False)
    if kept_days is not None:
        retention_choose(event_days=kept_days, alert_days=kept_days, actor=actor, now=now)
    return user
