"""Users as the API shows and accepts them, the self-registered ones of endpoint 5 too."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from rest_framework import serializers

from accesslist.models import User
from accesslist.rules.granting import AskedRole, asked_roles, placing_faults
from accesslist.selectors.users import UserRow, user_facts
from accesslist.serializers.keys import MOST_STORED_ROLES, ApiKeyDocument
from accesslist.serializers.roles import RoleDocument, RoleField
from accesslist.services.user_checks import password_fault, username_fault
from accesslist.services.users import NewUser
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import BadField
from opsapi.api.examples import AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import EmailAddress, ListOf, MobileNumber, Text, VisibleText
from opsapi.api.links import Links


class UserDocument(Document):
    """A user; the password is never returned."""

    example = {
        "id": AN_ID,
        "username": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "emailAddress": "ada@example.com",
        "mobileNumber": "+12025550100",
        "roles": [RoleDocument.example],
        "teamIds": [ANOTHER_ID],
        "links": self_link(f"/users/{AN_ID}"),
    }

    id = serializers.CharField()
    username = serializers.CharField()
    firstName = serializers.CharField()
    lastName = serializers.CharField()
    emailAddress = serializers.CharField(required=False)
    mobileNumber = serializers.CharField(required=False)
    roles = serializers.ListField(child=RoleDocument())
    teamIds = serializers.ListField(child=serializers.CharField())
    selfRegistered = serializers.BooleanField(
        required=False,
        help_text="true for a user created without a key after the first user; otherwise absent.",
    )
    links = LinkDocument(many=True)


class UserInput(Document):
    """What makes a user."""

    example = {
        "username": "ada@example.com",
        "password": "correct horse battery",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "mobileNumber": "+12025550100",
    }

    id = serializers.CharField(read_only=True)
    username = VisibleText(max_length=254)
    password = Text(max_length=1000, single_line=False)
    firstName = VisibleText(max_length=100)
    lastName = VisibleText(max_length=100)
    emailAddress = EmailAddress(required=False)
    mobileNumber = MobileNumber(required=False)
    roles = ListOf(RoleField(), max_length=100, required=False)
    teamIds = serializers.ListField(child=serializers.CharField(), read_only=True)
    selfRegistered = serializers.BooleanField(read_only=True)
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """The name by the setting, the password beside what is known of the user, and where roles hold."""
        if "username" in values and (fault := username_fault(values["username"])):
            yield fault
        if "password" in values and (fault := password_fault(values["password"], _known_of(values))):
            yield fault
        yield from placing_faults(self.placed(asked_roles(values.get("roles", ()))))

    def placed(self, asked: Sequence[AskedRole]) -> Sequence[AskedRole]:
        """The roles that are to be given."""
        return asked


class FirstUserInput(UserInput):
    """What makes a user without a key (endpoint 5)."""

    def placed(self, asked: Sequence[AskedRole]) -> Sequence[AskedRole]:
        """Global ones where the literal reading is restored; the service refuses others, placed or not."""
        return [one for one in asked if one.role.is_global and settings.OPSAPI_UNAUTH_GLOBAL_ROLES]


class UserRolesInput(UserDocument):
    """What changes a user: their roles; a document that was read can be written back."""

    writable = frozenset({"roles"})
    request_example = {"roles": [RoleDocument.example]}

    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, clearable=True)


class NewUserDocument(Document):
    """The answer of endpoint 5; the key only with the first user."""

    example = {"user": UserDocument.example, "programmaticApiKey": ApiKeyDocument.example}

    user = UserDocument()
    programmaticApiKey = ApiKeyDocument(required=False)


def _known_of(values: Mapping[str, Any]) -> User:
    """What a password must not resemble, as far as the body tells it well."""
    return User(
        username=values.get("username", ""),
        first_name=values.get("firstName", ""),
        last_name=values.get("lastName", ""),
    )


def present_user(row: UserRow, links: Links) -> dict[str, Any]:
    """A user."""
    path = f"/users/{row['id']}"
    marked = {"selfRegistered": True} if row["self_registered"] else {}
    return {**user_facts(row), "teamIds": row["team_ids"], **marked, "links": links.self_only(path)}


def new_user(body: Mapping[str, Any]) -> NewUser:
    """A checked body as services take it."""
    return NewUser(
        username=body["username"],
        password=body["password"],
        first_name=body["firstName"],
        last_name=body["lastName"],
        email_address=body.get("emailAddress"),
        mobile_number=body.get("mobileNumber"),
        roles=body.get("roles", ()),
    )
