"""Links from the root lead to every GET route, except lookups by name and reports about one resource."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from opsapi.api.links import PUBLIC
from tests.api.routes import ROUTES, Route
from tests.client import ApiClient
from tests.each import each

SERVER = "http://testserver"
PARENTS = {
    "/groups/<group_id>/alertConfigs/presets": "/groups/<group_id>",
    "/groups/<group_id>/automationConfig/revisions": "/groups/<group_id>",
    "/automationConfig/schema": "/groups/<group_id>",
}
"""What is below a list, or a document without links, as its fields are the client's → what links it."""


def template_of(route: Route) -> str:
    """Its path below the public base, without the types of its parameters."""
    return re.sub(r"<\w+:", "<", route.template.removeprefix(PUBLIC))


# Lookups by name and deprecated paths need no link. The contract fixes the links of alerts and of alert
# configurations, and has no reports.
REPORTS = ("/explanation", "/noise")
QUERIES = ("/groups/<group_id>/measurements",)
"""Queries that need hosts, metrics and a time range, which no document names together."""
READ = {
    template_of(route): route
    for route in ROUTES
    if route.method == "GET" and route.template.startswith(PUBLIC) and "byName" not in route.template
    if "/whitelist" not in route.template and not route.template.endswith(REPORTS)
    if template_of(route) not in QUERIES
}
COLLECTIONS = [
    template
    for template, route in READ.items()
    if isinstance(route.viewset.answers[route.action], list) or template.endswith("fieldNames")
]
pytestmark = pytest.mark.django_db


def parent_of(template: str) -> str:
    """The nearest template above it that is read."""
    above = PARENTS.get(template) or template.rpartition("/")[0]
    return above if above in READ else parent_of(above)


def links_in(document: Any) -> Iterator[str]:
    """The paths of all links in an answer."""
    if isinstance(document, dict):
        for link in document.get("links", []):
            yield link["href"].removeprefix(SERVER + PUBLIC)
        yield from links_in(document.get("results", []))
    elif isinstance(document, list):
        for part in document:
            yield from links_in(part)


def template_at(path: str) -> str:
    """The template that the path is read by: the most literal one."""
    found = [
        template
        for template in READ
        if re.fullmatch(re.sub(r"<\w+>", "[^/]+", template), path.partition("?")[0])
    ]
    assert found, f"a link leads to {path}, which is no route"
    return min(found, key=lambda template: template.count("<"))


@pytest.mark.slow
def test_following_links_from_the_root_reaches_everything(
    owner: ApiClient, known_anew: Mapping[str, str]
) -> None:
    waiting, reached = [""], set()
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        answer = owner.get(path)
        assert answer.status_code == 200, path
        reached.add(template_at(path))
        found = set(links_in(answer.json())) - seen
        seen |= found
        waiting.extend(found)
    assert set(READ) - reached == set()


@each("template", COLLECTIONS)
def test_a_collection_is_linked_from_its_parent(
    owner: ApiClient, known_anew: Mapping[str, str], template: str
) -> None:
    values = {**known_anew, "agent_type": "MONITORING"}
    parent = parent_of(template)
    path, place = (re.sub(r"<(\w+)>", lambda name: values[name[1]], path) for path in (template, parent))
    linked = {link.partition("?")[0] for link in links_in(owner.get(place).json())}
    assert path in linked, f"{parent} does not link {template}"


def test_a_project_links_its_organization(reader: ApiClient, known_anew: Mapping[str, str]) -> None:
    links = reader.get(f"/groups/{known_anew['group_id']}").json()["links"]
    assert f"{SERVER}{PUBLIC}/orgs/{known_anew['org_id']}" in [link["href"] for link in links]
