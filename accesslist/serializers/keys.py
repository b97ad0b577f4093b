"""API keys as the API shows and accepts them."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Value
from django.db.models.functions import Concat
from rest_framework import serializers

from accesslist.selectors.keys import present_roles
from accesslist.serializers.roles import RoleDocument, RoleField
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import ListOf, ShownId, ShownText, VisibleText
from opsapi.api.resources import Facts, Resource
from opsapi.redaction import MASK

MOST_ROLES = 1000
"""So many roles are given to a new key."""

MOST_STORED_ROLES = 20_000
"""So many are taken where roles are replaced: each place adds its own, and what was read can be written
back. As many as fit into a body."""


class ApiKeyDocument(Resource):
    """An API key; its private part in full only in the answer that made it."""

    path = "{base}/apiKeys/{id}"
    relations = {"accessList": f"{path}/accessList"}
    columns = {"privateKey": Concat(Value(MASK), "private_last4")}

    id = ShownId(read_only=True, example="6560d2f0a7b3f94e5d8c1b31")
    desc = VisibleText(max_length=250, example="deployment scripts")
    publicKey = ShownText(source="public_key", read_only=True, example="k3w9xz")
    privateKey = ShownText(read_only=True, example=f"{MASK}1f0c")
    roles = serializers.ListField(child=RoleDocument())
    links = LinkDocument(many=True, read_only=True)

    @classmethod
    def facts(cls, row: Iterable[Any]) -> Facts:
        """The key with roles as `RoleDocument`."""
        facts = super().facts(row)
        return {**facts, "roles": present_roles(facts["roles"])}


class ApiKeyInput(ApiKeyDocument):
    """What makes a key."""

    roles = ListOf(RoleField(), max_length=MOST_ROLES, example=[RoleDocument.example])


class ApiKeyChange(ApiKeyDocument):
    """What changes a key; what is left out stays as it is."""

    is_change = True

    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, clearable=True, example=[RoleDocument.example])

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """A key keeps a role where it is changed."""
        if values.get("roles") == []:
            message = "must contain a role; use DELETE to revoke all roles"
            yield BadField("roles", ErrorCode.MISSING_ATTRIBUTE, message)
