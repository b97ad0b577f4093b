"""The endpoint table of the contract (4.2), a row each; what a row needs more is in a file of its own."""

from collections.abc import Mapping
from typing import Any

import pytest

from accesslist.models import Project
from opsapi.api.links import PUBLIC
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import make_key

LIST = {"results", "links", "totalCount"}
ALERT = {
    "id",
    "alertConfigId",
    "groupId",
    "eventTypeName",
    "created",
    "updated",
    "status",
    "severity",
    "tags",
    "links",
}
CONFIG = {
    "id",
    "groupId",
    "created",
    "updated",
    "enabled",
    "eventTypeName",
    "matchers",
    "notifications",
    "links",
}
EVENT = {"id", "created", "eventTypeName", "links"}
WINDOW = {
    "id",
    "groupId",
    "created",
    "updated",
    "startDate",
    "endDate",
    "alertTypeNames",
    "description",
    "links",
}
GLOBAL_CONFIG = (CONFIG - {"groupId"}) | {"forAllGroups", "groupIds", "tags"}
ENTRY = {"cidrBlock", "created", "description", "id", "type", "updated", "expires", "lastUsed"}

GROUP = "/groups/{group_id}"
BODIES = {
    "POST /admin/accessList": bodies.entry(),
    "POST /unauth/users": bodies.user(),
    f"POST {GROUP}/maintenanceWindows/": bodies.window(),
    f"POST {GROUP}/maintenanceWindows": bodies.window(),
    "PUT /globalAlertConfigs/{global_config_id}": bodies.global_alert_config(tags=["prod"]),
    "PATCH /globalAlertConfigs/{global_config_id}": {"enabled": False},
}
READER, WRITER = Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN
Row = tuple[int, Role | None, str, str, int, set[str]]
"""Number, the lowest role that may, method, path, status, fields of the answer."""

ROWS: list[Row] = [
    (1, Role.GLOBAL_READ_ONLY, "GET", "/admin/accessList", 200, LIST),
    (1, Role.GLOBAL_READ_ONLY, "GET", "/admin/accessList?pageNum=1&itemsPerPage=500", 200, LIST),
    (2, Role.GLOBAL_OWNER, "POST", "/admin/accessList", 200, ENTRY),
    (3, Role.GLOBAL_MONITORING_ADMIN, "PUT", "/globalAlertConfigs/{global_config_id}", 200, GLOBAL_CONFIG),
    (4, Role.GLOBAL_MONITORING_ADMIN, "PATCH", "/globalAlertConfigs/{global_config_id}", 200, GLOBAL_CONFIG),
    (5, None, "POST", "/unauth/users", 201, {"user"}),
    (6, READER, "GET", f"{GROUP}/alerts", 200, LIST),
    (6, READER, "GET", f"{GROUP}/alerts?status=OPEN&pageNum=1&itemsPerPage=500", 200, LIST),
    (7, WRITER, "POST", f"{GROUP}/maintenanceWindows/", 200, WINDOW),
    (7, WRITER, "POST", f"{GROUP}/maintenanceWindows", 200, WINDOW),
    (8, READER, "GET", f"{GROUP}/alertConfigs", 200, LIST),
    (9, READER, "GET", f"{GROUP}/alertConfigs/{{config_id}}", 200, CONFIG),
    (9, READER, "GET", f"{GROUP}/alertConfigs/{{config_id}}?pageNum=1&itemsPerPage=1", 200, CONFIG),
    (10, WRITER, "DELETE", f"{GROUP}/alertConfigs/{{config_id}}", 204, set()),
    (12, READER, "GET", f"{GROUP}/integrations?pageNum=1&itemsPerPage=500", 200, LIST),
    (13, READER, "GET", f"{GROUP}/integrations/{{integration_type}}?pageNum=1", 200, {"type"}),
    (14, WRITER, "DELETE", f"{GROUP}/integrations/{{integration_type}}?pageNum=1", 204, set()),
    (16, READER, "GET", "/", 200, {"appName", "build", "throttling", "links"}),
    (17, Role.GLOBAL_READ_ONLY, "GET", "/globalEvents/{event_id}", 200, EVENT),
    (18, READER, "GET", f"{GROUP}/events/{{event_id}}", 200, EVENT | {"diffs"}),
    (18, READER, "GET", f"{GROUP}/events/{{event_id}}?includeRaw=true", 200, EVENT | {"diffs", "raw"}),
    (19, Role.GLOBAL_READ_ONLY, "GET", "/globalEvents", 200, LIST),
    (19, Role.GLOBAL_READ_ONLY, "GET", "/globalEvents?minDate=2026-01-01&eventType=NEW_HOST", 200, LIST),
]
pytestmark = pytest.mark.django_db


@pytest.fixture
def project(known: Mapping[str, str], db: None) -> Project:
    """The project of these objects."""
    return Project.objects.get(id=known["group_id"])


@pytest.mark.slow
@each("row", ROWS, ids=lambda row: f"{row[0]} {row[2]} {row[3]}")
def test_an_endpoint_answers_as_the_contract_says(known: Mapping[str, str], row: Row) -> None:
    _, role, method, path, status, fields = row
    body = BODIES.get(f"{method} {path}")
    answer = caller(role, known).request(method, path.format(**known), body)
    assert answer.status_code == status
    assert set(answer.json() if answer.content else ()) >= fields


def caller(role: Role | None, known: Mapping[str, str]) -> ApiClient:
    """A client with that role alone, in the project where it is one of a project."""
    if role is None:
        return ApiClient()
    return ApiClient(make_key(Grant(role, group_id=known["group_id"] if role.is_group else None)))


def test_an_alert_says_what_it_is_about(reader: ApiClient, known: Mapping[str, str]) -> None:
    (alert,) = reader.get(f"/groups/{known['group_id']}/alerts").json()["results"]
    assert set(alert) == ALERT | {"hostId", "hostnameAndPort"}
    assert (alert["status"], alert["eventTypeName"], alert["tags"]) == ("OPEN", "HOST_DOWN", [])
    assert (alert["alertConfigId"], alert["hostId"]) == (known["config_id"], known["host_id"])
    assert alert["hostnameAndPort"] == "db1.example.com:27017"
    alone = reader.get(f"/groups/{known['group_id']}/alerts/{alert['id']}").json()
    assert {**alone, "links": alert["links"]} == alert
    assert [link["rel"].removeprefix("urn:opsapi:rel:") for link in alone["links"]] == [
        "self",
        "group",
        "alertConfig",
        "host",
        "alertConfigs",
        "notifications",
    ]


@each(("status", "count"), [("OPEN", 1), ("TRACKING", 0), ("CLOSED", 0), ("CANCELLED", 0)])
def test_alerts_are_filtered_by_status(
    reader: ApiClient, known: Mapping[str, str], status: str, count: int
) -> None:
    document = reader.get(f"/groups/{known['group_id']}/alerts?status={status}").json()
    assert (len(document["results"]), document["totalCount"]) == (count, count)


@each("status", ["open", "", "ALL", "OPEN,CLOSED"])
def test_another_status_is_refused_with_the_allowed_values(
    reader: ApiClient, known: Mapping[str, str], status: str
) -> None:
    answer = reader.get(f"/groups/{known['group_id']}/alerts?status={status}")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ALERT_STATUS")
    assert answer.json()["badFields"][0]["allowed"] == ["TRACKING", "OPEN", "CLOSED", "CANCELLED"]


def test_deleting_a_configuration_cancels_its_alert(owner: ApiClient, known: Mapping[str, str]) -> None:
    group = f"/groups/{known['group_id']}"
    owner.delete(f"{group}/alertConfigs/{known['config_id']}")
    assert owner.get(f"{group}/alerts/{known['alert_id']}").json()["status"] == "CANCELLED"


def test_the_root_is_the_same_for_every_key(owner: ApiClient) -> None:
    document = owner.get("/").json()
    assert document == ApiClient(make_key()).get("").json()
    assert (document["appName"], document["throttling"]) == ("Ops API", False)
    assert len(document["build"]) == 40


def test_every_link_of_the_root_answers(owner: ApiClient) -> None:
    links = {link["rel"]: link["href"] for link in owner.get("").json()["links"]}
    assert links.pop("self") == f"http://testserver{PUBLIC}"
    assert {rel.removeprefix("urn:opsapi:rel:") for rel in links} >= {
        "groups",
        "orgs",
        "users",
        "admin/accessList",
        "admin/apiKeys",
        "globalAlertConfigs",
        "globalAlerts",
        "globalEvents",
        "errorCodes",
        "eventTypes",
        "metricNames",
        "matcherFieldNames",
    }
    for href in links.values():
        answer: Any = owner.request("GET", href.removeprefix("http://testserver"), base="")
        assert answer.status_code == 200, href


def test_every_link_of_an_entity_answers(owner: ApiClient, known: Mapping[str, str]) -> None:
    group = f"/groups/{known['group_id']}"
    entities = (
        "",
        "/alertConfigs/{config_id}",
        "/alerts/{alert_id}",
        "/hosts/{host_id}",
        "/events/{event_id}",
    )
    for path in entities:
        for link in owner.get(group + path.format(**known)).json()["links"]:
            answer = owner.request("GET", link["href"].removeprefix("http://testserver"), base="")
            assert answer.status_code == 200, link


@each(
    ("path", "field"),
    [
        ("/errorCodes", "errorCode"),
        ("/eventTypes", "eventTypeName"),
        ("/metricNames", "metricName"),
    ],
)
def test_a_closed_set_is_listed_for_any_key(db: None, path: str, field: str) -> None:
    document = ApiClient(make_key()).get(f"{path}?itemsPerPage=500").json()
    names = [row[field] for row in document["results"]]
    assert len(names) == len(set(names)) == document["totalCount"] > 0
