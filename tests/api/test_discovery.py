"""Endpoint 15: the targets that scrapers get."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from opsapi.api.links import DISCOVERY
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's hosts are discovered."""
    return f"{DISCOVERY}/groups/{project.id}/discovery"


@pytest.fixture
def filled(project: Project) -> Project:
    """A project with two hosts."""
    ingest(project, host_report("db2"), host_report("db1", cluster_name="orders"))
    return project


def read(client: ApiClient, path: str) -> Any:
    """What a key is answered."""
    return client.request("GET", path, base="")


def targets(document: list[dict[str, Any]]) -> list[str]:
    """All targets, in order."""
    return [target for group in document for target in group["targets"]]


def test_it_is_a_bare_array_with_a_target_for_each_host(
    reader: ApiClient, filled: Project, path: str
) -> None:
    answer = read(reader, path)
    common = {"group_id": filled.id, "group_name": filled.name, "org_id": filled.org_id}
    assert answer.json() == [
        {"targets": ["db1:9216"], "labels": {**common, "process_port": "27017", "cl_name": "orders"}},
        {"targets": ["db2:9216"], "labels": {**common, "process_port": "27017"}},
    ]
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


def test_a_replica_set_is_a_label(admin: ApiClient, project: Project, path: str) -> None:
    member = bodies.host(
        hostname="2001:db8::1", port=27018, typeName="REPLICA_PRIMARY", replicaSetName="orders_0"
    )
    assert admin.report(project.id, bodies.report(member)).status_code == 202
    (found,) = read(admin, path).json()
    assert found["targets"] == ["[2001:db8::1]:9216"]
    assert {"process_port": "27018", "rs_nm": "orders_0"}.items() <= found["labels"].items()


def test_labels_of_the_agent_are_added(agent: ApiClient, reader: ApiClient, project: Project) -> None:
    path = f"{DISCOVERY}/groups/{project.id}/discovery"
    agent.report(project.id, bodies.report(bodies.host(hostname="db1"), labels={"env": "production"}))
    agent.report(project.id, bodies.report(bodies.host(hostname="db2")))
    first, second = (group["labels"] for group in read(reader, path).json())
    assert first == {**second, "env": "production"}


def test_without_hosts_it_is_an_empty_array(reader: ApiClient, path: str) -> None:
    answer = read(reader, path)
    assert (answer.status_code, answer.content) == (200, b"[]")


def test_the_exporters_port_is_that_of_the_integration(
    reader: ApiClient, project: Project, path: str
) -> None:
    ingest(project, host_report("db1"))
    assert targets(read(reader, path).json()) == ["db1:9216"]
    make_integration(project, listenAddress="[::]:9100", enabled=False)
    assert targets(read(reader, path).json()) == ["db1:9100"]


def test_deleted_hosts_and_hosts_of_other_projects_are_left_out(
    owner: ApiClient, filled: Project, path: str
) -> None:
    ingest(ProjectFactory.create(), host_report("other"))
    gone = owner.get(f"/groups/{filled.id}/hosts/byName/db1:27017").json()
    assert owner.delete(f"/groups/{filled.id}/hosts/{gone['id']}").status_code == 204
    assert targets(read(owner, path).json()) == ["db2:9216"]


@each(
    ("query", "shown"),
    [
        ("", slice(None)),
        ("?pageNum=1", slice(0, 100)),
        ("?pageNum=2", slice(100, 120)),
        ("?itemsPerPage=7", slice(0, 7)),
        ("?itemsPerPage=7&pageNum=3", slice(14, 21)),
        ("?itemsPerPage=500", slice(None)),
        ("?pageNum=2147483647&itemsPerPage=500", slice(0, 0)),
        ("?includeCount=false", slice(None)),
    ],
)
def test_the_whole_list_is_reported_unless_a_page_is_asked_for(
    reader: ApiClient, project: Project, path: str, query: str, shown: slice
) -> None:
    ingest(project, *(host_report(f"db{number:03}") for number in range(120)))
    expected = [f"db{number:03}:9216" for number in range(120)][shown]
    assert targets(read(reader, path + query).json()) == expected


@each("name", ["pageNum", "itemsPerPage"])
@each("value", ["0", "-1", "1.5", "", "x", "2147483648"])
def test_a_bad_page_is_refused(reader: ApiClient, path: str, name: str, value: str) -> None:
    answer = read(reader, f"{path}?{name}={value}")
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_QUERY_PARAMETER")
    assert [bad["field"] for bad in answer.json()["badFields"]] == [name]


def test_in_an_envelope_the_array_is_the_content(reader: ApiClient, filled: Project, path: str) -> None:
    bare = read(reader, path).json()
    assert read(reader, f"{path}?envelope=true").json() == {"status": 200, "content": bare}
    pretty = read(reader, f"{path}?pretty=true").content
    assert pretty.startswith(b"[\n  {")
    assert json.loads(pretty) == bare


def test_more_hosts_make_no_more_queries(reader: ApiClient, project: Project, path: str) -> None:
    counts = []
    for rows in (range(2), range(2, 9)):
        ingest(project, *(host_report(f"db{number}") for number in rows))
        with CaptureQueriesContext(connection) as queries:
            read(reader, path)
        counts.append(len(queries))
    assert counts[0] == counts[1]
