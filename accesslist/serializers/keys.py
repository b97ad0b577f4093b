"""API keys as the API shows and takes them (contract 2.13, decisions 3 "keys")."""

from typing import Any

from rest_framework import serializers

from accesslist.selectors.keys import KeyRow, present_roles
from accesslist.serializers.roles import RoleDocument, RoleField
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.fields import ListOf, Text
from opsapi.redaction import MASK


class ApiKeyDocument(Document):
    """An API key; its private part in full only in the answer that made it."""

    id = serializers.CharField(read_only=True)
    desc = Text(max_length=250)
    publicKey = serializers.CharField(read_only=True)
    privateKey = serializers.CharField(read_only=True)
    roles = ListOf(RoleDocument(), max_length=100)
    links = LinkDocument(many=True, read_only=True)


class ApiKeyInput(ApiKeyDocument):
    """What makes a key."""

    roles = ListOf(RoleField(), max_length=100)


def present_key(row: KeyRow, private_key: str | None = None) -> dict[str, Any]:
    """A key without its links, which depend on where it is read."""
    return {
        "id": row["id"],
        "desc": row["desc"],
        "publicKey": row["public_key"],
        "privateKey": private_key or MASK + row["private_last4"],
        "roles": present_roles(row["roles"]),
    }
