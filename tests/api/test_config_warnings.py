"""Writing a configuration that would notify nobody is answered with a warning."""

from typing import Any

import pytest

from accesslist.models import Project
from tests.api.bodies import alert_config, email
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import UserFactory

pytestmark = pytest.mark.django_db
GROUP = {"typeName": "GROUP", "emailEnabled": True}
NOBODY = '299 - "notifications[1]: no recipients: no user has the required role"'


def body(*notifications: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A configuration with these notifications after one that always reaches somebody."""
    return alert_config(notifications=[email(), *notifications], **changes)


def make_reader(project: Project, **changes: Any) -> None:
    """Somebody with a role in the project."""
    UserFactory.create(**changes).grants.create(role="GROUP_READ_ONLY", project=project)


def test_every_write_warns_while_there_is_nobody(owner: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}/alertConfigs"
    made = owner.post(path, body(GROUP))
    assert made.headers["Warning"] == NOBODY
    config_path = f"{path}/{made.json()['id']}"
    assert owner.put(config_path, made.json()).headers["Warning"] == NOBODY
    assert owner.patch(config_path, {"enabled": True}).headers["Warning"] == NOBODY
    assert "Warning" not in owner.get(config_path).headers
    assert made.json() == owner.get(config_path).json()

    make_reader(project, email_address="reader@example.com")
    assert "Warning" not in owner.put(config_path, made.json()).headers


def test_people_without_an_address_are_nobody(owner: ApiClient, project: Project) -> None:
    make_reader(project, mobile_number=None)
    made = owner.post(
        f"/groups/{project.id}/alertConfigs", body({**GROUP, "emailEnabled": False, "smsEnabled": True})
    )
    assert made.headers["Warning"] == (
        '299 - "notifications[1]: no recipients: no user has an address for this channel"'
    )


def test_every_notification_has_its_own(owner: ApiClient, project: Project) -> None:
    made = owner.post(f"/groups/{project.id}/alertConfigs", body(GROUP, {**GROUP, "typeName": "ORG"}))
    assert made.headers["Warning"] == f"{NOBODY}, {NOBODY.replace('[1]', '[2]')}"


def test_a_global_one_is_evaluated_where_no_project_is_needed(owner: ApiClient) -> None:
    made = owner.post("/globalAlertConfigs", body(GROUP, {"typeName": "ADMIN"}, forAllGroups=True))
    assert made.status_code == 201
    assert made.headers["Warning"] == NOBODY.replace("[1]", "[2]")


@each("state", ["REQUIRED", "NOT_REQUIRED"])
def test_a_type_that_nothing_makes_is_warned_of(owner: ApiClient, project: Project, state: str) -> None:
    name = f"ORG_PUBLIC_API_ACCESS_LIST_{state}"
    made = owner.post(f"/groups/{project.id}/alertConfigs", body(GROUP, eventTypeName=name))
    assert made.status_code == 201
    first, second = made.headers["Warning"].split(", ")
    assert first.startswith('299 - "eventTypeName: ')
    assert name in first
    assert second == NOBODY


def test_every_other_alertable_type_is_created_by_something(owner: ApiClient) -> None:
    types = owner.get("/eventTypes?itemsPerPage=500").json()["results"]
    unmade = [
        event_type["eventTypeName"]
        for event_type in types
        if event_type["alertable"] and not event_type["produced"]
    ]
    assert unmade == [f"ORG_PUBLIC_API_ACCESS_LIST_{state}" for state in ("REQUIRED", "NOT_REQUIRED")]
