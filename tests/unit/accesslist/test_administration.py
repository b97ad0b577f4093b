"""Who changes whose roles: every role against every scope."""

from collections.abc import Sequence

import pytest

from accesslist.roles.rules import ADMINISTRATORS, administers, refuse_elsewhere, resetter_of
from opsapi.api.errors import ApiError
from opsapi.roles import Grant, Role, holds_somewhere
from tests.each import each

ORG, OTHER_ORG = "a" * 24, "b" * 24
GROUP, SIBLING, FOREIGN, NOWHERE = "1" * 24, "2" * 24, "3" * 24, "4" * 24
ORGS_OF_GROUPS = {GROUP: ORG, SIBLING: ORG, FOREIGN: OTHER_ORG}

EVERYWHERE = Grant(Role.GLOBAL_READ_ONLY)
IN_ORG = Grant(Role.ORG_MEMBER, org_id=ORG)
IN_OTHER_ORG = Grant(Role.ORG_MEMBER, org_id=OTHER_ORG)
IN_GROUP = Grant(Role.GROUP_READ_ONLY, group_id=GROUP)
IN_SIBLING = Grant(Role.GROUP_READ_ONLY, group_id=SIBLING)
IN_FOREIGN = Grant(Role.GROUP_READ_ONLY, group_id=FOREIGN)
IN_NOWHERE = Grant(Role.GROUP_READ_ONLY, group_id=NOWHERE)
PLACES = (EVERYWHERE, IN_ORG, IN_OTHER_ORG, IN_GROUP, IN_SIBLING, IN_FOREIGN, IN_NOWHERE)

ADMINISTERED = {
    Role.GLOBAL_OWNER: set(PLACES),
    Role.GLOBAL_USER_ADMIN: set(PLACES) - {EVERYWHERE},
    Role.ORG_OWNER: {IN_ORG, IN_GROUP, IN_SIBLING},
    Role.GROUP_OWNER: {IN_GROUP},
    Role.GROUP_USER_ADMIN: {IN_GROUP},
}
"""Role → where its holder administers users; every other role administers nobody."""


def held(role: Role) -> Grant:
    """The role in the one organization and the one project."""
    if role.is_group:
        return Grant(role, group_id=GROUP)
    return Grant(role, org_id=ORG) if role.is_org else Grant(role)


@each("role", Role)
def test_a_role_administers_its_own_scope_and_what_is_below(role: Role) -> None:
    by = [held(role)]
    found = {place for place in PLACES if administers(by, place, ORGS_OF_GROUPS)}
    assert found == ADMINISTERED.get(role, set())
    assert holds_somewhere(by, ADMINISTRATORS) is (role in ADMINISTERED)


def test_a_caller_without_roles_administers_nothing() -> None:
    assert not any(administers([], place, ORGS_OF_GROUPS) for place in PLACES)


@each(
    ("wanted", "shown"),
    [
        ([], []),
        ([IN_GROUP], []),
        ([IN_GROUP, IN_SIBLING], [IN_SIBLING]),
        ([EVERYWHERE], [EVERYWHERE]),
    ],
)
def test_shown_roles_and_administered_scopes_are_accepted(
    wanted: Sequence[Grant], shown: Sequence[Grant]
) -> None:
    by = [Grant(Role.GROUP_USER_ADMIN, group_id=GROUP)]
    refuse_elsewhere(wanted, visible_grants=shown, by=by, orgs_of_groups=ORGS_OF_GROUPS)


@each(
    ("wanted", "shown", "code", "named"),
    [
        ([EVERYWHERE], [], "CANNOT_ADD_GLOBAL_ROLE", "GLOBAL_READ_ONLY"),
        ([IN_ORG], [], "USER_UNAUTHORIZED", "GLOBAL_USER_ADMIN or ORG_OWNER"),
        (
            [IN_SIBLING],
            [IN_GROUP, IN_ORG],
            "USER_UNAUTHORIZED",
            "GLOBAL_USER_ADMIN or ORG_OWNER or GROUP_OWNER or GROUP_USER_ADMIN",
        ),
        (
            [IN_GROUP, IN_NOWHERE],
            [],
            "USER_UNAUTHORIZED",
            "GLOBAL_USER_ADMIN or ORG_OWNER or GROUP_OWNER or GROUP_USER_ADMIN",
        ),
        ([Grant(Role.GROUP_OWNER, group_id=SIBLING)], [IN_SIBLING], "USER_UNAUTHORIZED", "GROUP_OWNER"),
    ],
)
def test_new_roles_in_other_scopes_are_refused(
    wanted: Sequence[Grant], shown: Sequence[Grant], code: str, named: str
) -> None:
    by = [Grant(Role.GROUP_USER_ADMIN, group_id=GROUP)]
    with pytest.raises(ApiError) as refused:
        refuse_elsewhere(wanted, visible_grants=shown, by=by, orgs_of_groups=ORGS_OF_GROUPS)
    assert refused.value.code == code
    assert named in refused.value.parameters[0]


@each("role", Role)
def test_a_user_admin_resets_only_users_without_further_roles(role: Role) -> None:
    place = {"org_id": "o"} if role.is_org else {"group_id": "g"} if role.is_group else {}
    may = {Role.GROUP_READ_ONLY, Role.GROUP_USER_ADMIN, Role.ORG_READ_ONLY, Role.ORG_MEMBER}
    needed = Role.GLOBAL_USER_ADMIN if role in may else Role.GLOBAL_OWNER
    assert resetter_of([Grant(role, **place)]) is needed


def test_a_user_without_roles_is_reset_by_a_user_admin() -> None:
    assert resetter_of([]) is Role.GLOBAL_USER_ADMIN


def test_one_role_too_many_takes_a_global_owner() -> None:
    held = [Grant(Role.GROUP_READ_ONLY, group_id="g"), Grant(Role.ORG_OWNER, org_id="o")]
    assert resetter_of(held) is Role.GLOBAL_OWNER
