"""Users with their roles and teams, which of them a caller can see, and which receive notifications."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from accesslist.projects.models import Project
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import GROUP_WRITERS, ORG_WRITERS
from accesslist.roles.store import orgs_of_groups, roles_of
from accesslist.rows import named
from accesslist.teams.models import Team
from accesslist.users.models import User
from accesslist.users.rules import username_key
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleUsers:
    """The users that a caller sees.

    `everything`: every user, with every role and team. Otherwise users who belong to one of `orgs`, with
    their roles in these organizations themselves, in all projects of `whole` organizations, and in
    `groups`.
    `contacts`: the contact data of all users. Otherwise of users of an administered organization or
    project.
    """

    everything: bool = False
    contacts: bool = False
    orgs: Collection[str] = frozenset()
    whole: Collection[str] = frozenset()
    groups: Collection[str] = frozenset()
    administered_orgs: Collection[str] = frozenset()
    administered_groups: Collection[str] = frozenset()

    def shows(self, scope: Scope) -> bool:
        """Whether roles in the scope are visible; the scope of a project includes its organization."""
        if self.everything:
            return True
        if scope.group_id is None:
            return scope.org_id in self.orgs
        return scope.group_id in self.groups or scope.org_id in self.whole


EVERYTHING = VisibleUsers(everything=True, contacts=True)

Membership = Team.members.through


def users_seen(visible: VisibleUsers = EVERYTHING) -> QuerySet[User]:
    """Return all users, oldest first, annotated with the visible fields (`UserDocument`)."""
    teams = Membership.objects.filter(_of_team(visible), user_id=OuterRef("id"))
    is_reached, is_name = _is_reached(visible), Q(email_address=F("username"))
    return User.objects.order_by("created", "id").annotate(
        seen_email=Case(When(is_reached | is_name, then=F("email_address"))),
        seen_mobile=Case(When(is_reached, then=F("mobile_number"))),
        roles=roles_of(held_in(visible), user_id=OuterRef("id")),
        team_ids=ArraySubquery(teams.order_by("team__created", "team_id").values("team_id")),
    )


def any_user_exists() -> bool:
    """Whether any user exists."""
    return User.objects.exists()


def name_is_taken(forms: Mapping[str, str]) -> bool:
    """Whether a user has the name with these `username_forms`, or a name that looks like it."""
    return User.objects.filter(Q(*forms.items(), _connector=Q.OR)).exists()


def visible_users_of(grants: Iterable[Grant]) -> VisibleUsers:
    """Return the users that a caller with these grants sees. GROUP_AGENT does not count."""
    counted = [grant for grant in grants if grant.role is not Role.GROUP_AGENT]
    whole = {grant.org_id for grant in counted if grant.org_id}
    return VisibleUsers(
        everything=any(grant.role.is_global for grant in counted),
        contacts=satisfies(counted, Role.GLOBAL_USER_ADMIN, INSTALLATION),
        orgs=whole | set(orgs_of_groups(counted).values()),
        whole=whole,
        groups={grant.group_id for grant in counted if grant.group_id},
        administered_orgs={grant.org_id for grant in counted if grant.org_id and grant.role in ORG_WRITERS},
        administered_groups={
            grant.group_id for grant in counted if grant.group_id and grant.role in GROUP_WRITERS
        },
    )


def visible_users(visible: VisibleUsers) -> QuerySet[User]:
    """Return the visible users."""
    users = users_seen(visible)
    return users if visible.everything else users.filter(_belongs_to(visible.orgs))


def visible_users_named(name: str, visible: VisibleUsers) -> QuerySet[User]:
    """Return a queryset of the user with this name, case-insensitive, if visible."""
    return named(visible_users(visible), name=username_key(name), column="username_key")


def users_of_org(org_id: str, visible: VisibleUsers = EVERYTHING) -> QuerySet[User]:
    """Return the users of the organization."""
    return users_seen(visible).filter(_belongs_to([org_id]))


def first_users_of_org(org_id: str, most: int) -> QuerySet[User]:
    """Return at most `most` users of the organization, in the order of their names."""
    return users_of_org(org_id).order_by("username_key")[:most]


def users_of_group(group_id: str, visible: VisibleUsers) -> QuerySet[User]:
    """Return the users with a role in the project, directly or by a team."""
    direct = RoleGrant.objects.filter(project_id=group_id, user__isnull=False)
    by_team = Membership.objects.filter(team__grants__project_id=group_id)
    return users_seen(visible).filter(
        Q(id__in=direct.values("user_id")) | Q(id__in=by_team.values("user_id"))
    )


def users_of_team(team_id: str, visible: VisibleUsers) -> QuerySet[User]:
    """Return the members of the team."""
    return users_seen(visible).filter(id__in=Membership.objects.filter(team_id=team_id).values("user_id"))


def own_role_rows(user_id: str) -> QuerySet[RoleGrant]:
    """Return the user's roles and the roles of their teams, oldest first, with scope and team."""
    held = RoleGrant.objects.filter(Q(user_id=user_id) | Q(team__members=user_id))
    return held.select_related("org", "project", "team").distinct().order_by("id")


def _belongs_to(orgs: Collection[str]) -> Q:
    """Users with a role in an organization or in one of its projects, and members of its teams."""
    direct = RoleGrant.objects.filter(_in_orgs(orgs), user__isnull=False)
    by_team = Membership.objects.filter(team__org_id__in=orgs)
    return Q(id__in=direct.values("user_id")) | Q(id__in=by_team.values("user_id"))


def _in_orgs(orgs: Collection[str]) -> Q:
    return Q(org_id__in=orgs) | Q(project__org_id__in=orgs)


def held_in(visible: VisibleUsers) -> Q:
    """Return a filter of the visible grants of users, with the rule of `VisibleUsers.shows`."""
    if visible.everything:
        return Q()
    in_groups = Q(project__org_id__in=visible.whole) | Q(project_id__in=visible.groups)
    return Q(org_id__in=visible.orgs) | in_groups


def _of_team(visible: VisibleUsers) -> Q:
    """Teams of whole organizations, and teams with a role in a visible project."""
    if visible.everything:
        return Q()
    here = RoleGrant.objects.filter(project_id__in=visible.groups, team__isnull=False)
    return Q(team__org_id__in=visible.whole) | Q(team_id__in=here.values("team_id"))


def _is_reached(visible: VisibleUsers) -> Q:
    """Users whose e-mail address and telephone number are visible."""
    if visible.contacts:
        return Q(id__isnull=False)
    orgs, groups = visible.administered_orgs, visible.administered_groups
    direct = RoleGrant.objects.filter(_in_orgs(orgs) | Q(project_id__in=groups), user_id=OuterRef("id"))
    of_teams = Q(team__org_id__in=orgs) | Q(team__grants__project_id__in=groups)
    return Q(Exists(direct)) | Q(Exists(Membership.objects.filter(of_teams, user_id=OuterRef("id"))))


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
