"""Organizations as the API shows and accepts them."""

from typing import Any

from rest_framework import serializers

from accesslist.selectors.organizations import OrganizationRow, organization_facts
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import AN_ID, self_link
from opsapi.api.fields import PathName
from opsapi.api.links import Links


class OrganizationDocument(Document):
    """An organization."""

    example = {"id": AN_ID, "name": "finance", "links": self_link(f"/orgs/{AN_ID}")}

    id = serializers.CharField(read_only=True)
    name = PathName(max_length=200)
    links = LinkDocument(many=True, read_only=True)


def present_organization(row: OrganizationRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """An organization."""
    path = f"/orgs/{row['id']}"
    relations = {
        "groups": f"{path}/groups",
        "apiKeys": f"{path}/apiKeys",
        "teams": f"{path}/teams",
        "users": f"{path}/users",
        "events": f"{path}/events",
    }
    return {**organization_facts(row), "links": links.related(path, relations if alone else {})}
