"""Which callers access lists apply to, and who can change the lists of keys."""

import pytest

from accesslist.access_lists.rules import (
    GLOBAL_LIST,
    AccessList,
    ListWriter,
    read_asked_ranges,
    refuse_keys_beyond,
)
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import INSTALLATION, Grant, Role, Scope
from tests.each import each

KEY, OTHER = "k" * 24, "o" * 24
CALLER = Actor(ActorKind.KEY, KEY, "abc123", False, "192.0.2.7")
USER = Actor(ActorKind.USER, KEY, "ada", True, "192.0.2.7")


@each(
    ("writer", "of", "held"),
    [
        (ListWriter(CALLER), GLOBAL_LIST, True),
        (ListWriter(CALLER), AccessList(KEY), True),
        (ListWriter(CALLER), AccessList(OTHER), False),
        (ListWriter(CALLER, is_exempt=True), GLOBAL_LIST, False),
        (ListWriter(CALLER, is_exempt=True), AccessList(KEY), False),
        (ListWriter(USER), GLOBAL_LIST, False),
        (ListWriter(USER), AccessList(KEY), False),
        (ListWriter(SYSTEM), GLOBAL_LIST, False),
    ],
)
def test_a_list_applies_to_keys_that_are_not_exempt(writer: ListWriter, of: AccessList, held: bool) -> None:
    assert writer.is_held_by(of) is held


HERE, THERE = Scope("org1", "group1"), Scope("org2", "group2")
IN_GROUP = Grant(Role.GROUP_READ_ONLY, group_id="group1")
IN_OTHER_GROUP = Grant(Role.GROUP_AGENT, group_id="group2")
IN_ORG = Grant(Role.ORG_MEMBER, org_id="org1")
EVERYWHERE = Grant(Role.GLOBAL_READ_ONLY)
HELD = {
    "project": [(IN_GROUP, HERE)],
    "both projects": [(IN_GROUP, HERE), (IN_OTHER_GROUP, THERE)],
    "organization": [(IN_ORG, Scope("org1"))],
    "installation": [(IN_GROUP, HERE), (EVERYWHERE, INSTALLATION)],
    "nowhere": [],
}


@each(
    ("by", "may"),
    [
        ([Grant(Role.GROUP_READ_ONLY, group_id="group1")], {"nowhere"}),
        ([Grant(Role.GROUP_USER_ADMIN, group_id="group1")], {"nowhere", "project"}),
        ([Grant(Role.GROUP_OWNER, group_id="group1")], {"nowhere", "project"}),
        (
            [Grant(Role.GROUP_OWNER, group_id="group1"), Grant(Role.GROUP_USER_ADMIN, group_id="group2")],
            {"nowhere", "project", "both projects"},
        ),
        ([Grant(Role.ORG_OWNER, org_id="org1")], {"nowhere", "project", "organization"}),
        ([Grant(Role.ORG_OWNER, org_id="org2")], {"nowhere"}),
        (
            [Grant(Role.ORG_OWNER, org_id="org1"), Grant(Role.GROUP_OWNER, group_id="group2")],
            {"nowhere", "project", "both projects", "organization"},
        ),
        ([Grant(Role.GLOBAL_USER_ADMIN)], {"nowhere", "project", "both projects"}),
        ([Grant(Role.GLOBAL_OWNER)], set(HELD)),
    ],
)
def test_a_list_is_changed_only_by_writers_in_all_scopes_of_the_key(by: list[Grant], may: set[str]) -> None:
    for name, held in HELD.items():
        if name in may:
            refuse_keys_beyond(held, by=by)
        else:
            with pytest.raises(ApiError, match="USER_UNAUTHORIZED"):
                refuse_keys_beyond(held, by=by)


def test_ranges_that_are_asked_for_are_read_in_their_canonical_form() -> None:
    asked = ["192.0.2.7", "2001:db8::/32", "::ffff:192.0.2.7"]
    assert read_asked_ranges(asked) == ["192.0.2.7/32", "2001:db8::/32", "192.0.2.7/32"]


def test_every_invalid_range_is_named() -> None:
    with pytest.raises(ApiError) as refused:
        read_asked_ranges(["bad", "192.0.2.7", "10.0.0.1/8", "x" * 60])
    ranges = [fault.message.partition(" ")[0] for fault in refused.value.bad_fields]
    assert ranges == ["'bad'", "'10.0.0.1/8'", repr("x" * 50)]
