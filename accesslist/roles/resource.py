"""Roles as the API shows and accepts them."""

from typing import Any

from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, invalid
from opsapi.api.fields import Identifier, OneOf
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


MOST_STORED_ROLES = 20_000
"""The maximum number of roles in a change. Each scope adds its own roles, and a document that was read can
be written back: as many as fit into a body."""
