"""Which roles a caller can grant, and where: every role in every scope."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from accesslist.roles.rules import (
    ExistingScopes,
    asked_roles,
    grants_asked,
    refuse_roles_not_held,
    refuse_unknown_scopes,
)
from opsapi.api.errors import ApiError, BadField
from opsapi.roles import IMPLIED, INSTALLATION, Grant, Role, Scope
from tests.each import each

ORG, OTHER_ORG, NO_ORG = "a" * 24, "b" * 24, "0" * 24
GROUP, SISTER, OTHER_GROUP, NO_GROUP = "c" * 24, "d" * 24, "e" * 24, "1" * 24
ORGS_OF_GROUPS = {GROUP: ORG, SISTER: ORG, OTHER_GROUP: OTHER_ORG}
EXISTING = ExistingScopes(ORGS_OF_GROUPS, {ORG, OTHER_ORG})
IN_GROUP, IN_ORG = Scope(org_id=ORG, group_id=GROUP), Scope(org_id=ORG)

GLOBAL_ROLES = [role for role in Role if role.is_global]
ORG_ROLES = [role for role in Role if role.is_org]
GROUP_ROLES = [role for role in Role if role.is_group]

Fault = tuple[str, str]
"""The field below the role, and the code."""

NO_GROUP_ROLE: Fault = ("roleName", "ROLE_NEEDS_NO_GROUP_ID")
NEEDS_GROUP: Fault = ("groupId", "ROLE_NEEDS_GROUP_ID")
NEEDS_ORG: Fault = ("orgId", "ROLE_NEEDS_ORG_ID")
NEEDS_NO_GROUP: Fault = ("groupId", "ROLE_NEEDS_NO_GROUP_ID")
WRONG_ROLE: Fault = ("roleName", "INVALID_ATTRIBUTE")
WRONG_GROUP: Fault = ("groupId", "INVALID_ATTRIBUTE")
WRONG_ORG: Fault = ("orgId", "INVALID_ATTRIBUTE")

NOWHERE: Mapping[str, str] = {}
TABLE: Sequence[tuple[str, Scope, Sequence[Role], Mapping[str, str], Scope | Fault]] = [
    ("project, place left out", IN_GROUP, GROUP_ROLES, NOWHERE, Scope(group_id=GROUP)),
    ("project, named", IN_GROUP, GROUP_ROLES, {"groupId": GROUP}, Scope(group_id=GROUP)),
    ("project, sister named", IN_GROUP, GROUP_ROLES, {"groupId": SISTER}, WRONG_GROUP),
    ("project, its organization named", IN_GROUP, GROUP_ROLES, {"orgId": ORG}, WRONG_ORG),
    ("project, both named", IN_GROUP, GROUP_ROLES, {"groupId": GROUP, "orgId": ORG}, WRONG_ORG),
    ("project, organization role", IN_GROUP, ORG_ROLES, NOWHERE, NO_GROUP_ROLE),
    ("project, organization role named", IN_GROUP, ORG_ROLES, {"orgId": ORG}, NO_GROUP_ROLE),
    ("project, global role", IN_GROUP, GLOBAL_ROLES, NOWHERE, NO_GROUP_ROLE),
    ("organization, place left out", IN_ORG, ORG_ROLES, NOWHERE, Scope(org_id=ORG)),
    ("organization, named", IN_ORG, ORG_ROLES, {"orgId": ORG}, Scope(org_id=ORG)),
    ("organization, other named", IN_ORG, ORG_ROLES, {"orgId": OTHER_ORG}, WRONG_ORG),
    ("organization, project named", IN_ORG, ORG_ROLES, {"groupId": GROUP}, NEEDS_NO_GROUP),
    ("organization, project role", IN_ORG, GROUP_ROLES, {"groupId": GROUP}, Scope(group_id=GROUP)),
    ("organization, no project", IN_ORG, GROUP_ROLES, NOWHERE, NEEDS_GROUP),
    ("organization, orgId in place", IN_ORG, GROUP_ROLES, {"orgId": ORG}, NEEDS_GROUP),
    ("organization, both", IN_ORG, GROUP_ROLES, {"groupId": GROUP, "orgId": ORG}, WRONG_ORG),
    ("organization, global role", IN_ORG, GLOBAL_ROLES, NOWHERE, WRONG_ROLE),
    ("organization, global role named", IN_ORG, GLOBAL_ROLES, {"orgId": ORG}, WRONG_ROLE),
    ("organization, global role in project", IN_ORG, GLOBAL_ROLES, {"groupId": GROUP}, NEEDS_NO_GROUP),
    ("installation, global role", INSTALLATION, GLOBAL_ROLES, NOWHERE, INSTALLATION),
    ("installation, global role in org", INSTALLATION, GLOBAL_ROLES, {"orgId": ORG}, WRONG_ORG),
    ("installation, global role in project", INSTALLATION, GLOBAL_ROLES, {"groupId": GROUP}, NEEDS_NO_GROUP),
    ("installation, organization role", INSTALLATION, ORG_ROLES, {"orgId": ORG}, Scope(org_id=ORG)),
    ("installation, no organization", INSTALLATION, ORG_ROLES, NOWHERE, NEEDS_ORG),
    ("installation, groupId in place", INSTALLATION, ORG_ROLES, {"groupId": GROUP}, NEEDS_NO_GROUP),
    ("installation, project role", INSTALLATION, GROUP_ROLES, {"groupId": GROUP}, Scope(group_id=GROUP)),
    ("installation, no project", INSTALLATION, GROUP_ROLES, NOWHERE, NEEDS_GROUP),
    ("installation, both", INSTALLATION, GROUP_ROLES, {"groupId": GROUP, "orgId": ORG}, WRONG_ORG),
]


def asked(role: Role, **place: str) -> dict[str, Any]:
    """A role as a checked body holds it."""
    return {"roleName": role.value, **place}


def refused(call: Callable[[], object]) -> tuple[str, Sequence[BadField]]:
    """The code and the wrong fields of what the call raises."""
    with pytest.raises(ApiError) as raised:
        call()
    return raised.value.code.value, raised.value.bad_fields


CASES = [
    pytest.param(here, role, place, expected, id=f"{name}-{role}")
    for name, here, roles, place, expected in TABLE
    for role in roles
]


@each(("here", "role", "place", "expected"), CASES)
def test_a_role_gets_the_scope_of_path_and_body_or_names_the_wrong_field(
    here: Scope, role: Role, place: dict[str, str], expected: Scope | Fault
) -> None:
    wanted = asked_roles([asked(role, **place)])
    if isinstance(expected, Scope):
        assert grants_asked(wanted, here=here) == [Grant(role, expected.org_id, expected.group_id)]
        return
    field, code = expected
    refusal_text, (bad,) = refused(lambda: grants_asked(wanted, here=here))
    assert (bad.field, bad.code.value, refusal_text) == (f"roles[0].{field}", code, code)
    assert bool(bad.allowed) is (field == "roleName")
    assert role.value not in bad.allowed


def test_each_role_is_given_once_in_the_order_asked() -> None:
    names = [Role.GROUP_OWNER, Role.GROUP_AGENT, Role.GROUP_OWNER]
    found = grants_asked(asked_roles([asked(role) for role in names]), here=IN_GROUP)
    assert found == [Grant(Role.GROUP_OWNER, group_id=GROUP), Grant(Role.GROUP_AGENT, group_id=GROUP)]


def test_every_wrong_role_is_named_with_its_field() -> None:
    values = [asked(Role.ORG_MEMBER), asked(Role.GROUP_AGENT), asked(Role.GROUP_OWNER, groupId=SISTER)]
    _, bad = refused(lambda: grants_asked(asked_roles(values), here=IN_GROUP))
    assert [refusal.field for refusal in bad] == ["roles[0].roleName", "roles[2].groupId"]


def held(role: Role, group: str = GROUP, org: str = ORG) -> Grant:
    """The role where it can be held."""
    if role.is_group:
        return Grant(role, group_id=group)
    return Grant(role, org_id=org) if role.is_org else Grant(role)


def refusal_of_giving(wanted: Grant, mine: Grant) -> str | None:
    """The code with which one who holds `mine` is refused to give `wanted`; None when they may."""
    try:
        refuse_roles_not_held([wanted], by=[mine], orgs_of_groups=ORGS_OF_GROUPS)
    except ApiError as error:
        return error.code.value
    return None


@each("mine", Role)
@each("wanted", Role)
def test_a_role_is_granted_only_by_callers_who_have_it(mine: Role, wanted: Role) -> None:
    refusal_text = refusal_of_giving(held(wanted), held(mine))
    if wanted.is_global:
        assert refusal_text == (None if mine is Role.GLOBAL_OWNER else "CANNOT_ADD_GLOBAL_ROLE")
    else:
        reaches_it = wanted.is_group or not mine.is_group
        assert refusal_text == (None if wanted in IMPLIED[mine] and reaches_it else "ROLE_NOT_HELD")


@each("mine", [role for role in Role if not role.is_global])
@each(
    "wanted",
    [
        Grant(Role.GROUP_AGENT, group_id=OTHER_GROUP),
        Grant(Role.GROUP_AGENT, group_id=NO_GROUP),
        Grant(Role.ORG_MEMBER, org_id=OTHER_ORG),
        Grant(Role.ORG_MEMBER, org_id=NO_ORG),
    ],
    ids=["other project", "no project", "other organization", "no organization"],
)
def test_a_refusal_does_not_reveal_whether_the_scope_exists(mine: Role, wanted: Grant) -> None:
    assert refusal_of_giving(wanted, held(mine)) == "ROLE_NOT_HELD"


def test_no_roles_are_never_refused() -> None:
    refuse_roles_not_held([], by=[], orgs_of_groups={})


@each(
    ("here", "role", "place", "message"),
    [
        (INSTALLATION, Role.GLOBAL_OWNER, {}, None),
        (INSTALLATION, Role.GROUP_AGENT, {"groupId": OTHER_GROUP}, None),
        (INSTALLATION, Role.GROUP_AGENT, {"groupId": NO_GROUP}, "names no project"),
        (INSTALLATION, Role.ORG_OWNER, {"orgId": OTHER_ORG}, None),
        (INSTALLATION, Role.ORG_OWNER, {"orgId": NO_ORG}, "names no organization"),
        (IN_ORG, Role.ORG_OWNER, {}, None),
        (IN_ORG, Role.GROUP_AGENT, {"groupId": SISTER}, None),
        (IN_ORG, Role.GROUP_AGENT, {"groupId": NO_GROUP}, "names no project"),
        (
            IN_ORG,
            Role.GROUP_AGENT,
            {"groupId": OTHER_GROUP},
            "is not a project of the organization in the path",
        ),
        (IN_GROUP, Role.GROUP_AGENT, {}, None),
        (IN_GROUP, Role.GROUP_AGENT, {"groupId": GROUP}, None),
    ],
)
def test_a_place_that_is_named_exists_and_is_of_the_path(
    here: Scope, role: Role, place: dict[str, str], message: str | None
) -> None:
    wanted = asked_roles([asked(Role.GROUP_OWNER, groupId=GROUP), asked(role, **place)])
    if message is None:
        refuse_unknown_scopes(wanted, existing=EXISTING, here=here)
    else:
        code, (bad,) = refused(lambda: refuse_unknown_scopes(wanted, existing=EXISTING, here=here))
        assert (code, bad.field, bad.message) == (
            "INVALID_ATTRIBUTE",
            f"roles[1].{next(iter(place))}",
            message,
        )
