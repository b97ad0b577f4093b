"""Roles: what each implies, written by hand, and the scopes in which a grant counts."""

from opsapi.roles import (
    IMPLIED,
    INSTALLATION,
    ROLE_WORDS,
    Grant,
    Role,
    Scope,
    holds_somewhere,
    reaches_group,
    role_names,
    satisfies,
    satisfies_any,
)
from tests.each import each

GROUP_WORK = frozenset(
    {
        Role.GROUP_MONITORING_ADMIN,
        Role.GROUP_USER_ADMIN,
        Role.GROUP_BACKUP_ADMIN,
        Role.GROUP_AUTOMATION_ADMIN,
        Role.GROUP_DATA_ACCESS_ADMIN,
        Role.GROUP_DATA_ACCESS_READ_WRITE,
        Role.GROUP_DATA_ACCESS_READ_ONLY,
    }
)
EVERY_GROUP_ROLE = GROUP_WORK | {Role.GROUP_OWNER, Role.GROUP_READ_ONLY, Role.GROUP_AGENT}
EVERY_ORG_ROLE = frozenset({Role.ORG_OWNER, Role.ORG_GROUP_CREATOR, Role.ORG_READ_ONLY, Role.ORG_MEMBER})
GLOBAL_READING = frozenset({Role.GLOBAL_READ_ONLY, Role.ORG_READ_ONLY, Role.ORG_MEMBER, Role.GROUP_READ_ONLY})

IMPLIES = {
    Role.GLOBAL_OWNER: frozenset(Role),
    Role.GLOBAL_READ_ONLY: GLOBAL_READING,
    Role.GLOBAL_MONITORING_ADMIN: GLOBAL_READING
    | {Role.GLOBAL_MONITORING_ADMIN, Role.GROUP_MONITORING_ADMIN},
    Role.GLOBAL_USER_ADMIN: GLOBAL_READING | {Role.GLOBAL_USER_ADMIN, Role.GROUP_USER_ADMIN},
    Role.GLOBAL_BACKUP_ADMIN: GLOBAL_READING | {Role.GLOBAL_BACKUP_ADMIN, Role.GROUP_BACKUP_ADMIN},
    Role.GLOBAL_AUTOMATION_ADMIN: GLOBAL_READING
    | {Role.GLOBAL_AUTOMATION_ADMIN, Role.GROUP_AUTOMATION_ADMIN},
    Role.ORG_OWNER: EVERY_ORG_ROLE | EVERY_GROUP_ROLE,
    Role.ORG_GROUP_CREATOR: frozenset({Role.ORG_GROUP_CREATOR, Role.ORG_MEMBER}),
    Role.ORG_READ_ONLY: frozenset({Role.ORG_READ_ONLY, Role.ORG_MEMBER, Role.GROUP_READ_ONLY}),
    Role.ORG_MEMBER: frozenset({Role.ORG_MEMBER}),
    Role.GROUP_OWNER: EVERY_GROUP_ROLE,
    Role.GROUP_READ_ONLY: frozenset({Role.GROUP_READ_ONLY}),
    Role.GROUP_AGENT: frozenset({Role.GROUP_AGENT}),
    **{role: frozenset({role, Role.GROUP_READ_ONLY}) for role in GROUP_WORK},
}

ORG, OTHER_ORG = "a" * 24, "b" * 24
GROUP, OTHER_GROUP = "c" * 24, "d" * 24
IN_GROUP, IN_ORG = Scope(org_id=ORG, group_id=GROUP), Scope(org_id=ORG)


def test_every_role_has_a_row_here() -> None:
    assert set(IMPLIES) == set(Role)


@each("role", Role)
def test_a_role_implies_exactly_what_the_decisions_say(role: Role) -> None:
    assert IMPLIED[role] == IMPLIES[role]


@each("role", Role)
def test_a_role_has_exactly_one_level(role: Role) -> None:
    assert [role.is_global, role.is_org, role.is_group].count(True) == 1


@each(
    ("grant", "wanted", "scope", "expected"),
    [
        (Grant(Role.GROUP_OWNER, group_id=GROUP), Role.GROUP_READ_ONLY, IN_GROUP, True),
        (Grant(Role.GROUP_OWNER, group_id=OTHER_GROUP), Role.GROUP_READ_ONLY, IN_GROUP, False),
        (Grant(Role.GROUP_OWNER, group_id=GROUP), Role.GROUP_OWNER, IN_ORG, False),
        (Grant(Role.GROUP_OWNER, group_id=GROUP), Role.GROUP_OWNER, INSTALLATION, False),
        (Grant(Role.ORG_OWNER, org_id=ORG), Role.GROUP_OWNER, IN_GROUP, True),
        (Grant(Role.ORG_OWNER, org_id=ORG), Role.ORG_MEMBER, IN_ORG, True),
        (Grant(Role.ORG_OWNER, org_id=OTHER_ORG), Role.GROUP_READ_ONLY, IN_GROUP, False),
        (Grant(Role.ORG_OWNER, org_id=ORG), Role.GLOBAL_READ_ONLY, INSTALLATION, False),
        (Grant(Role.ORG_OWNER, org_id=ORG), Role.ORG_OWNER, INSTALLATION, False),
        (Grant(Role.ORG_MEMBER, org_id=ORG), Role.GROUP_READ_ONLY, IN_GROUP, False),
        (Grant(Role.GLOBAL_READ_ONLY), Role.GROUP_READ_ONLY, IN_GROUP, True),
        (Grant(Role.GLOBAL_READ_ONLY), Role.ORG_MEMBER, IN_ORG, True),
        (Grant(Role.GLOBAL_READ_ONLY), Role.GLOBAL_READ_ONLY, INSTALLATION, True),
        (Grant(Role.GLOBAL_READ_ONLY), Role.GROUP_MONITORING_ADMIN, IN_GROUP, False),
        (Grant(Role.GLOBAL_READ_ONLY), Role.GROUP_READ_ONLY, Scope(group_id=GROUP), True),
        (Grant(Role.ORG_OWNER, org_id=ORG), Role.GROUP_READ_ONLY, Scope(group_id=GROUP), False),
    ],
)
def test_a_grant_satisfies_a_role_in_its_scope(
    grant: Grant, wanted: Role, scope: Scope, expected: bool
) -> None:
    assert satisfies([grant], wanted, scope) is expected


def test_no_grants_satisfy_no_role() -> None:
    assert not satisfies([], Role.GROUP_READ_ONLY, IN_GROUP)
    assert not holds_somewhere([], [Role.GROUP_READ_ONLY])
    assert not reaches_group([], IN_GROUP)


def test_one_of_several_grants_is_enough() -> None:
    grants = [Grant(Role.GROUP_AGENT, group_id=OTHER_GROUP), Grant(Role.GROUP_READ_ONLY, group_id=GROUP)]
    assert satisfies(grants, Role.GROUP_READ_ONLY, IN_GROUP)


def test_one_of_several_roles_is_enough() -> None:
    grants = [Grant(Role.GROUP_OWNER, group_id=GROUP)]
    wanted = [Role.ORG_OWNER, Role.GROUP_USER_ADMIN]
    assert satisfies_any(grants, wanted, IN_GROUP)
    assert not satisfies_any(grants, wanted, IN_ORG)
    assert not satisfies_any(grants, [], IN_GROUP)
    assert holds_somewhere(grants, wanted)
    assert not holds_somewhere(grants, [Role.ORG_OWNER, Role.GLOBAL_READ_ONLY])


@each(
    ("grant", "expected"),
    [
        (Grant(Role.GROUP_AGENT, group_id=GROUP), True),
        (Grant(Role.GROUP_READ_ONLY, group_id=OTHER_GROUP), False),
        (Grant(Role.ORG_READ_ONLY, org_id=ORG), True),
        (Grant(Role.ORG_READ_ONLY, org_id=OTHER_ORG), False),
        (Grant(Role.ORG_MEMBER, org_id=ORG), False),
        (Grant(Role.ORG_GROUP_CREATOR, org_id=ORG), False),
        (Grant(Role.GLOBAL_BACKUP_ADMIN), True),
    ],
)
def test_a_grant_reaches_a_project_when_it_implies_a_role_in_it(grant: Grant, expected: bool) -> None:
    assert reaches_group([grant], IN_GROUP) is expected


def test_every_role_has_words_of_its_own() -> None:
    assert set(ROLE_WORDS) == set(Role)
    names = [words.name for words in ROLE_WORDS.values()]
    assert len(set(names)) == len(names)
    for words in ROLE_WORDS.values():
        assert words.name[0].isupper()
        assert words.allows
        assert not words.allows.endswith(".")


def test_names_of_roles_form_a_sentence() -> None:
    assert role_names([Role.GROUP_OWNER]) == "Project owner"
    both = [Role.GROUP_OWNER, Role.GROUP_READ_ONLY]
    assert role_names(both, conjunction="and") == "Project owner and Reader"
    assert role_names([*both, Role.ORG_OWNER]) == "Project owner, Reader or Organization owner"
