"""Hosts created by hand, and found."""

from typing import Any
from urllib.parse import quote

import pytest

from accesslist.models import Project
from automation.models import Cluster, Host
from events.models import Event
from tests.api import bodies
from tests.api.bodies import new_host, report
from tests.api.hosts import hosts_of, made, recorded, relations
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db


class TestMaking:
    """POST."""

    def test_a_new_host_has_no_data_until_the_first_report(self, admin: ApiClient, project: Project) -> None:
        document = made(admin, project)
        path = f"{hosts_of(project)}/{document['id']}"
        assert document == {
            "id": Host.objects.get().id,
            "groupId": project.id,
            "hostname": "db2.example.com",
            "port": 27017,
            "typeName": "NO_DATA",
            "created": document["created"],
            "links": document["links"],
        }
        assert relations(document) == {
            "self": path,
            "group": f"/groups/{project.id}",
            "databases": f"{path}/databases",
            "measurements": f"{path}/measurements?granularity=PT1M&period=PT1H",
        }
        assert admin.get(path).json() == document
        assert admin.get(f"/groups/{project.id}").json()["hostCount"] == 1

    def test_it_is_recorded_with_who_and_what(self, admin: ApiClient, project: Project) -> None:
        host = made(admin, project)
        event = recorded("ADD_HOST_AUDIT")
        assert admin.key
        assert event.details["publicKey"] == admin.key.public_key
        assert (event.details["hostId"], event.details["port"]) == (host["id"], 27017)
        (change,) = event.diffs
        assert (change["id"], change["type"], change["status"]) == (host["id"], "PROCESS", "NEW")
        said = {param["param"]: param["new"] for param in change["params"]}
        assert said["hostname"] == "db2.example.com"
        assert said["port"] == "27017"

    def test_the_first_report_fills_it_and_adds_none(
        self, admin: ApiClient, agent: ApiClient, project: Project
    ) -> None:
        host = made(admin, project, hostname="DB2.example.com")
        agent.report(project.id, report(bodies.host(hostname="db2.example.com")))
        shown = admin.get(f"{hosts_of(project)}/{host['id']}").json()
        assert (shown["typeName"], shown["reachable"]) == ("STANDALONE", True)
        assert shown["hostname"] == "DB2.example.com"
        assert not Event.objects.filter(event_type="NEW_HOST").exists()

    @each(
        ("first", "second"),
        [
            ({}, {}),
            ({"hostname": "db1"}, {"hostname": "DB1"}),
            ({"hostname": "db1"}, {"hostname": "db1."}),
            ({"hostname": "2001:db8::1"}, {"hostname": "2001:DB8:0::1"}),
        ],
    )
    def test_an_address_is_taken_once(
        self, admin: ApiClient, project: Project, first: dict[str, str], second: dict[str, str]
    ) -> None:
        made(admin, project, **first)
        events = Event.objects.count()
        answer = admin.post(hosts_of(project), new_host(**second))
        assert refusal(answer) == (409, "HOST_ALREADY_EXISTS")
        assert (Host.objects.count(), Event.objects.count()) == (1, events)
        assert made(admin, project, port=27018, **first)["port"] == 27018

    def test_a_conflict_names_the_address(self, admin: ApiClient, project: Project) -> None:
        made(admin, project, hostname="::1")
        answer = admin.post(hosts_of(project), new_host(hostname="::1"))
        assert answer.json()["parameters"] == ["[::1]:27017"]

    def test_the_same_address_in_another_project_is_another_host(
        self, owner: ApiClient, project: Project
    ) -> None:
        first, second = made(owner, project), made(owner, ProjectFactory.create())
        assert first["id"] != second["id"]
        assert (first["hostname"], first["port"]) == (second["hostname"], second["port"])

    @each(
        ("body", "field", "code"),
        [
            (new_host(hostname="a_b"), "hostname", "INVALID_ATTRIBUTE"),
            (new_host(hostname="db1:27017"), "hostname", "INVALID_ATTRIBUTE"),
            (new_host(hostname="1.2.3.999"), "hostname", "INVALID_ATTRIBUTE"),
            (new_host(typeName="STANDALONE"), "typeName", "ATTRIBUTE_READ_ONLY"),
            (new_host(labels={"env": "x"}), "labels", "ATTRIBUTE_READ_ONLY"),
        ],
    )
    def test_a_wrong_field_is_named_and_nothing_created(
        self, admin: ApiClient, project: Project, body: dict[str, Any], field: str, code: str
    ) -> None:
        answer = admin.post(hosts_of(project), body)
        assert refusal(answer) == (400, code)
        assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
        assert not Host.objects.exists()


class TestFinding:
    """By name and port, and in the list."""

    @each(
        ("hostname", "asked"),
        [
            ("db1.example.com", "db1.example.com:27017"),
            ("DB1.example.com", "db1.EXAMPLE.com:27017"),
            ("db1", "db1.:27017"),
            ("db1", "db1%3A27017"),
            ("::1", "[::1]:27017"),
            ("::1", "%5B::1%5D:27017"),
            ("::1", "::1:27017"),
            ("::1", "0:0:0:0:0:0:0:1:27017"),
            ("10.0.0.1", "10.0.0.1:27017"),
        ],
    )
    def test_a_host_is_found_by_name_and_port(
        self, admin: ApiClient, project: Project, hostname: str, asked: str
    ) -> None:
        host = made(admin, project, hostname=hostname)
        answer = admin.get(f"{hosts_of(project)}/byName/{asked}")
        assert (answer.status_code, answer.json()) == (200, host)

    @each("asked", ["db1:27018", "db2:27017", "db1", "db1:", "db1:x", "db1:0", "db1:99999", "a/b:1", "%00:1"])
    def test_an_unknown_or_malformed_address_is_404(
        self, admin: ApiClient, project: Project, asked: str
    ) -> None:
        made(admin, project, hostname="db1")
        assert refusal(admin.get(f"{hosts_of(project)}/byName/{asked}")) == (404, "HOST_NOT_FOUND")

    def test_a_host_of_another_project_is_not_found_by_name(self, owner: ApiClient, project: Project) -> None:
        made(owner, project)
        other = ProjectFactory.create()
        answer = owner.get(f"{hosts_of(other)}/byName/db2.example.com:27017")
        assert refusal(answer) == (404, "HOST_NOT_FOUND")

    def test_hosts_are_listed_by_name_and_port(self, admin: ApiClient, project: Project) -> None:
        for hostname, port in (("b", 1), ("A", 2), ("a", 10), ("a", 9)):
            made(admin, project, hostname=hostname, port=port)
        shown = admin.get(hosts_of(project)).json()["results"]
        assert [(host["hostname"], host["port"]) for host in shown] == [
            ("A", 2),
            ("a", 9),
            ("a", 10),
            ("b", 1),
        ]
        assert all([link["rel"] for link in host["links"]] == ["self"] for host in shown)

    def test_everything_a_report_can_say_is_shown(
        self, agent: ApiClient, reader: ApiClient, project: Project
    ) -> None:
        said = bodies.host(
            typeName="SHARD_PRIMARY",
            version="8.0",
            replicaSetName="rs0",
            clusterName="orders",
            shardName="s0",
            uptimeSeconds=60,
        )
        agent.report(project.id, report(said))
        (listed,) = reader.get(hosts_of(project)).json()["results"]
        shown = reader.get(f"{hosts_of(project)}/{listed['id']}").json()
        cluster = Cluster.objects.get()
        assert {name: shown[name] for name in said} == said
        assert shown["clusterId"] == cluster.id
        assert shown["lastReport"] == shown["created"]
        assert relations(shown)["cluster"] == f"/groups/{project.id}/clusters/{cluster.id}"


def test_labels_are_a_field_of_hosts_that_have_some_and_can_be_sent_back(
    agent: ApiClient, admin: ApiClient, project: Project
) -> None:
    agent.report(project.id, report(bodies.host()))
    (without,) = admin.get(hosts_of(project)).json()["results"]
    agent.report(project.id, report(bodies.host(), labels={"env": "production"}))
    (listed,) = admin.get(hosts_of(project)).json()["results"]
    assert listed.keys() - without.keys() == {"labels"}
    path = f"{hosts_of(project)}/{listed['id']}"
    shown = admin.get(path).json()
    assert shown["labels"] == listed["labels"] == {"env": "production"}
    assert admin.patch(path, {**shown, "hostname": "db9"}).status_code == 200
    assert admin.get(path).json()["labels"] == {"env": "production"}
    changed = {**admin.get(path).json(), "labels": {"env": "test"}}
    assert refusal(admin.patch(path, changed)) == (400, "ATTRIBUTE_READ_ONLY")


@each("kind", ["hosts", "clusters"])
def test_every_link_of_a_document_alone_answers(
    agent: ApiClient, reader: ApiClient, project: Project, kind: str
) -> None:
    agent.report(project.id, report(bodies.host(clusterName="c")))
    (listed,) = reader.get(f"/groups/{project.id}/{kind}").json()["results"]
    links = relations(reader.get(f"/groups/{project.id}/{kind}/{quote(listed['id'])}").json())
    assert {rel: reader.get(path).status_code for rel, path in links.items()} == dict.fromkeys(links, 200)
