"""The events of an organization: its own, and events of its projects that concern it."""

from typing import Any

import pytest
from django.db import transaction

from accesslist.models import Organization, Project
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import event_record
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.routes import OF_NOTHING
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, make_key

pytestmark = pytest.mark.django_db


@pytest.fixture
def org(db: None) -> Organization:
    """An organization."""
    made: Organization = OrganizationFactory.create()
    return made


@pytest.fixture
def member(org: Organization) -> ApiClient:
    """Org Member in the organization."""
    return ApiClient(make_key(Grant(Role.ORG_MEMBER, org_id=org.id)))


def record(event_type: EventType, **options: Any) -> str:
    """The id of an event that happened now."""
    with transaction.atomic():
        event = event_record(
            event_type=event_type, actor=SYSTEM, now=clock.now(), **{"signals": False, **options}
        )
    return event.id


def ids(client: ApiClient, org: Organization, query: str = "") -> list[str]:
    """The ids of the organization's list, in its order."""
    return [row["id"] for row in client.get(f"/orgs/{org.id}/events?{query}").json()["results"]]


def test_an_organization_shows_its_own_events_and_no_others(member: ApiClient, org: Organization) -> None:
    project: Project = ProjectFactory.create(org=org)
    own = record(EventType.ORG_CREATED_AUDIT, org_id=org.id)
    of_both = record(EventType.GROUP_CREATED, org_id=org.id, group_id=project.id)
    of_the_project = record(EventType.HOST_DOWN, group_id=project.id)
    foreign = record(EventType.ORG_CREATED_AUDIT, org_id=OrganizationFactory.create().id)
    assert ids(member, org) == [of_both, own]
    for event_id in (of_the_project, foreign, OF_NOTHING):
        answer = member.get(f"/orgs/{org.id}/events/{event_id}")
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "EVENT_NOT_FOUND")


def test_a_new_project_is_recorded_in_its_organization(owner: ApiClient) -> None:
    made = owner.post("/groups", bodies.group()).json()
    results = owner.get(f"/orgs/{made['orgId']}/events").json()["results"]
    assert [(event["eventTypeName"], event["orgId"]) for event in results] == [
        ("GROUP_CREATED", made["orgId"]),
        ("ORG_CREATED_AUDIT", made["orgId"]),
    ]


def test_it_shows_changes_and_raw_as_a_project_does(member: ApiClient, org: Organization) -> None:
    changes = diff(DiffType.GROUP, org.id, old={"name": "a"}, new={"name": "b"})
    event_id = record(EventType.ORG_RENAMED, org_id=org.id, diffs=changes)
    for path in ("", f"/{event_id}"):
        document = member.get(f"/orgs/{org.id}/events{path}?includeRaw=true").json()
        (shown,) = document.get("results", [document])
        assert shown["diffs"] == changes
        assert shown["raw"]["category"] == "ORGANIZATION"
        assert "raw" not in member.get(f"/orgs/{org.id}/events{path}").json()


def test_an_event_links_to_itself_and_alone_to_what_it_concerns(owner: ApiClient, org: Organization) -> None:
    project: Project = ProjectFactory.create(org=org)
    event_id = record(EventType.GROUP_CREATED, org_id=org.id, group_id=project.id)
    base = "http://testserver/api/public/v1.0"
    itself = {"rel": "self", "href": f"{base}/orgs/{org.id}/events/{event_id}"}
    assert owner.get(f"/orgs/{org.id}/events").json()["results"][0]["links"] == [itself]
    assert owner.get(f"/orgs/{org.id}/events/{event_id}").json()["links"] == [
        itself,
        {"rel": "urn:opsapi:rel:group", "href": f"{base}/groups/{project.id}"},
        {"rel": "urn:opsapi:rel:org", "href": f"{base}/orgs/{org.id}"},
        {
            "rel": "urn:opsapi:rel:notifications",
            "href": f"{base}/groups/{project.id}/events/{event_id}/notifications",
        },
    ]


def test_filters_and_before_work_as_in_every_event_list(member: ApiClient, org: Organization) -> None:
    types = (EventType.ORG_CREATED_AUDIT, EventType.ORG_RENAMED, EventType.ORG_CREATED_AUDIT)
    oldest, middle, newest = (record(event_type, org_id=org.id) for event_type in types)
    assert ids(member, org, "eventType=ORG_CREATED_AUDIT") == [newest, oldest]
    assert ids(member, org, f"before={newest}") == [middle, oldest]
    assert ids(member, org, "maxDate=2020-01-01") == []
    foreign = record(EventType.ORG_RENAMED, org_id=OrganizationFactory.create().id)
    for query, field in (
        (f"before={foreign}", "before"),
        ("minDate=x", "minDate"),
        ("eventType=X", "eventType"),
    ):
        answer = member.get(f"/orgs/{org.id}/events?{query}")
        assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, field)


@each("path", ["", f"/{OF_NOTHING}"])
def test_a_key_with_roles_in_one_project_does_not_read_them(org: Organization, path: str) -> None:
    project: Project = ProjectFactory.create(org=org)
    client = ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))
    answer = client.get(f"/orgs/{org.id}/events{path}")
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "USER_UNAUTHORIZED")
