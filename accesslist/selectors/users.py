"""Users with their roles and teams, and which of them a caller can see (decisions 2, row "/users")."""

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, QuerySet

from accesslist.models import Project, RoleGrant, Team, User, username_key
from accesslist.selectors.keys import present_roles, roles_of
from accesslist.selectors.names import first_named
from opsapi.roles import Grant, Role

UserRow = dict[str, Any]
Orgs = Collection[str] | None
"""Organizations; None stands for all of them."""

Membership = Team.members.through


def user_rows(orgs: Orgs = None) -> QuerySet[User, Any]:
    """Users in the order they were made, with their roles and teams in these organizations."""
    teams = Membership.objects.filter(_of_team(orgs), user_id=OuterRef("id"))
    return User.objects.order_by("created", "id").values(
        "id",
        "username",
        "first_name",
        "last_name",
        "email_address",
        "mobile_number",
        "self_registered",
        roles=roles_of(_held_in(orgs), user_id=OuterRef("id")),
        team_ids=ArraySubquery(teams.order_by("team__created", "team_id").values("team_id")),
    )


def any_user_exists() -> bool:
    """Whether the first user was made."""
    return User.objects.exists()


def organizations_of(grants: Iterable[Grant]) -> Orgs:
    """The organizations in which, or in a project of which, one of the grants is held.

    GROUP_AGENT allows nothing else, so it does not count; a global role sees all of them.
    """
    counted = [grant for grant in grants if grant.role is not Role.GROUP_AGENT]
    if any(grant.role.is_global for grant in counted):
        return None
    return {grant.org_id for grant in counted if grant.org_id} | set(orgs_of_groups(counted).values())


def orgs_of_groups(grants: Iterable[Grant]) -> dict[str, str]:
    """The organization of each project in which one of the grants is held; not of deleted ones."""
    groups = {grant.group_id for grant in grants if grant.group_id}
    if not groups:
        return {}
    rows = Project.objects.filter(id__in=groups).values_list("id", "org_id")
    return {group_id: org_id for group_id, org_id in rows if org_id}


def visible_user_rows(orgs: Orgs) -> QuerySet[User, Any]:
    """Those who belong to one of these organizations."""
    return user_rows() if orgs is None else user_rows(orgs).filter(_belongs_to(orgs))


def visible_user_named(name: str, orgs: Orgs) -> UserRow | None:
    """The one of that name, in whatever case it was typed; None when there is none to be seen."""
    return first_named(visible_user_rows(orgs), name=username_key(name), column="username_key")


def org_user_rows(org_id: str, orgs: Orgs) -> QuerySet[User, Any]:
    """Those who belong to the organization, with what is theirs in `orgs`."""
    return user_rows(orgs).filter(_belongs_to([org_id]))


def group_user_rows(group_id: str, orgs: Orgs) -> QuerySet[User, Any]:
    """Those with a role in the project, directly or by a team, with what is theirs in `orgs`."""
    direct = RoleGrant.objects.filter(project_id=group_id, user__isnull=False)
    by_team = Membership.objects.filter(team__grants__project_id=group_id)
    return user_rows(orgs).filter(Q(id__in=direct.values("user_id")) | Q(id__in=by_team.values("user_id")))


def team_user_rows(team_id: str, orgs: Orgs) -> QuerySet[User, Any]:
    """The team's members, with what is theirs in `orgs`."""
    return user_rows(orgs).filter(id__in=Membership.objects.filter(team_id=team_id).values("user_id"))


def user_facts(row: UserRow) -> dict[str, Any]:
    """A user without teams and links: what a diff compares."""
    shown = {
        "id": row["id"],
        "username": row["username"],
        "firstName": row["first_name"],
        "lastName": row["last_name"],
        "emailAddress": row["email_address"],
        "mobileNumber": row["mobile_number"],
        "roles": present_roles(row["roles"]),
    }
    return {name: value for name, value in shown.items() if value is not None}


def _belongs_to(orgs: Collection[str]) -> Q:
    """Holds a role in one of them or in one of their projects, or is in one of their teams."""
    direct = RoleGrant.objects.filter(_held_in(orgs), user__isnull=False)
    by_team = Membership.objects.filter(_of_team(orgs))
    return Q(id__in=direct.values("user_id")) | Q(id__in=by_team.values("user_id"))


def _held_in(orgs: Orgs) -> Q:
    return Q() if orgs is None else Q(org_id__in=orgs) | Q(project__org_id__in=orgs)


def _of_team(orgs: Orgs) -> Q:
    return Q() if orgs is None else Q(team__org_id__in=orgs)
