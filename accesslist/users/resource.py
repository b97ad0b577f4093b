"""Users as the API shows and accepts them, including users who register themselves (endpoint 5)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db.models import Case, When
from rest_framework import serializers

from accesslist.keys.resource import ApiKeyDocument
from accesslist.roles.resource import MOST_STORED_ROLES, RoleDocument, RoleField
from accesslist.roles.rules import AskedRole, asked_roles, scope_faults
from accesslist.users.checks import password_fault, username_fault
from accesslist.users.models import User
from accesslist.users.store import users_seen
from opsapi.api.documents import ANOTHER_ID, Document, LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import (
    EmailAddress,
    ListOf,
    MobileNumber,
    ShownId,
    ShownList,
    ShownText,
    Text,
    VisibleText,
)
from opsapi.api.resources import Facts, Resource


class UserDocument(Resource):
    """A user; the password is never returned."""

    path = "/users/{id}"
    columns = {"selfRegistered": Case(When(self_registered=True, then=True))}

    id = ShownId()
    username = ShownText(example="ada@example.com")
    firstName = ShownText(source="first_name", example="Ada")
    lastName = ShownText(source="last_name", example="Lovelace")
    emailAddress = ShownText(source="seen_email", required=False, example="ada@example.com")
    mobileNumber = ShownText(source="seen_mobile", required=False, example="+12025550100")
    roles = serializers.ListField(child=RoleDocument())
    teamIds = ShownList(source="team_ids", child=serializers.CharField(), example=[ANOTHER_ID])
    selfRegistered = serializers.BooleanField(
        required=False,
        help_text="true for a user created without a key after the first user; otherwise absent.",
    )
    links = LinkDocument(many=True)


def user_facts(user: User) -> Facts:
    """Return the stored facts of a user that audit diffs compare: all fields except teams."""
    facts = UserDocument.first(users_seen().filter(id=user.id)) or {}
    return {name: value for name, value in facts.items() if name not in {"teamIds", "selfRegistered"}}


class UserInput(Document):
    """A new user."""

    id = serializers.CharField(read_only=True)
    username = VisibleText(max_length=254, example="ada@example.com")
    password = Text(max_length=1000, single_line=False, example="correct horse battery")
    firstName = VisibleText(source="first_name", max_length=100, example="Ada")
    lastName = VisibleText(source="last_name", max_length=100, example="Lovelace")
    emailAddress = EmailAddress(source="email_address", required=False)
    mobileNumber = MobileNumber(source="mobile_number", required=False, example="+12025550100")
    roles = ListOf(RoleField(), max_length=100, required=False)
    teamIds = serializers.ListField(child=serializers.CharField(), read_only=True)
    selfRegistered = serializers.BooleanField(read_only=True)
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Check the name by the setting, the password by the other fields, and the scopes of the roles."""
        if "username" in values and (fault := username_fault(values["username"])):
            yield fault
        if "password" in values and (fault := password_fault(values["password"], _known_of(values))):
            yield fault
        yield from scope_faults(self.placed(asked_roles(values.get("roles", ()))))

    def placed(self, asked: Sequence[AskedRole]) -> Sequence[AskedRole]:
        """Return the roles whose scopes are checked."""
        return asked


class UserDetailsInput(UserInput):
    """What users change of their own account on its page."""

    writable = frozenset({"firstName", "lastName", "emailAddress", "mobileNumber"})


class FirstUserInput(UserInput):
    """A new user, created without a key (endpoint 5)."""

    def placed(self, asked: Sequence[AskedRole]) -> Sequence[AskedRole]:
        """Return global roles if OPSAPI_UNAUTH_GLOBAL_ROLES allows them; the service refuses all others."""
        return [
            request for request in asked if request.role.is_global and settings.OPSAPI_UNAUTH_GLOBAL_ROLES
        ]


class UserRolesInput(UserDocument):
    """Changes to the roles of a user; a document that was read can be written back."""

    writable = frozenset({"roles"})
    request_example = {"roles": [RoleDocument.sample()]}

    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, clearable=True)


class NewUserDocument(Document):
    """The response of endpoint 5, which contains a key only for the first user."""

    user = UserDocument()
    programmaticApiKey = ApiKeyDocument(required=False)


def _known_of(values: Mapping[str, Any]) -> User:
    """A user with the valid fields of the body, which the password must not resemble."""
    return User(**{name: values[name] for name in ("username", "first_name", "last_name") if name in values})
