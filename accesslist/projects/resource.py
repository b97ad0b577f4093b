"""Organizations and projects as the API shows and accepts them."""

from opsapi.api.documents import ANOTHER_ID, LinkDocument
from opsapi.api.fields import Identifier, ListOf, PathName, ShownId, ShownNumber, ShownTime, Text
from opsapi.api.resources import Resource

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
    "invites",
    "maintenanceWindows",
    "teams",
    "users",
)
"""The collections of a project; each name is a path below the project and a relation."""


class OrganizationDocument(Resource):
    """An organization."""

    path = "/orgs/{id}"
    relations = {
        name: f"/orgs/{{id}}/{name}" for name in ("groups", "apiKeys", "teams", "users", "invites", "events")
    }

    id = ShownId(read_only=True)
    name = PathName(max_length=200, example="finance")
    links = LinkDocument(many=True, read_only=True)


class ProjectDocument(Resource):
    """A project."""

    path = "/groups/{id}"
    relations = {
        "org": "/orgs/{orgId}",
        **{name: f"/groups/{{id}}/{name}" for name in _BELOW},
        "agentSettings": "/groups/{id}/agents/settings",
        "automationConfigRevisions": f"{path}/automationConfig/revisions",
        "alertConfigPresets": f"{path}/alertConfigs/presets",
        "automationConfigSchema": "/automationConfig/schema",
    }

    id = ShownId(read_only=True)
    name = PathName(max_length=200, example="payments")
    orgId = Identifier(
        source="org_id",
        required=False,
        help_text="If left out, an organization with the same name is created.",
        example=ANOTHER_ID,
    )
    tags = ListOf(
        Text(max_length=100),
        max_length=_MOST_TAGS,
        unique=True,
        clearable=True,
        required=False,
        example=["prod", "eu"],
    )
    created = ShownTime(read_only=True)
    hostCount = ShownNumber(source="host_count", read_only=True, example=3)
    links = LinkDocument(many=True, read_only=True)


class ProjectChange(ProjectDocument):
    """Changes to a project; fields that are left out stay unchanged."""

    is_change = True
    writable = frozenset({"name", "tags"})
