"""Invitations as the API shows and accepts them."""

from collections.abc import Iterable

from accesslist.invitations.rules import GROUP_INVITATION_ROLES, ORG_INVITATION_ROLES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import ANOTHER_ID, LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import EmailAddress, Flag, ListOf, OneOf, ShownId, ShownText, ShownTime
from opsapi.api.resources import Resource
from opsapi.roles import Role

ORG_ROLES = [role.value for role in ORG_INVITATION_ROLES]
GROUP_ROLES = [role.value for role in GROUP_INVITATION_ROLES]
_ORG_EXAMPLE = [Role.ORG_MEMBER.value]
_GROUP_EXAMPLE = [Role.GROUP_MONITORING_ADMIN.value]


class InvitationDocument(Resource):
    """An open invitation: somebody can accept it until `expiresAt`; afterwards it can be sent again."""

    path = "{base}/invites/{id}"

    id = ShownId(read_only=True, example=ANOTHER_ID)
    username = EmailAddress(
        source="email_address",
        required=False,
        help_text="The e-mail address. Without it, anybody who has the link can accept.",
        example="grace@example.com",
    )
    roles = ListOf(OneOf(ORG_ROLES), max_length=len(ORG_ROLES), unique=True, example=_ORG_EXAMPLE)
    createdAt = ShownTime(source="created", read_only=True)
    expiresAt = ShownTime(source="expires", read_only=True, example="2026-11-28T07:26:14Z")
    emailSentAt = ShownTime(
        source="mailed",
        required=False,
        help_text="When the mail server accepted the message with the current link.",
    )
    inviterUsername = ShownText(
        source="inviter_name",
        read_only=True,
        help_text="The user, or the public key of the API key, whose roles count when somebody accepts.",
        example="ada@example.com",
    )


class OrgInvitationDocument(InvitationDocument):
    """An open invitation to an organization."""

    relations = {"org": "/orgs/{orgId}"}

    orgId = ShownId(source="org_id", read_only=True)
    orgName = ShownText(source="org__name", read_only=True, example="finance")
    links = LinkDocument(many=True, read_only=True)


class GroupInvitationDocument(InvitationDocument):
    """An open invitation to a project."""

    relations = {"group": "/groups/{groupId}"}

    roles = ListOf(OneOf(GROUP_ROLES), max_length=len(GROUP_ROLES), unique=True, example=_GROUP_EXAMPLE)
    groupId = ShownId(source="project_id", read_only=True)
    groupName = ShownText(source="project__name", read_only=True, example="payments")
    links = LinkDocument(many=True, read_only=True)


def _link_shown() -> ShownText:
    return ShownText(
        required=False,
        help_text="The link, which works once. It is shown only here, and only if no message was sent.",
        example=f"https://ops.example.com/admin/invitation/#{ANOTHER_ID}…",
    )


def _fault_shown() -> ShownText:
    return ShownText(
        required=False,
        help_text="Why the message could not be sent. Then the answer contains the link.",
        example="the mail server answered 550",
    )


class IssuedOrgInvitation(OrgInvitationDocument):
    """An invitation with its new link, if no message was sent."""

    link = _link_shown()
    emailError = _fault_shown()


class IssuedGroupInvitation(GroupInvitationDocument):
    """An invitation with its new link, if no message was sent."""

    link = _link_shown()
    emailError = _fault_shown()


def _sending() -> Flag:
    return Flag(
        source="send_email",
        required=False,
        help_text="Whether to send a message. By default true with a username. If it is false, the answer "
        "contains the link.",
        example=True,
    )


class OrgInvitationInput(OrgInvitationDocument):
    """A new invitation to an organization."""

    writable = frozenset({"username", "roles", "sendEmail"})
    refusals = (ErrorCode.MISSING_ATTRIBUTE,)
    sendEmail = _sending()

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """A message needs an address."""
        return _address_faults(values, bad)


class GroupInvitationInput(GroupInvitationDocument):
    """A new invitation to a project."""

    writable = frozenset({"username", "roles", "sendEmail"})
    refusals = (ErrorCode.MISSING_ATTRIBUTE,)
    sendEmail = _sending()

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """A message needs an address."""
        return _address_faults(values, bad)


class OrgInvitationChange(OrgInvitationDocument):
    """Changes to an invitation: its roles. The link stays valid."""

    is_change = True
    writable = frozenset({"roles"})


class GroupInvitationChange(GroupInvitationDocument):
    """Changes to an invitation: its roles. The link stays valid."""

    is_change = True
    writable = frozenset({"roles"})


def _address_faults(values: Values, bad: frozenset[str]) -> Iterable[BadField]:
    if values.get("send_email") and "email_address" not in values and "username" not in bad:
        yield BadField("username", ErrorCode.MISSING_ATTRIBUTE, "is required to send a message")
