"""The permission matrix over HTTP, derived from what the views declare.

Which role implies which is tested by hand in tests/unit/opsapi/test_roles.py.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from accesslist.models import AccessListEntry, Project
from opsapi.api.permissions import Where
from opsapi.roles import IMPLIED, Grant, Role
from tests.api.routes import KEYED, OPEN_ROUTES, ROUTES, Route
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair, ProjectFactory, make_entry, make_key

ADDRESS = "203.0.113.9"
WITH_ROLES = [route for route in KEYED if route.access.roles]
WITHOUT_ROLES = [route for route in KEYED if not route.access.roles]
IN_GROUP = [route for route in KEYED if route.access.where is Where.GROUP]
# Every project has every type of integration, configured or not, and of agents.
OF_TYPES = (["integration_type"], ["agent_type"])
NESTED = [route for route in IN_GROUP if route.parameters[1:] and route.parameters[1:] not in OF_TYPES]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


@pytest.fixture
def project(known: Mapping[str, str], db: None) -> Project:
    """The project of these objects."""
    return Project.objects.get(id=known["group_id"])


def call(route: Route, known: Mapping[str, str], key: KeyPair, **options: Any) -> tuple[int, str | None]:
    """Status and error code, for a body no route takes: who is admitted gets further than 403."""
    body = b"nonsense" if route.takes_body else None
    answer = ApiClient(key).request(route.method, route.path(known), body, base="", **options)
    return answer.status_code, answer.json()["errorCode"] if answer.status_code >= 400 else None


def is_admitted(route: Route, known: Mapping[str, str], key: KeyPair) -> bool:
    """Whether it is a matter of the request only, and no longer of who calls."""
    status, _ = call(route, known, key)
    assert status < 500
    return status not in {401, 403}


def grant(role: Role, project: Project) -> Grant:
    """The role where it can be held: in the project, in its organization, or everywhere."""
    if role.is_group:
        return Grant(role, group_id=project.id)
    return Grant(role, org_id=project.org_id) if role.is_org else Grant(role)


def reaches(role: Role, route: Route) -> bool:
    """Whether a grant of the role can count for the route: installation routes ask for global ones."""
    return (
        role.is_global
        or route.access.where is Where.GROUP
        or (role.is_org and route.access.where is Where.ORG)
    )


def suffices(role: Role, route: Route) -> bool:
    """Whether the role is, or implies, a role that the route declares."""
    return reaches(role, route) and bool(IMPLIED[role] & frozenset(route.access.roles))


def highest(roles: Iterable[Role]) -> list[Role]:
    """The roles that no other of these roles implies."""
    found = list(roles)
    return [role for role in found if not any(role in IMPLIED[other] - {other} for other in found)]


def lowest(roles: Iterable[Role]) -> list[Role]:
    """The roles that imply no other of these roles."""
    found = list(roles)
    return [role for role in found if not (IMPLIED[role] - {role}) & frozenset(found)]


def test_every_action_declares_its_access() -> None:
    undeclared = [str(route) for route in ROUTES if route.action not in route.viewset.access]
    assert undeclared == []


def test_access_with_a_scope_declares_roles() -> None:
    roleless = [str(route) for route in WITHOUT_ROLES if route.access.where is not Where.SOMEWHERE]
    assert roleless == []


def test_only_these_routes_are_open_without_a_key() -> None:
    assert {str(route) for route in OPEN_ROUTES} == {
        "POST /api/public/v1.0/unauth/users",
        "GET /health/live",
        "GET /health/ready",
    }


def test_only_these_routes_ask_for_no_role() -> None:
    public = "/api/public/v1.0"
    assert {str(route) for route in WITHOUT_ROLES} == {
        f"GET {public}",
        f"GET {public}/errorCodes",
        f"GET {public}/eventTypes",
        f"GET {public}/metricNames",
        f"GET {public}/alertConfigs/matchers/fieldNames",
        f"GET {public}/automationConfig/schema",
        f"GET {public}/users",
        f"GET {public}/users/byName/<path:username>",
        f"GET {public}/users/<user_id>",
        f"PATCH {public}/users/<user_id>",
        f"GET {public}/orgs",
        f"GET {public}/orgs/byName/<path:org_name>",
        f"GET {public}/groups",
        f"GET {public}/groups/byName/<path:group_name>",
        f"POST {public}/groups",
    }


@each("route", [route for route in WITHOUT_ROLES if not route.takes_body], ids=str)
def test_any_key_is_admitted(known: Mapping[str, str], route: Route) -> None:
    assert is_admitted(route, known, make_key())


@pytest.mark.slow
@each("route", WITH_ROLES, ids=str)
def test_the_lowest_roles_that_may_are_admitted(
    known: Mapping[str, str], project: Project, route: Route
) -> None:
    roles = lowest(role for role in Role if suffices(role, route))
    refused = [role for role in roles if not is_admitted(route, known, make_key(grant(role, project)))]
    assert roles
    assert refused == []


@pytest.mark.slow
@each("route", WITH_ROLES, ids=str)
def test_the_highest_roles_that_may_not_are_refused(
    known: Mapping[str, str], project: Project, route: Route
) -> None:
    roles = highest(role for role in Role if not suffices(role, route))
    assert roles
    for role in roles:
        status, code = call(route, known, make_key(grant(role, project)))
        assert (status, code) in {(403, "USER_UNAUTHORIZED"), (403, "NOT_IN_GROUP")}, role


@pytest.mark.slow
@each("route", IN_GROUP, ids=str)
def test_a_key_of_another_project_is_refused(known: Mapping[str, str], route: Route) -> None:
    other = ProjectFactory.create()
    for grants in (Grant(Role.GROUP_OWNER, group_id=other.id), Grant(Role.ORG_OWNER, org_id=other.org_id)):
        assert call(route, known, make_key(grants)) == (403, "NOT_IN_GROUP")


@each("route", NESTED, ids=str)
def test_rows_of_another_project_are_not_found_in_a_project(known: Mapping[str, str], route: Route) -> None:
    own = ProjectFactory.create()
    key = make_key(Grant(Role.GROUP_OWNER, group_id=own.id))
    status, code = call(route, {**known, "group_id": own.id}, key)
    assert status == 404
    assert str(code).endswith("_NOT_FOUND")


@pytest.mark.slow
@each("route", KEYED, ids=str)
def test_an_address_off_the_list_is_refused(route: Route) -> None:
    # Of the two lists one is there at a time, so that it is this one that refuses.
    for of_its_own in (True, False):
        AccessListEntry.objects.all().delete()
        key = make_key(Role.GLOBAL_OWNER)
        make_entry("192.0.2.0/24", key.id if of_its_own else None)
        answer = call(route, {}, key, REMOTE_ADDR=ADDRESS)
        assert answer == (403, "IP_ADDRESS_NOT_ON_ACCESS_LIST"), of_its_own
