"""Invites somebody: creates or renews an invitation, sends its link, or hands the link to the inviter.

The link is sent after the invitation is committed, and in this request: the inviter learns whether the mail
server took it, and the token is stored nowhere. If the process dies in between, the invitation is open
without a sent message, and can be sent again.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import BoundedSemaphore

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import Error
from django.template.loader import render_to_string

from accesslist.invitations.changes import (
    IssuedInvitation,
    invitation_create,
    invitation_mailed,
    invitation_resend,
)
from accesslist.invitations.models import Invitation
from accesslist.throttles import throttle
from opsapi.api.principal import Actor
from opsapi.clock import time_words
from opsapi.outbound.mail import AUTOMATIC, mail_fault, mail_send
from opsapi.page_paths import INVITATION_PATH
from opsapi.roles import ROLE_WORDS, Grant, Role, Scope

logger = logging.getLogger(__name__)

MOST_AT_ONCE = 2
"""Messages that a process sends at the same time: a mail server that hangs must not take all its threads."""
_places = BoundedSemaphore(MOST_AT_ONCE)
_BUSY = "too many invitations are being sent at this moment"


@dataclass(frozen=True, slots=True)
class Invited:
    """An invitation with its new link. `link` is empty if the mail server accepted the message.

    `fault`: why the message could not be sent; empty if none was to be sent.
    """

    invitation: Invitation
    link: str = ""
    fault: str = ""


def invite(
    *,
    here: Scope,
    roles: Sequence[Role],
    email_address: str | None,
    by: Sequence[Grant],
    actor: Actor,
    now: datetime,
) -> IssuedInvitation:
    """Create an invitation; `hand_over` sends or returns its link.

    Raises:
        ApiError: RATE_LIMITED, after OPSAPI_RATE_INVITATIONS invitations to the scope, or by the actor, in
            a minute; and the errors of `accesslist.invitations.changes.invitation_create`.
    """
    _count(here, actor, now)
    return invitation_create(here=here, roles=roles, email_address=email_address, by=by, actor=actor, now=now)


def invite_again(
    *, invitation_id: str, here: Scope, by: Sequence[Grant], actor: Actor, now: datetime
) -> IssuedInvitation:
    """Give an invitation a new link; `hand_over` sends or returns it.

    Raises:
        ApiError: RATE_LIMITED, as `invite`; and the errors of
            `accesslist.invitations.changes.invitation_resend`.
    """
    _count(here, actor, now)
    return invitation_resend(invitation_id=invitation_id, here=here, by=by, actor=actor, now=now)


def hand_over(issued: IssuedInvitation, *, by_email: bool, base: str, now: datetime) -> Invited:
    """Send the link, or return it if no message is to be sent or the mail server does not take it.

    It waits for the mail server, at most 20 s: call it after the invitation is committed. `base`: the URL of
    the platform, for the link.
    """
    link = f"{base}{INVITATION_PATH}#{issued.token}"
    if not by_email or not issued.invitation.email_address:
        return Invited(issued.invitation, link)
    fault = _send(issued.invitation, link, base)
    if fault:
        return Invited(issued.invitation, link, fault)
    try:
        invitation_mailed(issued=issued, now=now)
    except Error as error:  # The message is sent: an error would hide this, and a repeat would send another.
        fault = type(error).__name__
        logger.warning("invitation %s was sent, which is not stored: %s", issued.invitation.id, fault)
    return Invited(issued.invitation)


def _count(here: Scope, actor: Actor, now: datetime) -> None:
    """Also by the inviter, because some inviters can create any number of scopes."""
    limit = settings.OPSAPI_RATE_INVITATIONS
    throttle(f"invitations {here.group_id or here.org_id}", limit, now)
    throttle(f"invitations by {actor.kind} {actor.id}", limit, now)


def _send(invitation: Invitation, link: str, base: str) -> str:
    """Send the message. Returns why the mail server did not take it, or an empty text."""
    if not _places.acquire(blocking=False):
        return _BUSY
    try:
        mail_send(_message(invitation, link, base))
    except (OSError, ValueError) as error:  # MailError is an OSError.
        fault = mail_fault(error)
        # The text of the server may quote the address or the message, so it is not logged.
        logger.warning("an invitation was not sent: %s: %s", type(error).__name__, fault)
        return fault
    finally:
        _places.release()
    return ""


def _message(invitation: Invitation, link: str, base: str) -> EmailMessage:
    roles = [ROLE_WORDS[Role(name)] for name in invitation.roles]
    context = {
        "place": invitation.place,
        "inviter": invitation.inviter_name,
        "roles": roles,
        "link": link,
        "base": base,
        "until": time_words(invitation.expires),
    }
    return EmailMessage(
        subject=f"Invitation to {invitation.project or invitation.org}",
        body=render_to_string("console/invitation_email.txt", context),
        to=[invitation.email_address or ""],
        headers=dict(AUTOMATIC),
    )
