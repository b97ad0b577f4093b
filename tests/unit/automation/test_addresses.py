"""Names and addresses of hosts, read strictly into one form."""

import pytest

from automation.addresses import canonical_hostname, read_address
from automation.reports import Address

LABEL = "a" * 63
LONGEST = ".".join([LABEL] * 3 + ["a" * 61])


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("db1", "db1"),
        ("DB1.Example.com", "DB1.Example.com"),
        ("db1.example.com.", "db1.example.com"),
        ("1db", "1db"),
        ("123456789012", "123456789012"),
        ("a-b.c--d", "a-b.c--d"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        (LABEL, LABEL),
        (LONGEST, LONGEST),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_name_or_address_has_one_form(text: str, kept: str) -> None:
    assert canonical_hostname(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "db1..",
        ".db1",
        "a..b",
        "-a",
        "a-",
        "a_b",
        "a b",
        "a\n",
        "bücher",
        "a/b",
        "a:b",
        "[::1]",
        "::1%eth0",
        "fe80::1%1",
        "fe80::1%",
        "::ffff:10.0.0.1%eth0",
        "1.2.3.4.5",
        "1.2.3",
        "256.0.0.1",
        "010.0.0.1",
        "1.2.3.4.",
        "²",
        "\0",
        "a" * 64,
        f"{LONGEST}a",
        "a." * 100_000,
    ],
)
def test_anything_else_is_no_name(text: str) -> None:
    assert canonical_hostname(text) is None


@pytest.mark.parametrize(
    ("text", "hostname", "port"),
    [
        ("db1:27017", "db1", 27017),
        ("DB1.:1", "DB1", 1),
        ("10.0.0.1:65535", "10.0.0.1", 65535),
        ("[::1]:27017", "::1", 27017),
        ("::1:27017", "::1", 27017),
        ("2001:DB8::0:5:27017", "2001:db8::5", 27017),
    ],
)
def test_an_address_is_a_name_and_a_port(text: str, hostname: str, port: int) -> None:
    assert read_address(text) == Address(hostname, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":",
        "db1",
        "db1:",
        ":27017",
        "db1:0",
        "db1:65536",
        "db1:027017",
        "db1:+1",
        "db1:-1",
        "db1: 1",
        "db1:1 ",
        "db1:٣",
        "db1:999999",
        "db1:x",
        "[db1]:27017",
        "[::1]",
        "[::1]27017",
        "[[::1]]:27017",
        "a/b:27017",
        "\0:1",
    ],
)
def test_anything_else_is_no_address(text: str) -> None:
    assert read_address(text) is None


@pytest.mark.parametrize(
    ("address", "shown"),
    [(Address("db1", 1), "db1:1"), (Address("::1", 27017), "[::1]:27017")],
)
def test_an_address_reads_back_as_it_is_shown(address: Address, shown: str) -> None:
    assert str(address) == shown
    assert read_address(shown) == address
