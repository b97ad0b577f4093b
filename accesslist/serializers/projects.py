"""Projects as the API shows and accepts them."""

from typing import Any

from rest_framework import serializers

from accesslist.selectors.projects import ProjectRow, project_facts
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, ANOTHER_ID, self_link
from opsapi.api.fields import Identifier, ListOf, PathName, Text
from opsapi.api.links import Links

_MOST_TAGS = 50
_BELOW = (
    "alertConfigs",
    "alerts",
    "agents",
    "apiKeys",
    "automationConfig",
    "automationStatus",
    "clusters",
    "events",
    "hosts",
    "integrations",
    "maintenanceWindows",
    "teams",
    "users",
)
"""What a project has, by the name of its path and its relation."""


class ProjectDocument(Document):
    """A project."""

    example = {
        "id": AN_ID,
        "name": "payments",
        "orgId": ANOTHER_ID,
        "tags": ["prod", "eu"],
        "created": A_TIME,
        "hostCount": 3,
        "links": self_link(f"/groups/{AN_ID}"),
    }

    id = serializers.CharField(read_only=True)
    name = PathName(max_length=200)
    orgId = Identifier(
        required=False, help_text="If left out, an organization with the same name is created."
    )
    tags = ListOf(Text(max_length=100), max_length=_MOST_TAGS, unique=True, required=False)
    created = serializers.DateTimeField(read_only=True)
    hostCount = serializers.IntegerField(read_only=True)
    links = LinkDocument(many=True, read_only=True)


class ProjectChange(ProjectDocument):
    """What changes a project; what is left out stays."""

    writable = frozenset({"name", "tags"})

    name = PathName(max_length=200, required=False)
    tags = ListOf(Text(max_length=100), max_length=_MOST_TAGS, unique=True, clearable=True, required=False)


def present_project(row: ProjectRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """A project."""
    path = f"/groups/{row['id']}"
    relations = {
        **({"org": f"/orgs/{row['org_id']}"} if row["org_id"] else {}),
        **{name: f"{path}/{name}" for name in _BELOW},
        "automationConfigRevisions": f"{path}/automationConfig/revisions",
        "alertConfigPresets": f"{path}/alertConfigs/presets",
        "automationConfigSchema": "/automationConfig/schema",
    }
    return {**project_facts(row), "links": links.related(path, relations if alone else {})}
