"""What the tests of access lists have in common."""

from typing import Any

import pytest

from accesslist.models import AccessListEntry, Project
from events.models import Event
from tests.factories.accesslist import KeyPair

PATH = "/admin/accessList"
ON, OFF = "192.0.2.7", "203.0.113.9"
NOON = "2099-01-01T12:00:00Z"


def blocks(key: KeyPair | None = None) -> list[str]:
    """The ranges of a list, in the order they were added."""
    entries = AccessListEntry.objects.filter(api_key_id=key.id if key else None)
    return list(entries.order_by("created", "id").values_list("cidr_block", flat=True))


def recorded() -> list[tuple[str, Any, Any]]:
    """Type, entry and key of the events of access lists, oldest first."""
    events = Event.objects.filter(event_type__startswith="ACCESS_LIST").order_by("id")
    return [
        (event.event_type, event.details.get("accessListEntry"), event.details.get("targetPublicKey"))
        for event in events
    ]


def org_path(project: Project, key: KeyPair) -> str:
    """The key's list, reached from the organization."""
    return f"/orgs/{project.org_id}/apiKeys/{key.id}/accessList"


def group_path(project: Project, key: KeyPair) -> str:
    """The key's list, reached from the project."""
    return f"/groups/{project.id}/apiKeys/{key.id}/accessList"


def admin_path(project: Project, key: KeyPair) -> str:
    """The key's list, reached from the installation."""
    return f"/admin/apiKeys/{key.id}/accessList"


PLACES = pytest.mark.parametrize("path_of", [org_path, group_path, admin_path])
