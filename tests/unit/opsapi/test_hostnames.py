"""Host names: their canonical form, and their notation with a port."""

from opsapi.hostnames import ascii_name, canonical_hostname, host_and_port, name_and_port
from tests.each import each

LABEL = "a" * 63
LONGEST = ".".join([LABEL] * 3 + ["a" * 61])


@each(
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
def test_a_name_or_address_has_a_canonical_form(text: str, kept: str) -> None:
    assert canonical_hostname(text) == kept


@each(
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


@each(
    ("hostname", "port", "expected"),
    [
        ("db1.example.com", 27017, "db1.example.com:27017"),
        ("192.0.2.7", 27017, "192.0.2.7:27017"),
        ("2001:db8::1", 27017, "[2001:db8::1]:27017"),
        ("2001:db8::1", None, "2001:db8::1"),
        ("db1", None, "db1"),
        ("db1", 0, "db1:0"),
    ],
)
def test_ipv6_address_is_in_brackets_before_a_port(hostname: str, port: int | None, expected: str) -> None:
    assert host_and_port(hostname, port) == expected


@each(
    ("text", "split"),
    [
        ("db1:27017", ("db1", 27017)),
        ("db1", ("db1", None)),
        ("[::1]:27017", ("::1", 27017)),
        ("::1", ("::1", None)),
        ("::1:27017", ("::1:27017", None)),
        ("db1:", ("db1:", None)),
        (":27017", (":27017", None)),
        ("db1:123456", ("db1:123456", None)),
        ("db1:²", ("db1:²", None)),
        ("", ("", None)),
    ],
)
def test_a_port_is_split_from_its_name(text: str, split: tuple[str, int | None]) -> None:
    assert name_and_port(text) == split


@each(
    ("name", "form"),
    [
        ("Example.com", "Example.com"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("bücher..example", "bücher..example"),
        ("ü" * 64, "ü" * 64),
        ("", ""),
    ],
)
def test_a_name_has_an_ascii_form_if_it_is_valid(name: str, form: str) -> None:
    assert ascii_name(name) == form
