"""Invitations: their token, how long it is valid, and which roles it still gives. Pure."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from accesslist.roles.rules import administers, scope_of
from opsapi.ids import ID_LENGTH, is_id
from opsapi.roles import Grant, Role, satisfies

LASTS = timedelta(days=7)
"""How long a token is valid."""
KEPT = timedelta(days=30)
"""How long an invitation is kept after its token expired, to say why a link does not work."""
MOST_REPLACED = 10
"""How many replaced tokens of an invitation are recognized, the latest."""
_SECRET_BYTES = 32

ORG_INVITATION_ROLES = tuple(role for role in Role if role.is_org)
GROUP_INVITATION_ROLES = tuple(role for role in Role if role.is_group and role is not Role.GROUP_AGENT)
"""All roles of a project except GROUP_AGENT, which is for agents and does not allow a log-in."""


class InvitationOutcome(StrEnum):
    """How an invitation ended."""

    ACCEPTED = "ACCEPTED"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"


class LinkFault(StrEnum):
    """Why a link does not work; the values are shown to the person who opened it."""

    UNKNOWN = "This is not a valid invitation link. Make sure that you copied the whole link."
    EXPIRED = "This invitation has expired. Ask the person who invited you to send it again."
    USED = "This invitation has been used. An invitation works once."
    REVOKED = "This invitation has been revoked. Ask the person who invited you."
    REPLACED = "This invitation was sent again with a new link. Use the newest link."
    ROLES_LOST = (
        "The person who invited you can no longer give these roles. Ask for a new invitation from an owner."
    )


@dataclass(frozen=True, slots=True)
class Proof:
    """What a visitor with a link knows: the ID of the invitation and the hash of the secret."""

    invitation_id: str
    token_hash: str


@dataclass(frozen=True, slots=True)
class TokenState:
    """The stored facts that decide whether a token works."""

    token_hash: str
    replaced_hashes: Sequence[str]
    outcome: InvitationOutcome | None
    expires: datetime


def new_secret() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(_SECRET_BYTES)


def token_of(invitation_id: str, secret: str) -> str:
    """Return the token of a link: the ID, which finds the invitation, and the secret, which proves it."""
    return f"{invitation_id}{secret}"


def secret_hash(secret: str) -> str:
    """Return what is stored of a secret. It is random and long, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


def proof_of(token: str) -> Proof | None:
    """Return what the token proves; None if it cannot be a token."""
    invitation_id, secret = token[:ID_LENGTH], token[ID_LENGTH:]
    return Proof(invitation_id, secret_hash(secret)) if is_id(invitation_id) and secret else None


def link_fault(proof: Proof, state: TokenState, now: datetime) -> LinkFault | None:
    """Return why the token does not work; None if it works. Hashes are compared in constant time.

    Only a visitor with a secret of the invitation learns more than that the link is not valid.
    """
    is_current = hmac.compare_digest(proof.token_hash, state.token_hash)
    was_current = [
        hmac.compare_digest(proof.token_hash, replaced_hash) for replaced_hash in state.replaced_hashes
    ]
    if not is_current and not any(was_current):
        return LinkFault.UNKNOWN
    if state.outcome is InvitationOutcome.ACCEPTED:
        return LinkFault.USED
    if state.outcome is InvitationOutcome.REVOKED:
        return LinkFault.REVOKED
    if not is_current:
        return LinkFault.REPLACED
    if state.outcome is InvitationOutcome.EXPIRED or state.expires <= now:
        return LinkFault.EXPIRED
    return None


def still_given(
    grants: Iterable[Grant], *, by: Sequence[Grant], orgs_of_groups: Mapping[str, str]
) -> tuple[list[Grant], list[Grant]]:
    """Return the roles that the inviter can still give, and the others.

    `by`: the inviter's grants now. The inviter must administer the scope and hold the role, as for any grant.
    """
    given: list[Grant] = []
    lost: list[Grant] = []
    for grant in grants:
        is_held = satisfies(by, grant.role, scope_of(grant, orgs_of_groups))
        (given if is_held and administers(by, grant, orgs_of_groups) else lost).append(grant)
    return given, lost
