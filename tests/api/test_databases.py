"""Databases of a host: the list, and one database (endpoint 11)."""

from typing import Any
from urllib.parse import quote

import pytest

from accesslist.models import Project
from automation.models import Host
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.automation import make_host

ODD_NAMES = [
    "a.b",
    "a b",
    "a/b",
    "/",
    "a/",
    "a//b",
    "%2F",
    "%",
    "+",
    "?x=1",
    "#",
    "ä🍣",
    "admin",
    "byName",
    "$external",
    "é" * 200,
]
pytestmark = pytest.mark.django_db


@pytest.fixture
def place(agent: ApiClient, project: Project) -> str:
    """The path of a host with every odd name, and one that is not odd."""
    names = [{"databaseName": name} for name in ["orders", *ODD_NAMES]]
    assert agent.report(project.id, report(host(databases=names))).status_code == 202
    return f"/groups/{project.id}/hosts/{Host.objects.get().id}"


def hrefs(document: dict[str, Any]) -> dict[str, str]:
    """Relation → path below the public base."""
    base = "http://testserver/api/public/v1.0"
    return {link["rel"]: link["href"].removeprefix(base) for link in document["links"]}


def test_a_database_is_its_name_and_links(reader: ApiClient, project: Project, place: str) -> None:
    document = reader.get(f"{place}/databases/orders").json()
    assert {**document, "links": []} == {"databaseName": "orders", "links": []}
    assert hrefs(document) == {
        "self": f"{place}/databases/orders",
        "urn:opsapi:rel:group": f"/groups/{project.id}",
        "urn:opsapi:rel:host": place,
        "urn:opsapi:rel:measurements": (
            f"{place}/databases/orders/measurements?granularity=PT1M&period=PT1H"
        ),
    }


@each("name", ODD_NAMES)
def test_whatever_its_name_holds_it_is_found_and_its_links_lead_to_it(
    reader: ApiClient, place: str, name: str
) -> None:
    answer = reader.get(f"{place}/databases/{quote(name, safe='')}")
    assert (answer.status_code, answer.json()["databaseName"]) == (200, name)
    links = hrefs(answer.json())
    assert reader.get(links["self"]).json() == answer.json()
    measured = reader.get(links["urn:opsapi:rel:measurements"])
    assert (measured.status_code, measured.json()["databaseName"]) == (200, name)


def test_databases_are_listed_by_name_with_their_own_link_only(reader: ApiClient, place: str) -> None:
    document = reader.get(f"{place}/databases?itemsPerPage=500").json()
    names = [row["databaseName"] for row in document["results"]]
    assert names == sorted(["orders", *ODD_NAMES])
    for row in document["results"]:
        path = f"{place}/databases/{quote(row['databaseName'], safe='')}"
        assert hrefs(row) == {"self": path}


def test_a_host_without_databases_lists_none(reader: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}/hosts/{make_host(project).id}/databases"
    assert reader.get(path).json()["results"] == []


@each("name", ["Orders", "x", "%00", "x" * 5000])
@each("below", ["", "/measurements"])
def test_an_unknown_name_is_404_and_reported_with_the_host(
    reader: ApiClient, place: str, name: str, below: str
) -> None:
    answer = reader.get(f"{place}/databases/{name}{below}")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "DATABASE_NOT_FOUND")
    assert answer.json()["parameters"][1] == "db1.example.com:27017"


def test_a_database_of_another_host_is_not_found(reader: ApiClient, project: Project, place: str) -> None:
    other = make_host(project, "db9")
    answer = reader.get(f"/groups/{project.id}/hosts/{other.id}/databases/orders")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "DATABASE_NOT_FOUND")
