"""The events about the role that the creator of a project gets."""

import json

import pytest

from accesslist.models import Organization
from events.models import Event
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import OrganizationFactory, make_key

pytestmark = pytest.mark.django_db
CHANGED = "API_KEY_CHANGED_AUDIT"


@pytest.fixture
def org(db: None) -> Organization:
    """Where the project is created."""
    made: Organization = OrganizationFactory.create()
    return made


def test_a_key_that_gains_the_project_has_an_event_there(org: Organization) -> None:
    maker = make_key(Grant(Role.ORG_GROUP_CREATOR, org_id=org.id))
    made = ApiClient(maker).post("/groups", bodies.group(orgId=org.id)).json()
    event = Event.objects.get(event_type=CHANGED)
    assert (event.group_id, event.org_id) == (made["id"], None)
    assert event.details["targetPublicKey"] == event.details["publicKey"] == maker.public_key
    ((diff,), (change,)) = event.diffs, event.diffs[0]["params"]
    assert (diff["type"], diff["status"], diff["id"]) == ("ROLES", "MODIFIED", maker.id)
    assert (change["param"], json.loads(change["old"])) == ("roles", [])
    assert json.loads(change["new"]) == [{"roleName": "GROUP_OWNER", "groupId": made["id"]}]


def test_it_is_recorded_after_the_project_it_is_about(org: Organization) -> None:
    maker = ApiClient(make_key(Grant(Role.ORG_GROUP_CREATOR, org_id=org.id)))
    made = maker.post("/groups", bodies.group(orgId=org.id)).json()
    recorded = list(Event.objects.order_by("id").values_list("event_type", flat=True)[:2])
    assert recorded == ["GROUP_CREATED", CHANGED]
    shown = maker.get(f"/groups/{made['id']}/events?eventType={CHANGED}").json()["results"]
    assert [event["targetPublicKey"] for event in shown] == [maker.key and maker.key.public_key]


def test_a_key_that_gains_nothing_has_no_event(owner: ApiClient, org: Organization) -> None:
    assert owner.post("/groups", bodies.group(orgId=org.id)).status_code == 201
    assert not Event.objects.filter(event_type=CHANGED).exists()


def test_a_refused_project_records_nothing(org: Organization) -> None:
    maker = ApiClient(make_key(Grant(Role.ORG_GROUP_CREATOR, org_id=org.id)))
    assert maker.post("/groups", bodies.group(orgId=org.id)).status_code == 201
    before = Event.objects.count()
    assert maker.post("/groups", bodies.group(orgId=org.id)).status_code == 409
    assert Event.objects.count() == before
