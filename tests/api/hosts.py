"""Reads and creates the hosts of a project."""

from typing import Any

from accesslist.models import Project
from events.models import Event
from tests.api.bodies import new_host
from tests.client import ApiClient

RELATION = "urn:opsapi:rel:"


def hosts_of(project: Project) -> str:
    """The path of its hosts."""
    return f"/groups/{project.id}/hosts"


def relations(document: dict[str, Any]) -> dict[str, str]:
    """Relation → path below the public base."""
    base = "http://testserver/api/public/v1.0"
    return {link["rel"].removeprefix(RELATION): link["href"].removeprefix(base) for link in document["links"]}


def made(admin: ApiClient, project: Project, **changes: Any) -> dict[str, Any]:
    """A host created by hand."""
    answer = admin.post(hosts_of(project), new_host(**changes))
    assert answer.status_code == 201, answer.json()
    document: dict[str, Any] = answer.json()
    return document


def recorded(event_type: str) -> Event:
    """The only event of the type."""
    return Event.objects.get(event_type=event_type)
