"""Ranges of addresses as they are written, and compared."""

import pytest

from accesslist.access_lists.rules import covers, is_within, only_address, read_address, read_range
from tests.each import each


@each(
    ("text", "block"),
    [
        ("192.0.2.7", "192.0.2.7/32"),
        ("192.0.2.7/32", "192.0.2.7/32"),
        ("192.0.2.6/31", "192.0.2.6/31"),
        ("0.0.0.0/0", "0.0.0.0/0"),
        ("::/0", "::/0"),
        ("2001:DB8::1", "2001:db8::1/128"),
        ("2001:db8:0:0::/32", "2001:db8::/32"),
        ("::1.2.3.4", "::102:304/128"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:c000:207", "192.0.2.7/32"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::fffe:0:0/95", "::fffe:0:0/95"),
        ("0000:0000:0000:0000:0000:ffff:192.000.002.007/128", None),
        ("0000:0000:0000:0000:0000:ffff:255.255.255.255/128", "255.255.255.255/32"),
    ],
)
def test_a_range_has_a_canonical_form(text: str, block: str | None) -> None:
    if block is not None:
        assert read_range(text) == block
        assert read_range(block) == block
    else:
        with pytest.raises(ValueError, match="CIDR"):
            read_range(text)


@each(
    "text",
    [
        "",
        " ",
        "nonsense",
        "300.1.1.1",
        "192.0.2",
        "192.0.2.7/33",
        "2001:db8::/129",
        "192.0.2.0/255.255.255.0",
        "192.0.2.0/-1",
        "192.0.2.0/",
        "192.0.2.0/24/24",
        "192.0.2.0 /24",
        " 192.0.2.7",
        "192.0.2.7\n",
        "010.0.0.1",
        "١٩٢.0.2.7",
        "192.0.2.0/２４",
        "fe80::1%eth0",
        "fe80::%1/64",
        "3221225985",
        "example.com",
        "1:" * 30,
    ],
)
def test_an_invalid_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be an address or a range in CIDR notation"):
        read_range(text)


@each(
    ("text", "around"),
    [("192.0.2.7/24", "192.0.2.0/24"), ("2001:db8::1/64", "2001:db8::/64"), ("0.0.0.1/0", "0.0.0.0/0")],
)
def test_host_bits_are_refused_with_the_range_around_them(text: str, around: str) -> None:
    with pytest.raises(ValueError, match=f"host bits set: {around} is"):
        read_range(text)


@each(
    ("blocks", "address", "expected"),
    [
        ([], "192.0.2.7", False),
        (["192.0.2.0/24"], "192.0.2.0", True),
        (["192.0.2.0/24"], "192.0.2.255", True),
        (["192.0.2.0/24"], "192.0.3.0", False),
        (["198.51.100.0/24", "192.0.2.0/24"], "192.0.2.7", True),
        (["::/0"], "192.0.2.7", False),
        (["0.0.0.0/0"], "2001:db8::1", False),
        (["0.0.0.0/0", "::/0"], None, False),
    ],
)
def test_an_address_is_covered_by_a_range_of_its_kind(
    blocks: list[str], address: str | None, expected: bool
) -> None:
    assert covers(blocks, address) is expected


@each(
    ("block", "address"),
    [
        ("192.0.2.7/32", "192.0.2.7"),
        ("192.0.2.6/31", None),
        ("2001:db8::1/128", "2001:db8::1"),
        ("::/0", None),
    ],
)
def test_a_range_with_one_address_is_an_address(block: str, address: str | None) -> None:
    assert only_address(block) == address


@each(
    ("text", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("192.0.2.7/32", None),
        ("192.0.2.0/24", None),
        ("office", None),
        ("", None),
    ],
)
def test_an_address_is_read(text: str, address: str | None) -> None:
    if address is not None:
        assert read_address(text) == address
    else:
        with pytest.raises(ValueError, match=r"^must be an address"):
            read_address(text)


@each(
    ("block", "wider", "expected"),
    [
        ("192.0.2.7/32", "192.0.2.0/24", True),
        ("192.0.2.0/24", "192.0.2.0/24", True),
        ("192.0.2.0/24", "192.0.2.0/25", False),
        ("198.51.100.0/24", "192.0.2.0/24", False),
        ("192.0.2.0/24", "::/0", False),
        ("2001:db8::/33", "2001:db8::/32", True),
        ("2001:db8::/32", "0.0.0.0/0", False),
    ],
)
def test_a_range_is_within_another(block: str, wider: str, expected: bool) -> None:
    assert is_within(block, wider) is expected
