"""Users as the API shows and takes them (contract 2.13, endpoint 5; decisions 3)."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from accesslist.selectors.keys import present_roles
from accesslist.selectors.users import UserRow
from accesslist.serializers.keys import ApiKeyDocument
from accesslist.serializers.roles import RoleDocument, RoleField
from accesslist.services.users import NewUser
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.fields import EmailAddress, ListOf, Text
from opsapi.api.links import Links


class UserDocument(Document):
    """A user; the password is never returned."""

    id = serializers.CharField()
    username = serializers.CharField()
    firstName = serializers.CharField()
    lastName = serializers.CharField()
    emailAddress = serializers.CharField(required=False)
    mobileNumber = serializers.CharField(required=False)
    roles = RoleDocument(many=True)
    teamIds = serializers.ListField(child=serializers.CharField())
    links = LinkDocument(many=True)


class UserInput(Document):
    """What endpoint 5 takes."""

    username = Text(max_length=254)
    password = Text(max_length=1000, single_line=False)
    firstName = Text(max_length=100)
    lastName = Text(max_length=100)
    emailAddress = EmailAddress(required=False)
    mobileNumber = Text(max_length=40, required=False)
    roles = ListOf(RoleField(), max_length=100, required=False)


class NewUserDocument(Document):
    """The answer of endpoint 5; the key only with the first user."""

    user = UserDocument()
    programmaticApiKey = ApiKeyDocument(required=False)


def present_user(row: UserRow, links: Links) -> dict[str, Any]:
    """A user."""
    shown = {
        "id": row["id"],
        "username": row["username"],
        "firstName": row["first_name"],
        "lastName": row["last_name"],
        "emailAddress": row["email_address"],
        "mobileNumber": row["mobile_number"],
        "roles": present_roles(row["roles"]),
        "teamIds": [],
        "links": links.self_only(f"/users/{row['id']}"),
    }
    return {name: value for name, value in shown.items() if value is not None}


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
