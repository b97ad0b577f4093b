"""Invitations: created, changed, sent again, revoked, accepted.

Who creates an invitation, changes its roles or sends it again is its inviter: the invitation gives only roles
that the inviter can give, now and when somebody accepts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accesslist.changes import RecordedAct, Tracked, changing
from accesslist.invitations.models import Invitation
from accesslist.invitations.rules import (
    LASTS,
    MOST_REPLACED,
    InvitationOutcome,
    LinkFault,
    Proof,
    new_secret,
    secret_hash,
    token_of,
)
from accesslist.invitations.store import invitation_proved, invitations_in, roles_split
from accesslist.locks import REVOCATIONS_LOCK, advisory_lock, scope_lock_shared, scopes_lock_shared
from accesslist.roles.changes import (
    grants_create,
    grants_of,
    refuse_own_roles,
    role_changes_record,
    user_lock,
)
from accesslist.roles.rules import refuse_roles_not_held
from accesslist.users.changes import NewUser, invited_user_create
from accesslist.users.models import User
from accesslist.users.rules import username_key
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor, ActorKind
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.roles import Grant, Role, Scope

_LONGEST_EMAIL_KEY = 254
"""As the address itself."""


@dataclass(frozen=True, slots=True)
class IssuedInvitation:
    """An invitation with the token of its new link, which is not stored."""

    invitation: Invitation
    token: str


class LinkRefusedError(Exception):
    """The link of an invitation does not work."""

    def __init__(self, fault: LinkFault) -> None:
        super().__init__(fault.value)
        self.fault = fault


def _facts(invitation: Invitation) -> dict[str, Any]:
    """What events show of an invitation: never the token or its hash."""
    facts: dict[str, Any] = {"roles": list(invitation.roles), "expiresAt": wire_time(invitation.expires)}
    return {**facts, "username": invitation.email_address} if invitation.email_address else facts


def _open(here: Scope, invitation_id: str) -> Invitation:
    rows = invitations_in(here).select_for_update(of=["self"]).filter(id=invitation_id)
    return get_or_404(rows.first(), ErrorCode.INVITATION_NOT_FOUND, invitation_id)


INVITATION = Tracked(
    diff_type=DiffType.ROLES,
    stored=_facts,
    added=EventType.INVITED_TO_GROUP,
    changed=EventType.INVITATION_CHANGED_AUDIT,
    deleted=EventType.INVITATION_REVOKED_AUDIT,
    locks=(scope_lock_shared,),
    find=_open,
    facts=lambda invitation: EventFacts(target_username=invitation.email_address),
)


def invitation_create(
    *,
    here: Scope,
    roles: Sequence[Role],
    email_address: str | None,
    by: Sequence[Grant],
    actor: Actor,
    now: datetime,
) -> IssuedInvitation:
    """Invite somebody to a project or an organization with roles that the caller holds.

    `here`: the project or the organization. `by`: the caller's grants. Without `email_address`, anybody with
    the link can accept.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, ROLE_NOT_HELD; INVALID_EMAIL_ADDRESS, if the address is too
            long in its canonical form; INVITATION_ALREADY_EXISTS, if it has an open invitation there.
    """
    key = _email_key(email_address) if email_address else None
    with changing(INVITATION, actor, now, here=here) as change:
        secret = new_secret()
        invitation = Invitation(
            id=new_id(),
            org_id=None if here.group_id else here.org_id,
            project_id=here.group_id,
            roles=_names(roles),
            email_address=email_address,
            email_key=key,
            token_hash=secret_hash(secret),
            created=now,
            expires=now + LASTS,
            **_inviter(actor),
        )
        _refuse_not_held(invitation.grants, by)
        _insert(invitation, now)
        event_type = EventType.INVITED_TO_GROUP if here.group_id else EventType.INVITED_TO_ORG
        # Not `here`, which may name the organization of the project too.
        change.here = invitation.scope
        change.record_added(invitation, event_type=event_type)
        return IssuedInvitation(invitation, token_of(invitation.id, secret))


def invitation_change(
    *,
    invitation_id: str,
    here: Scope,
    roles: Sequence[Role],
    by: Sequence[Grant],
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the roles of an open invitation. Its link stays valid; the caller becomes its inviter.

    Raises:
        ApiError: INVITATION_NOT_FOUND, ROLE_NOT_HELD, GROUP_NOT_FOUND, ORG_NOT_FOUND.
    """
    with changing(INVITATION, actor, now, here=here, row_id=invitation_id, ends=()) as change:
        invitation = change.row
        if set(invitation.roles) == set(roles):
            return
        invitation.roles = _names(roles)
        _refuse_not_held(invitation.grants, by)
        _update(invitation, **_inviter(actor), roles=invitation.roles)


def invitation_resend(
    *, invitation_id: str, here: Scope, by: Sequence[Grant], actor: Actor, now: datetime
) -> IssuedInvitation:
    """Give an open invitation a new link, valid for another week. The caller becomes its inviter.

    A caller who gets a link could accept the invitation, so the caller needs all its roles.

    Raises:
        ApiError: INVITATION_NOT_FOUND, ROLE_NOT_HELD, GROUP_NOT_FOUND, ORG_NOT_FOUND.
    """
    with changing(INVITATION, actor, now, here=here, row_id=invitation_id, ends=()) as change:
        invitation, secret = change.row, new_secret()
        _refuse_not_held(invitation.grants, by)
        _update(
            invitation,
            **_inviter(actor),
            replaced_hashes=[*invitation.replaced_hashes, invitation.token_hash][-MOST_REPLACED:],
            token_hash=secret_hash(secret),
            expires=now + LASTS,
            mailed=None,
        )
        change.record_changed(event_type=EventType.INVITATION_RESENT_AUDIT, always=True)
        return IssuedInvitation(invitation, token_of(invitation.id, secret))


def invitation_revoke(*, invitation_id: str, here: Scope, actor: Actor, now: datetime) -> None:
    """End an open invitation; its link stops working.

    Raises:
        ApiError: INVITATION_NOT_FOUND, GROUP_NOT_FOUND, ORG_NOT_FOUND.
    """
    with changing(INVITATION, actor, now, here=here, row_id=invitation_id, ends=()) as change:
        _update(change.row, outcome=InvitationOutcome.REVOKED.value, ended=now)
        change.record_deleted()


def invitation_mailed(*, issued: IssuedInvitation, now: datetime) -> None:
    """Note that the mail server accepted the message with this link, unless another link replaced it."""
    issued.invitation.mailed = now
    sent = Invitation.objects.filter(id=issued.invitation.id, token_hash=issued.invitation.token_hash)
    sent.update(mailed=now)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The user who accepted, the roles that the user got or had already, and the roles that are not given."""

    user: User
    given: Sequence[Grant]
    lost: Sequence[Grant]


@transaction.atomic
def invitation_accept_as_new(
    *, proof: Proof, new: NewUser, remote_address: str | None, now: datetime
) -> Acceptance:
    """Create a user with the roles of the invitation. Its address, if any, is the user's e-mail address.

    Of concurrent calls with one link, exactly one succeeds.

    Raises:
        LinkRefusedError: the link does not work, or the inviter can give none of its roles any more.
        ApiError: INVALID_USERNAME, WEAK_PASSWORD, USER_ALREADY_EXISTS.
    """
    advisory_lock(REVOCATIONS_LOCK)
    invitation, given, lost = _claim(proof, now)
    new = replace(new, email_address=invitation.email_address or new.email_address)
    user, actor = invited_user_create(new=new, grants=given, remote_address=remote_address, now=now)
    _accepted(invitation, user, actor, now)
    return Acceptance(user, given, lost)


@transaction.atomic
def invitation_accept(*, proof: Proof, actor: Actor, now: datetime) -> Acceptance:
    """Give the acting user the roles of the invitation that the user does not have yet.

    Raises:
        LinkRefusedError: as `invitation_accept_as_new`.
        ApiError: CANNOT_CHANGE_OWN_ROLES, if the user is the inviter; USER_NOT_FOUND.
    """
    advisory_lock(REVOCATIONS_LOCK)
    user = user_lock((actor.id or "") if actor.kind is ActorKind.USER else "")
    invitation, given, lost = _claim(proof, now)
    if invitation.inviter_kind == ActorKind.USER and invitation.inviter_id == user.id:
        refuse_own_roles(user, actor)
    held = [grant for grant in grants_of(user) if grant.scope == invitation.scope]
    added = [grant for grant in given if grant not in held]
    grants_create(added, holder=user)
    role_changes_record(user=user, old=held, new=[*held, *added], actor=actor, now=now, was_invited=True)
    _accepted(invitation, user, actor, now)
    return Acceptance(user, given, lost)


def _claim(proof: Proof, now: datetime) -> tuple[Invitation, list[Grant], list[Grant]]:
    """Lock the invitation that is being accepted; return the roles that it gives, and the others.

    REVOCATIONS_LOCK is held, so neither the invitation nor the roles of the inviter change meanwhile.
    """
    invitation = invitation_proved(proof, now)
    if isinstance(invitation, LinkFault):
        raise LinkRefusedError(invitation)
    existing = scopes_lock_shared(
        groups=[invitation.project_id] if invitation.project_id else (),
        orgs=[invitation.org_id] if invitation.org_id else (),
    )
    if not existing.orgs_of_groups and not existing.orgs:
        raise LinkRefusedError(LinkFault.REVOKED)
    Invitation.objects.select_for_update(of=["self"]).get(id=invitation.id)
    given, lost = roles_split(invitation)
    if not given:
        raise LinkRefusedError(LinkFault.ROLES_LOST)
    return invitation, given, lost


def _accepted(invitation: Invitation, user: User, actor: Actor, now: datetime) -> None:
    _update(invitation, outcome=InvitationOutcome.ACCEPTED.value, ended=now)
    facts, accepted = EventFacts(target_username=user.username), EventType.INVITATION_ACCEPTED_AUDIT
    diffs = diff(DiffType.ROLES, invitation.id, old=_facts(invitation))
    event = NewEvent(event_type=accepted, facts=facts, diffs=diffs)
    RecordedAct(actor=actor, now=now, here=invitation.scope).record(event)


def _insert(invitation: Invitation, now: datetime) -> None:
    """Insert the row. An expired invitation of the same address ends; a valid invitation refuses it."""
    same = Invitation.objects.filter(
        outcome=None,
        org_id=invitation.org_id,
        project_id=invitation.project_id,
        email_key=invitation.email_key,
    )
    if invitation.email_key is not None:
        same.filter(expires__lte=now).update(outcome=InvitationOutcome.EXPIRED.value, ended=now)
    try:
        with transaction.atomic():
            invitation.save(force_insert=True)
    except IntegrityError:
        there = same.values_list("id", flat=True).first() or ""
        raise ApiError(ErrorCode.INVITATION_ALREADY_EXISTS, invitation.email_address or "", there) from None


def _email_key(address: str) -> str:
    """The form in which addresses are unique. A few characters become many under NFKC."""
    key = username_key(address)
    if len(key) > _LONGEST_EMAIL_KEY:
        reason = "is too long in its canonical form"
        raise ApiError.of_field("username", ErrorCode.INVALID_EMAIL_ADDRESS, reason)
    return key


def _update(invitation: Invitation, **values: Any) -> None:
    for name, value in values.items():
        setattr(invitation, name, value)
    invitation.save(update_fields=list(values))


def _refuse_not_held(grants: Sequence[Grant], by: Sequence[Grant]) -> None:
    groups = {grant.group_id for grant in grants if grant.group_id}
    orgs_of_groups = scopes_lock_shared(groups=groups).orgs_of_groups
    refuse_roles_not_held(grants, by=by, orgs_of_groups=orgs_of_groups)


def _inviter(actor: Actor) -> Mapping[str, str]:
    return {
        "inviter_kind": actor.kind.value,
        "inviter_id": actor.id or "",
        "inviter_name": actor.name or "",
    }


def _names(roles: Sequence[Role]) -> list[str]:
    return [role.value for role in dict.fromkeys(roles)]
