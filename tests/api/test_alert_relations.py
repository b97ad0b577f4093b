"""The configuration that raised an alert."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import Alert
from opsapi.roles import Role
from tests.api import bodies
from tests.api.recipients import client, group, refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db


@pytest.fixture
def watcher() -> ApiClient:
    """Global Read Only."""
    return ApiClient(make_key(Role.GLOBAL_READ_ONLY))


@pytest.fixture
def own(owner: ApiClient, project: Project) -> dict[str, Any]:
    """A configuration of the project, as its list shows it."""
    made = owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config()).json()
    return {**made, "links": made["links"][:1]}


@pytest.fixture
def everywhere(owner: ApiClient) -> dict[str, Any]:
    """A global one, as its list shows it."""
    made = owner.post("/globalAlertConfigs", bodies.alert_config(forAllGroups=True)).json()
    return {**made, "links": made["links"][:1]}


def path_of(alert: Alert) -> str:
    """Where its configuration is listed."""
    return f"/groups/{alert.group_id}/alerts/{alert.id}/alertConfigs"


def listed(caller: ApiClient, path: str) -> Any:
    """The items of the list, after checking them against `totalCount`."""
    document = caller.get(path).json()
    assert document["totalCount"] == len(document["results"])
    return document["results"]


def test_it_lists_the_configuration_that_raised_it(
    reader: ApiClient, owner: ApiClient, project: Project, own: dict[str, Any]
) -> None:
    owner.post(f"/groups/{project.id}/alertConfigs", bodies.alert_config())
    alert = make_alert(project, config_id=own["id"])
    assert listed(reader, path_of(alert)) == [own]


def test_once_deleted_there_is_none(
    reader: ApiClient, owner: ApiClient, project: Project, own: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=own["id"], status="CLOSED")
    assert owner.delete(f"/groups/{project.id}/alertConfigs/{own['id']}").status_code == 204
    assert listed(reader, path_of(alert)) == []


def test_a_global_alert_is_listed_in_both_places_for_its_readers(
    watcher: ApiClient, project: Project, everywhere: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=everywhere["id"], is_global=True)
    assert listed(watcher, path_of(alert)) == [everywhere]
    assert listed(watcher, f"/globalAlerts/{alert.id}/alertConfigs") == [everywhere]


def test_every_link_of_a_global_alert_answers(
    watcher: ApiClient, project: Project, everywhere: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=everywhere["id"], is_global=True)
    for path in (f"/globalAlerts/{alert.id}", f"/groups/{project.id}/alerts/{alert.id}"):
        for link in watcher.get(path).json()["links"]:
            answer = watcher.request("GET", link["href"].removeprefix("http://testserver"), base="")
            assert answer.status_code == 200, link


def test_a_global_one_is_not_shown_to_a_projects_own_people(
    project: Project, everywhere: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=everywhere["id"], is_global=True)
    admin = client(group(Role.GROUP_OWNER, project))
    assert listed(admin, path_of(alert)) == []
    assert refusal(admin.get(f"/globalAlerts/{alert.id}/alertConfigs")) == (403, "USER_UNAUTHORIZED")


def test_a_deleted_global_one_is_not_listed(
    owner: ApiClient, project: Project, everywhere: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=everywhere["id"], is_global=True, status="CLOSED")
    assert owner.delete(f"/globalAlertConfigs/{everywhere['id']}").status_code == 204
    assert listed(owner, f"/globalAlerts/{alert.id}/alertConfigs") == []


def test_an_alert_of_another_project_is_not_found(reader: ApiClient, project: Project) -> None:
    other = make_alert(ProjectFactory.create())
    answer = reader.get(f"/groups/{project.id}/alerts/{other.id}/alertConfigs")
    assert refusal(answer) == (404, "ALERT_NOT_FOUND")


def rels(caller: ApiClient, path: str) -> set[str]:
    """Where an alert leads to; every link answers."""
    links = caller.get(path).json()["links"]
    for link in links:
        answer = caller.request("GET", link["href"].removeprefix("http://testserver"), base="")
        assert answer.status_code == 200, link
    return {link["rel"].rpartition(":")[2] for link in links}


ALWAYS = {"self", "group", "alertConfigs", "notifications"}


def test_it_leads_to_its_configuration_and_host_while_they_are_there(
    owner: ApiClient, project: Project, own: dict[str, Any]
) -> None:
    host = owner.post(f"/groups/{project.id}/hosts", bodies.new_host()).json()
    alert = make_alert(project, config_id=own["id"], facts={"hostId": host["id"]}, status="CLOSED")
    path = f"/groups/{project.id}/alerts/{alert.id}"
    assert rels(owner, path) == ALWAYS | {"alertConfig", "host"}
    assert owner.delete(f"/groups/{project.id}/hosts/{host['id']}").status_code == 204
    assert rels(owner, path) == ALWAYS | {"alertConfig"}
    assert owner.get(path).json()["hostId"] == host["id"]
    assert owner.delete(f"/groups/{project.id}/alertConfigs/{own['id']}").status_code == 204
    assert rels(owner, path) == ALWAYS
    assert owner.get(path).json()["alertConfigId"] == own["id"]


def test_a_global_alert_leads_to_its_configuration_while_it_is_there(
    owner: ApiClient, project: Project, everywhere: dict[str, Any]
) -> None:
    alert = make_alert(project, config_id=everywhere["id"], is_global=True, status="CLOSED")
    path = f"/globalAlerts/{alert.id}"
    assert rels(owner, path) == ALWAYS | {"alertConfig"}
    assert owner.delete(f"/globalAlertConfigs/{everywhere['id']}").status_code == 204
    assert rels(owner, path) == ALWAYS
