"""Which access list refuses a caller, and which callers another list would refuse."""

from datetime import UTC, datetime

from accesslist.access_lists.rules import ListVerdict, SeenCaller, keeps_out, newly_refused, verdict
from tests.each import each

SEEN = datetime(2099, 6, 1, 12, tzinfo=UTC)
OFFICE, HOME = (SeenCaller("abc123", address, SEEN) for address in ("192.0.2.7", "198.51.100.1"))


@each(
    ("is_exempt", "is_global", "global_refuses", "own_refuses", "expected"),
    [
        (False, False, False, False, ListVerdict.ADMITTED),
        (False, True, False, False, ListVerdict.ADMITTED),
        (False, False, True, False, ListVerdict.ADMITTED),
        (False, True, True, False, ListVerdict.GLOBAL_LIST),
        (False, True, True, True, ListVerdict.GLOBAL_LIST),
        (False, True, False, True, ListVerdict.OWN_LIST),
        (False, False, True, True, ListVerdict.OWN_LIST),
        (True, True, True, True, ListVerdict.EXEMPT),
    ],
)
def test_a_list_applies_to_its_key_and_the_global_list_to_global_keys(
    is_exempt: bool, is_global: bool, global_refuses: bool, own_refuses: bool, expected: ListVerdict
) -> None:
    result = verdict(
        is_exempt=is_exempt, is_global=is_global, global_refuses=global_refuses, own_refuses=own_refuses
    )
    assert result is expected
    assert result.refuses is (expected in {ListVerdict.GLOBAL_LIST, ListVerdict.OWN_LIST})


@each(
    ("blocks", "address", "expected"),
    [
        ([], "192.0.2.7", False),
        ([], None, False),
        (["192.0.2.0/24"], "192.0.2.7", False),
        (["192.0.2.8/29"], "192.0.2.7", True),
        (["198.51.100.0/24", "192.0.2.7/32"], "192.0.2.7", False),
        (["0.0.0.0/0"], "2001:db8::1", True),
        (["192.0.2.0/24"], None, True),
    ],
)
def test_a_list_without_entries_blocks_no_address(
    blocks: list[str], address: str | None, expected: bool
) -> None:
    assert keeps_out(blocks, address) is expected


@each(
    ("before", "after", "refused"),
    [
        ([], ["192.0.2.0/24"], [HOME]),
        ([], ["203.0.113.0/24"], [OFFICE, HOME]),
        (["192.0.2.0/24"], ["192.0.2.8/29"], [OFFICE]),
        (["192.0.2.0/24"], [], []),
        (["192.0.2.0/24"], ["192.0.2.0/24", "198.51.100.0/24"], []),
        (["192.0.2.0/24", "198.51.100.1/32"], ["192.0.2.0/24"], [HOME]),
        ([], [], []),
    ],
)
def test_only_admitted_callers_are_newly_refused(
    before: list[str], after: list[str], refused: list[SeenCaller]
) -> None:
    assert newly_refused([OFFICE, HOME], before=before, after=after) == refused
