"""Invitations, with their tokens."""

from collections.abc import Sequence
from datetime import datetime

from accesslist.invitations.changes import IssuedInvitation, invitation_create
from accesslist.models import Project, User
from accesslist.principal import UserPrincipal
from opsapi import clock
from opsapi.roles import Role, Scope


def issue(
    by: User,
    project: Project,
    *roles: Role,
    to: str | None = None,
    in_org: bool = False,
    now: datetime | None = None,
) -> IssuedInvitation:
    """An invitation by the user to the project, or to its organization; by default as operator or member."""
    principal = UserPrincipal(by, "192.0.2.7")
    here = Scope(org_id=project.org_id) if in_org else Scope(org_id=project.org_id, group_id=project.id)
    usual: Sequence[Role] = [Role.ORG_MEMBER if in_org else Role.GROUP_MONITORING_ADMIN]
    return invitation_create(
        here=here,
        roles=roles or usual,
        email_address=to,
        by=principal.grants,
        actor=principal.actor(),
        now=now or clock.now(),
    )
