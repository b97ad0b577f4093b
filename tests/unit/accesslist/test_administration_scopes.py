"""By which routes of the API a caller changes what a key holds."""

import pytest

from accesslist.roles.rules import is_within_scope, manageable_scopes, require_manageable_scopes
from opsapi.api.errors import ApiError
from opsapi.roles import INSTALLATION, Grant, Role, Scope
from tests.each import each

ONE, TWO, OTHER = Scope("org1", "group1"), Scope("org1", "group2"), Scope("org2", "group3")
ORG = Scope("org1")
HELD = [
    (Grant(Role.GROUP_AGENT, group_id="group1"), ONE),
    (Grant(Role.GROUP_READ_ONLY, group_id="group1"), ONE),
    (Grant(Role.GROUP_READ_ONLY, group_id="group2"), TWO),
    (Grant(Role.GROUP_OWNER, group_id="group3"), OTHER),
    (Grant(Role.ORG_MEMBER, org_id="org1"), ORG),
    (Grant(Role.GLOBAL_READ_ONLY), INSTALLATION),
]


@each(
    ("by", "expected"),
    [
        ([Grant(Role.GLOBAL_OWNER)], [INSTALLATION]),
        (
            [Grant(Role.GLOBAL_USER_ADMIN)],
            [Scope(group_id="group1"), Scope(group_id="group2"), Scope(group_id="group3")],
        ),
        ([Grant(Role.GLOBAL_READ_ONLY)], []),
        ([Grant(Role.ORG_OWNER, org_id="org1")], [ORG]),
        ([Grant(Role.ORG_OWNER, org_id="org3")], []),
        ([Grant(Role.ORG_MEMBER, org_id="org1")], []),
        ([Grant(Role.GROUP_OWNER, group_id="group2")], [Scope(group_id="group2")]),
        ([Grant(Role.GROUP_USER_ADMIN, group_id="group3")], [Scope(group_id="group3")]),
        ([Grant(Role.GROUP_MONITORING_ADMIN, group_id="group1")], []),
        (
            [Grant(Role.GROUP_OWNER, group_id="group3"), Grant(Role.ORG_OWNER, org_id="org1")],
            [ORG, Scope(group_id="group3")],
        ),
        ([], []),
    ],
)
def test_each_role_is_in_the_widest_manageable_scope(by: list[Grant], expected: list[Scope]) -> None:
    assert manageable_scopes(HELD, by=by) == expected


def test_a_key_without_roles_is_managed_by_global_owners_only() -> None:
    assert manageable_scopes([], by=[Grant(Role.GLOBAL_OWNER)]) == [INSTALLATION]
    assert manageable_scopes([], by=[Grant(Role.ORG_OWNER, org_id="org1")]) == []


def test_a_refusal_names_the_sufficient_roles() -> None:
    with pytest.raises(ApiError) as caught:
        require_manageable_scopes(HELD, by=[Grant(Role.GROUP_READ_ONLY, group_id="group1")])
    assert caught.value.parameters == ["GLOBAL_OWNER or ORG_OWNER or GROUP_OWNER or GROUP_USER_ADMIN"]


@each(
    ("scope", "managed", "expected"),
    [
        (ONE, Scope(group_id="group1"), True),
        (TWO, Scope(group_id="group1"), False),
        (ORG, Scope(group_id="group1"), False),
        (ONE, ORG, True),
        (ORG, ORG, True),
        (OTHER, ORG, False),
        (INSTALLATION, ORG, False),
        (ONE, INSTALLATION, True),
        (ORG, INSTALLATION, True),
        (INSTALLATION, INSTALLATION, True),
    ],
)
def test_a_scope_contains_its_projects(scope: Scope, managed: Scope, expected: bool) -> None:
    assert is_within_scope(scope, managed) is expected
