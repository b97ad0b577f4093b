"""Users as the API shows and takes them (contract 2.13, endpoint 5; decisions 3)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from accesslist.selectors.users import UserRow, user_facts
from accesslist.serializers.keys import MOST_STORED_ROLES, ApiKeyDocument
from accesslist.serializers.roles import RoleDocument, RoleField
from accesslist.services.users import NewUser
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import EmailAddress, ListOf, MobileNumber, Text
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
    links = LinkDocument(many=True)


class UserInput(Document):
    """What makes a user: endpoint 5, and user admins."""

    example = {
        "username": "ada@example.com",
        "password": "correct horse battery",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "mobileNumber": "+12025550100",
    }

    username = Text(max_length=254)
    password = Text(max_length=1000, single_line=False)
    firstName = Text(max_length=100)
    lastName = Text(max_length=100)
    emailAddress = EmailAddress(required=False)
    mobileNumber = MobileNumber(required=False)
    roles = ListOf(RoleField(), max_length=100, required=False)


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


def present_user(row: UserRow, links: Links) -> dict[str, Any]:
    """A user."""
    path = f"/users/{row['id']}"
    return {**user_facts(row), "teamIds": row["team_ids"], "links": links.self_only(path)}


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
