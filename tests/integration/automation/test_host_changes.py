"""Hosts renamed and deleted by hand, over the API."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Database, Host
from events.models import Event
from tests.api import bodies
from tests.api.bodies import report
from tests.api.hosts import hosts_of, made, recorded
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db


class TestRenaming:
    """PATCH."""

    @each(
        ("change", "shown"),
        [
            ({"port": 27018}, ("db2.example.com", 27018)),
            ({"hostname": "db3"}, ("db3", 27017)),
            ({"hostname": "DB2.example.com"}, ("DB2.example.com", 27017)),
            ({"hostname": "2001:DB8::0:1", "port": 1}, ("2001:db8::1", 1)),
        ],
    )
    def test_what_is_named_changes_and_the_rest_stays(
        self, owner: ApiClient, project: Project, change: dict[str, Any], shown: tuple[str, int]
    ) -> None:
        before = made(owner, project)
        answer = owner.patch(f"{hosts_of(project)}/{before['id']}", change)
        assert answer.status_code == 200
        assert answer.json() == {**before, "hostname": shown[0], "port": shown[1]}
        (diff,) = recorded("HOST_CHANGED_AUDIT").diffs
        assert diff["status"] == "MODIFIED"
        assert {param["param"] for param in diff["params"]} == set(change)

    def test_what_was_read_can_be_written_back_and_changes_nothing(
        self, owner: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        agent.report(project.id, report(bodies.host(version="8.0", clusterName="orders", uptimeSeconds=5)))
        path = f"{hosts_of(project)}/{Host.objects.get().id}"
        document = owner.get(path).json()
        events = Event.objects.count()
        for body in (document, {}, {"port": document["port"]}, {"hostname": None}):
            answer = owner.patch(path, body)
            assert (answer.status_code, answer.json()) == (200, document)
        assert Event.objects.count() == events

    @each(
        ("change", "code"),
        [
            ({"typeName": "STANDALONE"}, "ATTRIBUTE_READ_ONLY"),
            ({"reachable": True}, "ATTRIBUTE_READ_ONLY"),
            ({"version": "9"}, "ATTRIBUTE_READ_ONLY"),
            ({"clusterName": "x"}, "ATTRIBUTE_READ_ONLY"),
            ({"id": "x"}, "ATTRIBUTE_READ_ONLY"),
            ({"port": 0}, "INVALID_ATTRIBUTE"),
            ({"hostname": "a_b"}, "INVALID_ATTRIBUTE"),
            ({"colour": "red"}, "INVALID_ATTRIBUTE"),
        ],
    )
    def test_nothing_else_is_changed(
        self, owner: ApiClient, project: Project, change: dict[str, Any], code: str
    ) -> None:
        path = f"{hosts_of(project)}/{made(owner, project)['id']}"
        before = owner.get(path).json()
        answer = owner.patch(path, {"port": 1, **change})
        assert refusal(answer) == (400, code)
        assert [bad["field"] for bad in answer.json()["badFields"]] == list(change)
        assert owner.get(path).json() == before

    def test_an_address_that_is_taken_is_409(self, owner: ApiClient, project: Project) -> None:
        made(owner, project, hostname="db1")
        path = f"{hosts_of(project)}/{made(owner, project, hostname='db2')['id']}"
        answer = owner.patch(path, {"hostname": "DB1"})
        assert refusal(answer) == (409, "HOST_ALREADY_EXISTS")
        assert answer.json()["parameters"] == ["DB1:27017"]
        assert owner.get(path).json()["hostname"] == "db2"
        assert not Event.objects.filter(event_type="HOST_CHANGED_AUDIT").exists()


class TestDeleting:
    """DELETE."""

    def test_it_is_gone_at_once_and_its_address_free(
        self, owner: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        agent.report(project.id, report(bodies.host(databases=[{"databaseName": "a"}])))
        host = Host.objects.get()
        path = f"{hosts_of(project)}/{host.id}"
        assert owner.delete(path).status_code == 204
        assert refusal(owner.get(path)) == (404, "HOST_NOT_FOUND")
        assert refusal(owner.delete(path)) == (404, "HOST_NOT_FOUND")
        assert refusal(owner.get(f"{path}/databases")) == (404, "HOST_NOT_FOUND")
        assert refusal(owner.get(f"{hosts_of(project)}/byName/{host}")) == (404, "HOST_NOT_FOUND")
        assert owner.get(hosts_of(project)).json()["totalCount"] == 0
        assert owner.get(f"/groups/{project.id}").json()["hostCount"] == 0
        assert not Database.objects.exists()
        assert made(owner, project, hostname=host.hostname)["id"] != host.id

    def test_it_is_recorded_with_what_it_was(self, owner: ApiClient, project: Project) -> None:
        host = made(owner, project)
        owner.delete(f"{hosts_of(project)}/{host['id']}")
        event = recorded("DELETE_HOST_AUDIT")
        assert event.details["hostname"] == "db2.example.com"
        (change,) = event.diffs
        assert (change["id"], change["status"]) == (host["id"], "REMOVED")

    def test_a_report_that_names_it_again_adds_it_again(
        self, owner: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        agent.report(project.id, report(bodies.host(version="8.0")))
        first = Host.objects.get()
        owner.delete(f"{hosts_of(project)}/{first.id}")
        agent.report(project.id, report(bodies.host()))
        second = Host.objects.get()
        assert (second.id != first.id, second.version) == (True, None)
        assert Event.objects.filter(event_type="NEW_HOST").count() == 2
