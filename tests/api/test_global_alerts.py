"""The alerts of global configurations, over all projects."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import Alert
from events.models import Event
from opsapi.clock import wire_time
from opsapi.roles import Role
from tests.api.recipients import client, fields, group, refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert, make_global_config
from tests.factories.automation import make_host

UNTIL, GONE = "2099-11-21T12:00:00Z", "2001-11-21T12:00:00Z"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
BASE = "http://testserver/api/public/v1.0"
RELATION = "urn:opsapi:rel:"
pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher() -> ApiClient:
    """Global Read Only."""
    return ApiClient(make_key(Role.GLOBAL_READ_ONLY))


@pytest.fixture
def alert(project: Project) -> Alert:
    """One of a global configuration."""
    return make_alert(project, is_global=True, facts={"hostId": "a" * 24, "hostname": "db1", "port": 1})


def path_of(alert: Alert) -> str:
    """Where the API has it among the global ones."""
    return f"/globalAlerts/{alert.id}"


def ids(document: dict[str, Any]) -> list[str]:
    """The ids of the listed alerts."""
    return [row["id"] for row in document["results"]]


def links(document: dict[str, Any]) -> dict[str, str]:
    """Relation → path below the public base."""
    return {link["rel"].removeprefix(RELATION): link["href"].removeprefix(BASE) for link in document["links"]}


class TestList:
    """GET /globalAlerts."""

    def test_it_has_alerts_of_every_project_newest_first(self, watcher: ApiClient) -> None:
        made = [
            make_alert(ProjectFactory.create(), is_global=True, created=NOON + n * MINUTE) for n in (1, 2)
        ]
        oldest = make_alert(ProjectFactory.create(), is_global=True, created=NOON)
        document = watcher.get("/globalAlerts").json()
        assert ids(document) == [made[1].id, made[0].id, oldest.id]
        assert document["totalCount"] == 3
        assert {row["groupId"] for row in document["results"]} == {
            alert.group_id for alert in (*made, oldest)
        }

    def test_alerts_of_a_projects_own_configurations_are_not_among_them(
        self, watcher: ApiClient, project: Project, alert: Alert
    ) -> None:
        own = make_alert(project)
        assert ids(watcher.get("/globalAlerts").json()) == [alert.id]
        assert refusal(watcher.get(path_of(own))) == (404, "ALERT_NOT_FOUND")

    def test_of_the_same_second_the_greater_id_comes_first(
        self, watcher: ApiClient, project: Project
    ) -> None:
        made = [make_alert(project, is_global=True, created=NOON).id for _ in range(3)]
        assert ids(watcher.get("/globalAlerts").json()) == sorted(made, reverse=True)

    def test_its_pages_bring_every_one_once(self, watcher: ApiClient, project: Project) -> None:
        made = {make_alert(project, is_global=True, created=NOON).id for _ in range(3)}
        pages = [watcher.get(f"/globalAlerts?itemsPerPage=2&pageNum={n}").json() for n in (1, 2, 3)]
        assert {id_ for page in pages for id_ in ids(page)} == made
        assert [len(page["results"]) for page in pages] == [2, 1, 0]
        assert [page["totalCount"] for page in pages] == [3, 3, 3]

    @each("status", ["TRACKING", "OPEN", "CLOSED", "CANCELLED"])
    def test_it_is_filtered_by_status(self, watcher: ApiClient, project: Project, status: str) -> None:
        made = {
            status: make_alert(project, is_global=True, status=status).id for status in ("OPEN", "CLOSED")
        }
        document = watcher.get(f"/globalAlerts?status={status}").json()
        assert ids(document) == [made[status]] if status in made else not document["results"]
        assert document["totalCount"] == len(document["results"])

    def test_another_status_is_refused_with_the_allowed_values(self, watcher: ApiClient) -> None:
        answer = watcher.get("/globalAlerts?status=open")
        assert refusal(answer) == (400, "INVALID_ALERT_STATUS")
        assert answer.json()["badFields"][0]["allowed"] == ["TRACKING", "OPEN", "CLOSED", "CANCELLED"]

    def test_a_deleted_project_has_none(self, owner: ApiClient, project: Project, alert: Alert) -> None:
        assert owner.delete(f"/groups/{project.id}").status_code == 204
        assert Alert.objects.filter(id=alert.id).exists()
        assert owner.get("/globalAlerts").json()["results"] == []
        assert refusal(owner.get(path_of(alert))) == (404, "ALERT_NOT_FOUND")
        assert refusal(owner.patch(path_of(alert), {"acknowledgedUntil": UNTIL})) == (404, "ALERT_NOT_FOUND")


def test_it_is_in_its_projects_list_too(
    reader: ApiClient, watcher: ApiClient, project: Project, alert: Alert
) -> None:
    (in_project,) = reader.get(f"/groups/{project.id}/alerts").json()["results"]
    (everywhere,) = watcher.get("/globalAlerts").json()["results"]
    assert everywhere == {**in_project, "links": everywhere["links"]}
    assert links(in_project) == {"self": f"/groups/{project.id}/alerts/{alert.id}"}
    assert links(everywhere) == {"self": path_of(alert)}


def test_alone_it_leads_on_to_what_can_be_read_there(
    reader: ApiClient, watcher: ApiClient, project: Project
) -> None:
    host, config = make_host(project), make_global_config()
    alert = make_alert(project, is_global=True, config_id=config.id, facts={"hostId": host.id})
    here, inside = path_of(alert), f"/groups/{project.id}/alerts/{alert.id}"
    around = {"group": f"/groups/{project.id}", "host": f"/groups/{project.id}/hosts/{host.id}"}
    assert links(watcher.get(here).json()) == {
        "self": here,
        **around,
        "alertConfig": f"/globalAlertConfigs/{alert.config_id}",
        "alertConfigs": f"{here}/alertConfigs",
        "notifications": f"{here}/notifications",
    }
    assert links(reader.get(inside).json()) == {
        "self": inside,
        **around,
        "alertConfigs": f"{inside}/alertConfigs",
        "notifications": f"{inside}/notifications",
    }


class TestAcknowledging:
    """PATCH."""

    @each("role", [Role.GLOBAL_OWNER, Role.GLOBAL_MONITORING_ADMIN])
    def test_it_is_acknowledged_for_everybody(
        self, reader: ApiClient, project: Project, alert: Alert, role: Role
    ) -> None:
        caller = ApiClient(make_key(role))
        body = {"acknowledgedUntil": UNTIL, "acknowledgementComment": "on it"}
        answer = caller.patch(path_of(alert), body)
        assert answer.status_code == 200
        assert links(answer.json())["self"] == path_of(alert)
        assert answer.json() == caller.get(path_of(alert)).json()
        seen = reader.get(f"/groups/{project.id}/alerts/{alert.id}").json()
        assert seen == {**answer.json(), "links": seen["links"]}
        event = Event.objects.get()
        assert (event.event_type, event.group_id, event.alert_id) == (
            "ALERT_ACKNOWLEDGED_AUDIT",
            project.id,
            alert.id,
        )

    def test_in_its_project_it_is_acknowledged_like_any_other(self, project: Project, alert: Alert) -> None:
        keeper = client(group(Role.GROUP_MONITORING_ADMIN, project))
        path = f"/groups/{project.id}/alerts/{alert.id}"
        assert keeper.patch(path, {"acknowledgedUntil": UNTIL}).json()["acknowledgedUntil"] == UNTIL
        assert "acknowledgedUntil" not in keeper.patch(path, {"acknowledgedUntil": GONE}).json()

    def test_what_was_read_can_be_written_back(self, owner: ApiClient, alert: Alert) -> None:
        read = owner.get(path_of(alert)).json()
        document = owner.patch(path_of(alert), {**read, "acknowledgedUntil": UNTIL}).json()
        assert document == {
            **read,
            "acknowledgedUntil": UNTIL,
            "acknowledgingUsername": document["acknowledgingUsername"],
            "updated": document["updated"],
        }

    def test_what_is_over_is_refused(self, owner: ApiClient, project: Project) -> None:
        over = make_alert(project, is_global=True, status="CLOSED", updated=NOON, resolved=NOON)
        answer = owner.patch(path_of(over), {"acknowledgedUntil": UNTIL})
        assert refusal(answer) == (400, "INVALID_ALERT_STATUS")
        assert fields(answer) == ["status"]
        assert owner.get(path_of(over)).json()["updated"] == wire_time(NOON)
        assert not Event.objects.exists()

    @each("role", [Role.GLOBAL_READ_ONLY, Role.GLOBAL_USER_ADMIN])
    def test_other_global_roles_only_read(self, alert: Alert, role: Role) -> None:
        caller = ApiClient(make_key(role))
        assert caller.get(path_of(alert)).status_code == 200
        answer = caller.patch(path_of(alert), {"acknowledgedUntil": UNTIL})
        assert refusal(answer) == (403, "USER_UNAUTHORIZED")
        assert "GLOBAL_OWNER or GLOBAL_MONITORING_ADMIN" in answer.json()["detail"]


def test_roles_in_a_project_open_nothing_here(project: Project, alert: Alert) -> None:
    caller = client(group(Role.GROUP_OWNER, project))
    for path in ("/globalAlerts", path_of(alert), f"{path_of(alert)}/notifications"):
        assert refusal(caller.get(path)) == (403, "USER_UNAUTHORIZED")


def test_an_unknown_one_is_not_found(watcher: ApiClient) -> None:
    answer = watcher.get(f"/globalAlerts/{'a' * 24}")
    assert refusal(answer) == (404, "ALERT_NOT_FOUND")
    assert answer.json()["parameters"] == ["a" * 24, "globalAlerts"]
    assert refusal(watcher.get("/globalAlerts/x")) == (404, "INVALID_ALERT_ID")
