"""Recipients of notifications: holders of a role, a user, or the members of a team.

Only users with a role, or with a team that has a role, are notified.
"""

from collections.abc import Collection
from typing import Any

from django.db.models import Q, QuerySet

from accesslist.models import Project, RoleGrant, Team, User
from accesslist.rules.usernames import username_key
from accesslist.selectors.users import Membership, users_of_org
from opsapi.roles import Role

RecipientRow = dict[str, Any]
Recipients = QuerySet[User, Any]


def administrators() -> Recipients:
    """Return the users with any global role."""
    return _holders(RoleGrant.objects.filter(org=None, project=None))


def project_recipients(group_id: str, roles: Collection[str] = ()) -> Recipients:
    """Return the users with any of these roles in the project, directly or by a team.

    Without `roles`, any role counts. GROUP_OWNER includes the owners of the organization. Global roles do
    not count.
    """
    held = RoleGrant.objects.filter(_named(roles), project_id=group_id)
    if Role.GROUP_OWNER in roles:
        org = Project.objects.filter(id=group_id).values("org_id")
        held = held | RoleGrant.objects.filter(role=Role.ORG_OWNER.value, org_id__in=org)
    return _holders(held)


def org_recipients(group_id: str, roles: Collection[str] = ()) -> Recipients:
    """Return the users with any of these roles in the project's organization; without `roles`, any role."""
    return _holders(RoleGrant.objects.filter(_named(roles), org_id__in=_org_of(group_id)))


def org_role_recipients(org_id: str, roles: Collection[str] = ()) -> Recipients:
    """As `org_recipients`, by the ID of the organization."""
    return _holders(RoleGrant.objects.filter(_named(roles), org_id=org_id))


def user_recipient(username: str, *, group_id: str | None) -> Recipients:
    """Return the user with this name; with `group_id`, only a user of the project's organization."""
    named = _rows(User.objects.filter(_can_be_notified(), username_key=username_key(username)))
    if group_id is None:
        return named
    org_id = _org_of(group_id).first()
    return named.filter(id__in=users_of_org(org_id["org_id"]).values("id")) if org_id else named.none()


def team_recipients(team_id: str, *, group_id: str | None) -> Recipients:
    """Return the members of the team; with `group_id`, only of a team of the project's organization."""
    teams = Team.objects.filter(id=team_id)
    if group_id is not None:
        teams = teams.filter(org_id__in=_org_of(group_id))
    members = Membership.objects.filter(team_id__in=teams.values("id"))
    return _rows(User.objects.filter(_can_be_notified(), id__in=members.values("user_id")))


def _holders(grants: QuerySet[RoleGrant]) -> Recipients:
    teams = Membership.objects.filter(team_id__in=grants.filter(team__isnull=False).values("team_id"))
    direct = grants.filter(user__isnull=False)
    return _rows(User.objects.filter(Q(id__in=direct.values("user_id")) | Q(id__in=teams.values("user_id"))))


def _rows(users: QuerySet[User]) -> Recipients:
    return users.order_by("id").values("email_address", "mobile_number")


def _named(roles: Collection[str]) -> Q:
    return Q(role__in=list(roles)) if roles else Q()


def _org_of(group_id: str) -> QuerySet[Project, Any]:
    return Project.objects.filter(id=group_id).values("org_id")


def _can_be_notified() -> Q:
    by_team = Membership.objects.filter(team__grants__isnull=False)
    return Q(id__in=RoleGrant.objects.filter(user__isnull=False).values("user_id")) | Q(
        id__in=by_team.values("user_id")
    )
