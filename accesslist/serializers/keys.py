"""API keys and roles as the API shows and accepts them."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Value
from django.db.models.functions import Concat
from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument, Values, invalid
from opsapi.api.errors import BadField
from opsapi.api.fields import Identifier, ListOf, OneOf, ShownId, ShownText, VisibleText
from opsapi.api.resources import Resource
from opsapi.redaction import MASK
from opsapi.roles import Role
from opsapi.wire_json import JsonObject

ROLE_NAMES = [role.value for role in Role]


class RoleDocument(Document):
    """A role with its scope."""

    roleName = OneOf(ROLE_NAMES, example=Role.GROUP_READ_ONLY.value)
    groupId = Identifier(required=False, example="6560d1c2a7b3f94e5d8c1b20")
    orgId = Identifier(required=False)


# Shared, because creating the document costs more than reading a role.
_ROLE = RoleDocument()


class RoleField(serializers.JSONField):
    """A role as a string or as an object with `roleName`; read as the values of a `RoleDocument`."""

    code = ErrorCode.INVALID_ENUM_VALUE

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        """The values by field name."""
        if isinstance(data, str):
            return _ROLE.run_validation({"roleName": data})
        if isinstance(data, dict):
            return _ROLE.run_validation(data)
        raise invalid("must be a role name or an object with roleName", allowed=ROLE_NAMES)


MOST_ROLES = 1000
"""The maximum number of roles of a new key."""

MOST_STORED_ROLES = 20_000
"""The maximum number of roles in a change. Each scope adds its own roles, and a document that was read can
be written back: as many as fit into a body."""


class ApiKeyDocument(Resource):
    """An API key; only the response that creates it contains the complete private key."""

    path = "{base}/apiKeys/{id}"
    relations = {"accessList": f"{path}/accessList"}
    columns = {"privateKey": Concat(Value(MASK), "private_last4")}

    id = ShownId(read_only=True, example="6560d2f0a7b3f94e5d8c1b31")
    desc = VisibleText(max_length=250, example="deployment scripts")
    publicKey = ShownText(source="public_key", read_only=True, example="k3w9xz")
    privateKey = ShownText(read_only=True, example=f"{MASK}1f0c")
    roles = serializers.ListField(child=RoleDocument())
    links = LinkDocument(many=True, read_only=True)


class ApiKeyInput(ApiKeyDocument):
    """A new API key."""

    roles = ListOf(RoleField(), max_length=MOST_ROLES, example=[RoleDocument.sample()])


class ApiKeyChange(ApiKeyDocument):
    """Changes to an API key; fields that are left out stay unchanged."""

    is_change = True

    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, clearable=True, example=[RoleDocument.sample()])

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require at least one role."""
        if values.get("roles") == []:
            message = "must contain a role; use DELETE to revoke all roles"
            yield BadField("roles", ErrorCode.MISSING_ATTRIBUTE, message)
