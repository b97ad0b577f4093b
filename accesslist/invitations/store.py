"""Open invitations, and the scopes to which a caller may invite."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from accesslist.invitations.models import Invitation
from accesslist.invitations.rules import (
    GROUP_INVITATION_ROLES,
    ORG_INVITATION_ROLES,
    InvitationOutcome,
    LinkFault,
    Proof,
    TokenState,
    link_fault,
    still_given,
)
from accesslist.keys.models import ApiKey
from accesslist.projects.models import Organization, Project
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import GROUP_WRITERS, ORG_WRITERS
from accesslist.roles.store import orgs_of_groups
from accesslist.users.models import User
from opsapi.api.principal import ActorKind
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies

MOST_PLACES = 200
"""How many projects, and how many organizations, a list of places shows."""


def open_invitations() -> QuerySet[Invitation]:
    """Return the invitations that can be accepted or sent again, oldest first."""
    rows = Invitation.objects.filter(outcome=None, project__deleted=None)
    return rows.select_related("org", "project").order_by("created", "id")


def invitations_in(here: Scope) -> QuerySet[Invitation]:
    """Return the open invitations to the project or the organization itself, oldest first."""
    return open_invitations().filter(org_id=None if here.group_id else here.org_id, project_id=here.group_id)


def invitations_managed(by: Sequence[Grant]) -> QuerySet[Invitation]:
    """Return the open invitations of the scopes to which a caller with these grants may invite."""
    rows = open_invitations()
    if _is_everywhere(by):
        return rows
    return rows.filter(Q(org__in=_orgs(by)) | Q(project__in=_projects(by)))


@dataclass(frozen=True, slots=True)
class Places:
    """The first organizations and projects to which a caller may invite; `is_cut` if there are more."""

    orgs: Sequence[Organization]
    projects: Sequence[Project]
    is_cut: bool


def places_to_invite(by: Sequence[Grant]) -> Places:
    """Return the scopes to which a caller with these grants may invite, by name."""
    orgs, projects = Organization.objects.all(), Project.objects.all()
    if not _is_everywhere(by):
        orgs, projects = _orgs(by), _projects(by)
    shown_orgs = list(orgs.order_by("name", "id")[: MOST_PLACES + 1])
    shown_projects = list(projects.order_by("name", "id")[: MOST_PLACES + 1])
    is_cut = len(shown_orgs) > MOST_PLACES or len(shown_projects) > MOST_PLACES
    return Places(shown_orgs[:MOST_PLACES], shown_projects[:MOST_PLACES], is_cut)


def roles_to_give(here: Scope, by: Sequence[Grant]) -> list[Role]:
    """Return the roles that a caller with these grants can give in an invitation to this scope."""
    roles = GROUP_INVITATION_ROLES if here.group_id else ORG_INVITATION_ROLES
    grants = [Grant(role, None if here.group_id else here.org_id, here.group_id) for role in roles]
    given, _ = still_given(grants, by=by, orgs_of_groups=orgs_of_groups(grants))
    return [grant.role for grant in given]


def invitation_proved(proof: Proof, now: datetime) -> Invitation | LinkFault:
    """Return the invitation of a link, or why the link does not work."""
    rows = Invitation.objects.select_related("org", "project").filter(id=proof.invitation_id)
    invitation = rows.first()
    if invitation is None:
        return LinkFault.UNKNOWN
    return link_fault(proof, token_state(invitation), now) or invitation


def token_state(invitation: Invitation) -> TokenState:
    """Return the facts that decide whether a token of the invitation works."""
    return TokenState(
        invitation.token_hash,
        invitation.replaced_hashes,
        InvitationOutcome(invitation.outcome) if invitation.outcome else None,
        invitation.expires,
    )


def inviter_grants(invitation: Invitation) -> tuple[Grant, ...]:
    """Return the present roles of the inviter; none if the user or the key was deleted."""
    if invitation.inviter_kind == ActorKind.USER:
        user = User.objects.filter(id=invitation.inviter_id).first()
        return user.grants_held if user else ()
    if ApiKey.objects.filter(id=invitation.inviter_id).exists():
        rows = RoleGrant.objects.filter(api_key_id=invitation.inviter_id)
        return tuple(row.grant for row in rows)
    return ()


def roles_split(invitation: Invitation) -> tuple[list[Grant], list[Grant]]:
    """Return the roles that the inviter can still give, and the others."""
    grants = invitation.grants
    return still_given(grants, by=inviter_grants(invitation), orgs_of_groups=orgs_of_groups(grants))


def _is_everywhere(by: Sequence[Grant]) -> bool:
    return satisfies(by, Role.GLOBAL_USER_ADMIN, INSTALLATION)


def _orgs(by: Sequence[Grant]) -> QuerySet[Organization]:
    owned = {grant.org_id for grant in by if grant.org_id and grant.role in ORG_WRITERS}
    return Organization.objects.filter(id__in=owned)


def _projects(by: Sequence[Grant]) -> QuerySet[Project]:
    direct = {grant.group_id for grant in by if grant.group_id and grant.role in GROUP_WRITERS}
    return Project.objects.filter(Q(id__in=direct) | Q(org__in=_orgs(by)))
