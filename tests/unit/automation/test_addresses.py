"""Addresses of hosts, read strictly into one form."""

from automation.addresses import Address, read_address
from tests.each import each


@each(
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


@each(
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


@each(
    ("address", "shown"),
    [(Address("db1", 1), "db1:1"), (Address("::1", 27017), "[::1]:27017")],
)
def test_an_address_reads_back_as_it_is_shown(address: Address, shown: str) -> None:
    assert str(address) == shown
    assert read_address(shown) == address
