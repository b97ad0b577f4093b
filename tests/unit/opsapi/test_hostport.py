"""One way to write a host and its port."""

from opsapi.hostport import host_and_port
from tests.each import each


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
def test_ipv6_stands_in_brackets_before_a_port(hostname: str, port: int | None, expected: str) -> None:
    assert host_and_port(hostname, port) == expected
