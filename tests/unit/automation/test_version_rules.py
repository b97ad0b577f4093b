"""Versions as reports name them: order, series, who is behind."""

from itertools import pairwise

from automation.hosts.rules import behind, behind_in_series, read_version, version_event
from tests.each import each

IN_ORDER = [
    "0.9",
    "7.0.0-dev",
    "7.0.0-alpha2",
    "7.0.0-beta1",
    "7.0.0-rc0",
    "7.0.0-rc2",
    "7.0.0-rc10",
    "7.0.0",
    "7.0.2",
    "7.0.10",
    "7.0.10.1",
    "7.10",
    "100.9.4",
]


@each(("lower", "higher"), list(pairwise(IN_ORDER)))
def test_a_later_version_is_higher(lower: str, higher: str) -> None:
    left, other = read_version(lower), read_version(higher)
    assert left
    assert other
    assert left < other


@each(
    ("text", "other"),
    [
        ("7.0", "7.0.0"),
        ("7", "7.0.0"),
        ("v7.0.1", "7.0.1"),
        ("7.0.1-ent", "7.0.1"),
        ("7.0.1+build.5", "7.0.1"),
        ("7.0.1-RC1", "7.0.1-rc.1"),
        ("0", "0.0"),
    ],
)
def test_two_ways_of_writing_one_version(text: str, other: str) -> None:
    assert read_version(text) is not None
    assert read_version(text) == read_version(other)


@each(
    "text",
    [
        "",
        "latest",
        "7.",
        ".7",
        "7..1",
        "7.x",
        "-7",
        "7 0",
        "1.2.3.4.5.6.7",
        "1234567890",
        "7.0.\u0661",
        "7\n",
    ],
    ids=ascii,
)
def test_what_is_no_version_cannot_be_read(text: str) -> None:
    assert read_version(text) is None


@each(
    ("before", "after", "expected"),
    [
        ("7.0.1", "7.0.2", "HOST_UPGRADED"),
        ("7.0.2-rc1", "7.0.2", "HOST_UPGRADED"),
        ("6.0.15", "7.0.0", "HOST_UPGRADED"),
        ("7.0.2", "7.0.1", "HOST_DOWNGRADED"),
        ("7.0.2", "7.0.2-rc1", "HOST_DOWNGRADED"),
        ("7.0.2", "7.0.2", None),
        ("7.0", "7.0.0", None),
        (None, "7.0.2", None),
        ("7.0.2", None, None),
        ("custom", "7.0.2", None),
        ("7.0.2", "custom", None),
    ],
)
def test_a_host_is_upgraded_or_downgraded(
    before: str | None, after: str | None, expected: str | None
) -> None:
    assert version_event(before, after) == expected


@each(
    ("versions", "expected"),
    [
        ([], set()),
        (["7.0.1"], set()),
        (["7.0.1", "7.0.1"], set()),
        (["7.0.1", "7.0.2"], {"7.0.1"}),
        (["7.0.9", "7.0.10"], {"7.0.9"}),
        (["7.0.2-rc1", "7.0.2"], {"7.0.2-rc1"}),
        (["6.0.15", "7.0.2"], set()),
        (["7.0.1", "7.1.0"], set()),
        (["6.0.14", "6.0.15", "7.0.2"], {"6.0.14"}),
        (["7", "7.0.1"], {"7"}),
        (["7.0", "7.0.0"], set()),
        (["custom", "7.0.2"], set()),
    ],
)
def test_a_host_is_behind_the_highest_of_its_series(versions: list[str], expected: set[str]) -> None:
    assert behind_in_series(versions) == expected


@each(
    ("versions", "expected"),
    [
        ([], set()),
        (["1.0"], set()),
        (["1.0", "2.0"], {"1.0"}),
        (["1.0", "1.9", "1.10"], {"1.0", "1.9"}),
        (["custom", "1.0"], set()),
    ],
)
def test_an_agent_is_behind_the_highest_of_all(versions: list[str], expected: set[str]) -> None:
    assert behind(versions) == expected
