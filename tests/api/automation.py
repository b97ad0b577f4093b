"""What tests of the automation configuration share."""

from collections.abc import Sequence
from typing import Any

import pytest

from accesslist.models import Project
from opsapi.roles import Grant, Role
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.factories.documents import document, process

Refusal = tuple[int, str, Sequence[str]]


@pytest.fixture
def publisher(project: Project) -> ApiClient:
    """Project Automation Admin in the project: the lowest role that may publish."""
    return ApiClient(make_key(Grant(Role.GROUP_AUTOMATION_ADMIN, group_id=project.id)))


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's automation configuration is."""
    return f"/groups/{project.id}/automationConfig"


def named(*names: str, version: int = 0, **changes: Any) -> dict[str, Any]:
    """A document with processes of these names, each on its own host; `changes` apply to all processes."""
    processes = [process(name=name, hostname=f"{name}.example.com", **changes) for name in names]
    return document(version=version, processes=processes)


def published(client: ApiClient, path: str, sent: Any, **options: Any) -> Any:
    """The document that a publish answers."""
    answer = client.put(path, sent, **options)
    assert answer.status_code == 200, answer.content
    return answer.json()


def refusal(answer: Any) -> Refusal:
    """Status, code, and the wrong fields."""
    shown = answer.json()
    return answer.status_code, shown["errorCode"], [bad["field"] for bad in shown.get("badFields", ())]
