"""API keys as the API shows and accepts them."""

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

from accesslist.selectors.keys import KeyRow, present_roles
from accesslist.serializers.roles import RoleDocument, RoleField
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import BadField
from opsapi.api.fields import ListOf, VisibleText
from opsapi.api.links import Links
from opsapi.redaction import MASK

MOST_ROLES = 1000
"""So many roles are given to a new key."""

MOST_STORED_ROLES = 20_000
"""So many are taken where roles are replaced: each place adds its own, and what was read can be written
back. As many as fit into a body."""


class ApiKeyDocument(Document):
    """An API key; its private part in full only in the answer that made it."""

    example = {
        "id": "6560d2f0a7b3f94e5d8c1b31",
        "desc": "deployment scripts",
        "publicKey": "k3w9xz",
        "privateKey": "******1f0c",
        "roles": [RoleDocument.example],
        "links": [LinkDocument.example],
    }

    id = serializers.CharField(read_only=True)
    desc = VisibleText(max_length=250)
    publicKey = serializers.CharField(read_only=True)
    privateKey = serializers.CharField(read_only=True)
    roles = serializers.ListField(child=RoleDocument())
    links = LinkDocument(many=True, read_only=True)


class ApiKeyInput(ApiKeyDocument):
    """What makes a key."""

    roles = ListOf(RoleField(), max_length=MOST_ROLES)


class ApiKeyChange(ApiKeyDocument):
    """What changes a key; what is left out stays as it is."""

    desc = VisibleText(max_length=250, required=False)
    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, required=False, clearable=True)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """A key keeps a role where it is changed."""
        if values.get("roles") == []:
            message = "must contain a role; use DELETE to revoke all roles"
            yield BadField("roles", ErrorCode.MISSING_ATTRIBUTE, message)


def key_links(path: str, links: Links) -> list[dict[str, str]]:
    """The links of a key alone; `path` is where it is read."""
    return links.related(path, {"accessList": f"{path}/accessList"})


def present_key(row: KeyRow, private_key: str | None = None) -> dict[str, Any]:
    """A key without its links, which depend on where it is read."""
    return {
        "id": row["id"],
        "desc": row["desc"],
        "publicKey": row["public_key"],
        "privateKey": private_key or MASK + row["private_last4"],
        "roles": present_roles(row["roles"]),
    }
