"""Users with their roles, teams and second factors, and which of them a caller can see."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Coalesce

from accesslist.models import Project, RoleGrant, SecondFactor, Team, User
from accesslist.rules.administration import GROUP_WRITERS, ORG_WRITERS
from accesslist.rules.second_factor import setup_uri
from accesslist.rules.usernames import username_key
from accesslist.selectors.keys import roles_of
from accesslist.selectors.organizations import named
from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import Among
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


def orgs_of_groups(grants: Iterable[Grant]) -> dict[str, str]:
    """Return the organization of each project in the grants, without deleted projects."""
    groups = {grant.group_id for grant in grants if grant.group_id}
    if not groups:
        return {}
    rows = Project.objects.filter(id__in=groups).values_list("id", "org_id")
    return {group_id: org_id for group_id, org_id in rows if org_id}


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


@dataclass(frozen=True, slots=True)
class Setup:
    """A second factor that waits for its first code: the secret as text, and the URI for authenticators."""

    secret: str
    uri: str


@dataclass(frozen=True, slots=True)
class FactorState:
    """The state of a user's second factor: when it was confirmed, and the number of unused recovery codes."""

    confirmed: datetime | None = None
    recovery_codes_left: int = 0
    setup: Setup | None = None


def has_second_factor(user_id: str) -> bool:
    """Whether the user must enter a code. A second factor without its first code does not count."""
    return SecondFactor.objects.filter(user_id=user_id, confirmed__isnull=False).exists()


def groups_without_second_factor(group_ids: Collection[str]) -> set[str]:
    """Return the projects in which a user with a role, directly or by a team, has no second factor."""
    return set(_lacking().filter(Among("project_id", group_ids)).values_list("project_id", flat=True))


def orgs_without_second_factor(org_ids: Collection[str]) -> set[str]:
    """Return the organizations in which, or in a project of which, a user has no second factor."""
    lacking = _lacking().annotate(within=Coalesce("org_id", "project__org_id"))
    return set(lacking.filter(Among("within", org_ids)).values_list("within", flat=True))


def _lacking() -> QuerySet[RoleGrant]:
    """The roles of users without a second factor."""
    confirmed = SecondFactor.objects.filter(user=OuterRef("pk"), confirmed__isnull=False)
    users = User.objects.filter(~Exists(confirmed))
    return RoleGrant.objects.filter(Q(user__in=users) | Q(team__members__in=users)).distinct()


def factor_state(user_id: str) -> FactorState:
    """Return the state of the user's second factor. It contains the secret only before the first code."""
    factor = SecondFactor.objects.select_related("user").filter(user_id=user_id).first()
    if factor is None:
        return FactorState()
    if factor.confirmed is None:
        return FactorState(setup=_setup(factor))
    return FactorState(factor.confirmed, len(factor.recovery_hashes))


def secret_of(factor: SecondFactor) -> str:
    """Return the decrypted secret.

    Raises:
        CannotDecryptError: the key that encrypted the secret is no longer configured.
    """
    return decrypt(str(factor.secret), owner=factor.id)


def _setup(factor: SecondFactor) -> Setup | None:
    """None if the secret can no longer be decrypted: the user must start the setup again."""
    try:
        secret = secret_of(factor)
    except CannotDecryptError:
        return None
    return Setup(secret, setup_uri(secret, factor.user.username))
