"""List documents: pages, links, counts."""

from ipaddress import ip_network
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def seven(owner: ApiClient) -> ApiClient:
    """An owner of an installation with seven projects, p0 to p6."""
    for number in range(7):
        ProjectFactory.create(name=f"p{number}")
    return owner


def names(document: dict[str, Any]) -> list[str]:
    """The names of the projects in a list."""
    return [row["name"] for row in document["results"]]


def links(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """The query of each link, by relation."""
    return {link["rel"]: dict(parse_qsl(urlsplit(link["href"]).query)) for link in document["links"]}


@each(
    ("query", "shown", "relations"),
    [
        ("", ["p0", "p1", "p2", "p3", "p4", "p5", "p6"], {"self": 1}),
        ("itemsPerPage=7", ["p0", "p1", "p2", "p3", "p4", "p5", "p6"], {"self": 1}),
        ("itemsPerPage=3", ["p0", "p1", "p2"], {"self": 1, "next": 2}),
        ("itemsPerPage=3&pageNum=2", ["p3", "p4", "p5"], {"self": 2, "previous": 1, "next": 3}),
        ("itemsPerPage=3&pageNum=3", ["p6"], {"self": 3, "previous": 2}),
        ("itemsPerPage=3&pageNum=4", [], {"self": 4, "previous": 3}),
        ("itemsPerPage=500&pageNum=2147483647", [], {"self": 2147483647, "previous": 2147483646}),
        ("itemsPerPage=1.0&pageNum=2.00", ["p1"], {"self": 2, "previous": 1, "next": 3}),
        ("pageNum=3&pageNum=1&itemsPerPage=6", ["p0", "p1", "p2", "p3", "p4", "p5"], {"self": 1, "next": 2}),
    ],
)
def test_a_page_has_its_rows_its_links_and_the_whole_count(
    seven: ApiClient, query: str, shown: list[str], relations: dict[str, int]
) -> None:
    document = seven.get(f"/groups?{query}").json()
    assert names(document) == shown
    assert {rel: int(found["pageNum"]) for rel, found in links(document).items()} == relations
    assert document["totalCount"] == 7


@each(
    ("query", "counts"),
    [
        ("itemsPerPage=3", 1),
        ("itemsPerPage=3&includeCount=true&pageNum=2", 1),
        ("itemsPerPage=3&pageNum=4", 1),
        ("itemsPerPage=3&includeCount=false", 0),
        ("itemsPerPage=3&pageNum=3", 0),
        ("", 0),
    ],
)
def test_rows_are_counted_only_when_it_is_shown_and_the_page_does_not_show(
    seven: ApiClient, query: str, counts: int
) -> None:
    with CaptureQueriesContext(connection) as queries:
        seven.get(f"/groups?{query}")
    assert sum("COUNT(" in query["sql"] for query in queries.captured_queries) == counts


def test_links_keep_the_callers_other_parameters(seven: ApiClient) -> None:
    asked = "eventType=GROUP_CREATED&eventType=HOST_UP&x=%C3%A9%26b&itemsPerPage=2&envelope=true&pageNum=2.0"
    document = seven.get(f"/globalEvents?{asked}").json()
    query = urlsplit(document["links"][0]["href"]).query
    assert parse_qsl(query) == [
        ("pageNum", "2"),
        ("itemsPerPage", "2"),
        ("eventType", "GROUP_CREATED"),
        ("eventType", "HOST_UP"),
        ("x", "é&b"),
        ("envelope", "true"),
    ]


def test_following_next_shows_every_row_once(seven: ApiClient) -> None:
    found: list[str] = []
    path: str | None = "/api/public/v1.0/groups?itemsPerPage=2"
    while path:
        document = seven.request("GET", path, base="").json()
        found += names(document)
        following = [link["href"] for link in document["links"] if link["rel"] == "next"]
        path = following[0].removeprefix("http://testserver") if following else None
    assert found == [f"p{number}" for number in range(7)]


@pytest.mark.parametrize(
    ("public_url", "headers", "base"),
    [
        ("", {}, "http://localhost"),
        ("", {"HTTP_HOST": "127.0.0.1:8000"}, "http://127.0.0.1:8000"),
        ("", {"HTTP_HOST": "[::1]:8000"}, "http://[::1]:8000"),
        ("", {"HTTP_X_FORWARDED_PROTO": "https"}, "http://localhost"),
        ("https://ops.example.com/x", {"HTTP_HOST": "evil.example"}, "https://ops.example.com/x"),
    ],
)
def test_links_are_absolute(
    owner: ApiClient, settings: Settings, public_url: str, headers: dict[str, str], base: str
) -> None:
    settings.OPSAPI_PUBLIC_URL = public_url
    document = owner.get("/groups", **({"HTTP_HOST": "localhost"} | headers)).json()
    assert document["links"][0]["href"] == f"{base}/api/public/v1.0/groups?pageNum=1&itemsPerPage=100"


INNER, OUTER = "10.0.0.1", "10.0.0.2"
CHAIN = f"203.0.113.9, {OUTER}"


@pytest.mark.parametrize(
    ("peer", "said", "base"),
    [
        pytest.param(INNER, ("203.0.113.9", "https", "a"), "https://a", id="one proxy"),
        pytest.param(
            INNER, ("203.0.113.9", "HTTPS", "a:8443"), "https://a:8443", id="in capitals, with a port"
        ),
        pytest.param(INNER, (CHAIN, "https, http", "a, b"), "https://a", id="each adds its own"),
        pytest.param(INNER, (CHAIN, "https,http", "a,a"), "https://a", id="without blanks"),
        pytest.param(INNER, (CHAIN, "https", "a"), "https://a", id="the inner one hands on"),
        pytest.param(
            INNER, (CHAIN, "https, http, http", "evil, b, b"), "http://b", id="the client wrote first"
        ),
        pytest.param(
            INNER, ("203.0.113.9", "https, http", "evil, a"), "http://a", id="one added, one forged"
        ),
        pytest.param(INNER, ("", "https, http", "evil, a"), "http://a", id="no word of any other proxy"),
        pytest.param(INNER, (CHAIN, "gopher, http", "a"), "http://a", id="no scheme of ours"),
        pytest.param(INNER, (CHAIN, " , ", ","), "http://localhost", id="nothing but commas"),
        pytest.param(
            "203.0.113.9", (CHAIN, "https, http", "a, a"), "http://localhost", id="no proxy of ours"
        ),
    ],
)
def test_links_are_as_the_client_reached_the_outermost_proxy(
    owner: ApiClient, settings: Settings, peer: str, said: tuple[str, str, str], base: str
) -> None:
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    settings.ALLOWED_HOSTS = ["localhost", "a", "b"]
    names = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST")
    headers = {name: value for name, value in zip(names, said, strict=True) if value}
    answer = owner.get("/groups", HTTP_HOST="localhost", REMOTE_ADDR=peer, **headers)
    assert answer.json()["links"][0]["href"].partition("/api/")[0] == base
