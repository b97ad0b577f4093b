"""Invitations to a project or an organization."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.access import INVITE_TO_ORG, INVITE_TO_PROJECT
from accesslist.invitations.changes import IssuedInvitation, invitation_change, invitation_revoke
from accesslist.invitations.inviting import hand_over, invite, invite_again
from accesslist.invitations.resource import (
    GroupInvitationChange,
    GroupInvitationDocument,
    GroupInvitationInput,
    InvitationDocument,
    IssuedGroupInvitation,
    IssuedOrgInvitation,
    OrgInvitationChange,
    OrgInvitationDocument,
    OrgInvitationInput,
)
from accesslist.invitations.store import invitations_in
from accesslist.rows import with_id
from accesslist.views import PlaceViewSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import Access
from opsapi.api.query import LISTING
from opsapi.api.resources import Facts
from opsapi.clock import wire_time
from opsapi.roles import Role

_PARAMETERS = ("group_invitation_id", "org_invitation_id")
_GIVING = (ErrorCode.ROLE_NOT_HELD, ErrorCode.RATE_LIMITED)


def _access(access: Access) -> Mapping[str, Access]:
    """Only inviters read invitations, because they contain e-mail addresses."""
    return dict.fromkeys(("index", "create", "retrieve", "update", "destroy", "resend"), access)


class InvitationViewSet(PlaceViewSet):
    """Base of the two views."""

    document: ClassVar[type[InvitationDocument]]

    parameters = {"index": LISTING}
    statuses = {"create": 201, "destroy": 204}
    refusals = {
        "create": (*_GIVING, ErrorCode.INVITATION_ALREADY_EXISTS),
        "update": (ErrorCode.ROLE_NOT_HELD,),
        "resend": _GIVING,
    }
    identifiers = dict.fromkeys(_PARAMETERS, ErrorCode.INVALID_INVITATION_ID)

    invitation: Facts

    def load(self) -> None:
        """The invitation of the path."""
        if self._id:
            self.invitation = self._stored(self._id)

    def index(self, request: Request, **_: str) -> Response:
        """List the open invitations, also expired ones, which can be sent again."""
        return self.list_of(self.document, invitations_in(self.here))

    def create(self, request: Request, **_: str) -> Response:
        """Invite somebody, with roles that the caller has.

        The answer contains the link if no message was to be sent, or could not be sent.
        """
        body = self.body()
        address = body.get("email_address")
        issued = invite(
            here=self.here,
            roles=[Role(name) for name in body["roles"]],
            email_address=address,
            by=self.caller.grants,
            actor=self.actor,
            now=self.now,
        )
        return self._issued(issued, by_email=body.get("send_email", address is not None))

    def retrieve(self, request: Request, **_: str) -> Response:
        """Get an open invitation."""
        return self.alone(self.document, self.invitation)

    def update(self, request: Request, **_: str) -> Response:
        """Change the roles. The link stays valid, and the caller becomes the inviter."""
        body = self.body(stored=self.invitation)
        if "roles" in body:
            invitation_change(
                invitation_id=self._id,
                here=self.here,
                roles=[Role(name) for name in body["roles"]],
                by=self.caller.grants,
                actor=self.actor,
                now=self.now,
            )
        return self.alone(self.document, self._stored(self._id))

    def destroy(self, request: Request, **_: str) -> Response:
        """Revoke an invitation: its link stops working."""
        invitation_revoke(invitation_id=self._id, here=self.here, actor=self.actor, now=self.now)
        return Response()

    def resend(self, request: Request, **_: str) -> Response:
        """Replace the link by a new link, valid for a week, and send it to the address, if there is one.

        The caller becomes the inviter. The answer contains the link if no message was sent.
        """
        issued = invite_again(
            invitation_id=self._id,
            here=self.here,
            by=self.caller.grants,
            actor=self.actor,
            now=self.now,
        )
        return self._issued(issued, by_email=True)

    def _issued(self, issued: IssuedInvitation, *, by_email: bool) -> Response:
        # Read before the message is sent: whatever happens afterwards must not hide the result.
        stored = self._stored(issued.invitation.id)
        invited = hand_over(issued, by_email=by_email, base=self.links.base, now=self.now)
        mailed = invited.invitation.mailed
        delivery: dict[str, Any] = {
            "emailSentAt": wire_time(mailed) if mailed else "",
            "link": invited.link,
            "emailError": invited.fault,
        }
        extra = {name: value for name, value in delivery.items() if value}
        return self.alone(self.document, {**stored, **extra})

    @property
    def _id(self) -> str:
        """The ID in the path; empty if there is none."""
        return next((self.kwargs[name] for name in _PARAMETERS if name in self.kwargs), "")

    def _stored(self, invitation_id: str) -> Facts:
        rows = with_id(invitations_in(self.here), invitation_id)
        return self.document.found(rows, ErrorCode.INVITATION_NOT_FOUND, invitation_id)


class OrgInvitationViewSet(InvitationViewSet):
    """`/orgs/{id}/invites`."""

    document = OrgInvitationDocument
    access = _access(INVITE_TO_ORG)
    bodies = {"create": OrgInvitationInput, "update": OrgInvitationChange}
    answers = {
        "index": [OrgInvitationDocument],
        "retrieve": OrgInvitationDocument,
        "update": OrgInvitationDocument,
        "create": IssuedOrgInvitation,
        "resend": IssuedOrgInvitation,
    }


class GroupInvitationViewSet(InvitationViewSet):
    """`/groups/{id}/invites`."""

    document = GroupInvitationDocument
    access = _access(INVITE_TO_PROJECT)
    bodies = {"create": GroupInvitationInput, "update": GroupInvitationChange}
    answers = {
        "index": [GroupInvitationDocument],
        "retrieve": GroupInvitationDocument,
        "update": GroupInvitationDocument,
        "create": IssuedGroupInvitation,
        "resend": IssuedGroupInvitation,
    }
