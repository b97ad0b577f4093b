"""The address guard: which addresses may be connected to."""

from ipaddress import ip_address, ip_network

from opsapi.outbound.guard import AddressVerdict, check_destination, refused, unwrap
from tests.each import each

VERDICTS = [
    ("8.8.8.8", AddressVerdict.PUBLIC),
    ("2606:4700:4700::1111", AddressVerdict.PUBLIC),
    ("0.0.0.0", AddressVerdict.NOT_PUBLIC),
    ("127.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("127.255.255.255", AddressVerdict.NOT_PUBLIC),
    ("10.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("172.15.255.255", AddressVerdict.PUBLIC),
    ("172.16.0.0", AddressVerdict.NOT_PUBLIC),
    ("172.31.255.255", AddressVerdict.NOT_PUBLIC),
    ("172.32.0.0", AddressVerdict.PUBLIC),
    ("192.168.1.1", AddressVerdict.NOT_PUBLIC),
    ("100.63.255.255", AddressVerdict.PUBLIC),
    ("100.64.0.0", AddressVerdict.NOT_PUBLIC),
    ("100.100.100.200", AddressVerdict.NOT_PUBLIC),
    ("100.128.0.0", AddressVerdict.PUBLIC),
    ("169.254.169.254", AddressVerdict.NOT_PUBLIC),
    ("168.63.129.16", AddressVerdict.NOT_PUBLIC),
    ("192.0.0.192", AddressVerdict.NOT_PUBLIC),
    ("198.18.0.1", AddressVerdict.NOT_PUBLIC),
    ("240.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("255.255.255.255", AddressVerdict.NOT_PUBLIC),
    ("224.0.0.1", AddressVerdict.MULTICAST),
    ("ff0e::1", AddressVerdict.MULTICAST),
    ("::", AddressVerdict.NOT_PUBLIC),
    ("::1", AddressVerdict.NOT_PUBLIC),
    ("fe80::1", AddressVerdict.NOT_PUBLIC),
    ("fe80::1%1", AddressVerdict.NOT_PUBLIC),
    ("fec0::1", AddressVerdict.NOT_PUBLIC),
    ("fd00:ec2::254", AddressVerdict.NOT_PUBLIC),
    ("::10.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("::8.8.8.8", AddressVerdict.NOT_PUBLIC),
    ("2001::1", AddressVerdict.NOT_PUBLIC),
    ("2001:db8::1", AddressVerdict.NOT_PUBLIC),
    ("3fff::1", AddressVerdict.NOT_PUBLIC),
    ("::ffff:127.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("::ffff:8.8.8.8", AddressVerdict.PUBLIC),
    ("::ffff:224.0.0.1", AddressVerdict.MULTICAST),
    ("64:ff9b::127.0.0.1", AddressVerdict.NOT_PUBLIC),
    ("64:ff9b::169.254.169.254", AddressVerdict.NOT_PUBLIC),
    ("64:ff9b::8.8.8.8", AddressVerdict.PUBLIC),
    ("64:ff9b:1::8.8.8.8", AddressVerdict.NOT_PUBLIC),
    ("2002:7f00:1::", AddressVerdict.NOT_PUBLIC),
    ("2002:a9fe:a9fe::1", AddressVerdict.NOT_PUBLIC),
    ("2002:808:808::1", AddressVerdict.PUBLIC),
    # The edges of what is special, from both sides.
    ("0.255.255.255", AddressVerdict.NOT_PUBLIC),
    ("1.0.0.0", AddressVerdict.PUBLIC),
    ("9.255.255.255", AddressVerdict.PUBLIC),
    ("11.0.0.0", AddressVerdict.PUBLIC),
    ("126.255.255.255", AddressVerdict.PUBLIC),
    ("128.0.0.0", AddressVerdict.PUBLIC),
    ("169.253.255.255", AddressVerdict.PUBLIC),
    ("169.254.0.0", AddressVerdict.NOT_PUBLIC),
    ("169.254.255.255", AddressVerdict.NOT_PUBLIC),
    ("169.255.0.0", AddressVerdict.PUBLIC),
    ("192.0.2.1", AddressVerdict.NOT_PUBLIC),
    ("192.88.98.255", AddressVerdict.PUBLIC),
    ("192.88.99.1", AddressVerdict.NOT_PUBLIC),
    ("192.167.255.255", AddressVerdict.PUBLIC),
    ("192.169.0.0", AddressVerdict.PUBLIC),
    ("198.17.255.255", AddressVerdict.PUBLIC),
    ("198.19.255.255", AddressVerdict.NOT_PUBLIC),
    ("198.20.0.0", AddressVerdict.PUBLIC),
    ("198.51.100.1", AddressVerdict.NOT_PUBLIC),
    ("203.0.113.1", AddressVerdict.NOT_PUBLIC),
    ("223.255.255.255", AddressVerdict.PUBLIC),
    ("239.255.255.250", AddressVerdict.MULTICAST),
    ("100::1", AddressVerdict.NOT_PUBLIC),
    ("1fff:ffff::", AddressVerdict.NOT_PUBLIC),
    ("2001:2::1", AddressVerdict.NOT_PUBLIC),
    ("2001:3::1", AddressVerdict.NOT_PUBLIC),
    ("2001:20::1", AddressVerdict.NOT_PUBLIC),
    ("2001:1ff:ffff::1", AddressVerdict.NOT_PUBLIC),
    ("2001:200::1", AddressVerdict.PUBLIC),
    ("4000::", AddressVerdict.NOT_PUBLIC),
    ("5f00::1", AddressVerdict.NOT_PUBLIC),
    ("fc00::1", AddressVerdict.NOT_PUBLIC),
    ("fd20:ce::254", AddressVerdict.NOT_PUBLIC),
    ("febf::1", AddressVerdict.NOT_PUBLIC),
    ("ff02::1", AddressVerdict.MULTICAST),
    # IPv4 inside IPv6 is evaluated as IPv4, in each of the forms.
    ("::ffff:100.64.0.1", AddressVerdict.NOT_PUBLIC),
    ("::ffff:168.63.129.16", AddressVerdict.NOT_PUBLIC),
    ("::ffff:192.0.0.192", AddressVerdict.NOT_PUBLIC),
    ("::ffff:0:8.8.8.8", AddressVerdict.NOT_PUBLIC),
    ("64:ff9b::100.64.0.1", AddressVerdict.NOT_PUBLIC),
    ("64:ff9b::168.63.129.16", AddressVerdict.NOT_PUBLIC),
    ("64:ff9b::224.0.0.1", AddressVerdict.MULTICAST),
    ("64:ff9b::1:8.8.8.8", AddressVerdict.NOT_PUBLIC),
    ("2002:6440:1::", AddressVerdict.NOT_PUBLIC),
    ("2002:a83f:8110::1", AddressVerdict.NOT_PUBLIC),
    ("2002:c000:c0::", AddressVerdict.NOT_PUBLIC),
    ("2002:e000:1::", AddressVerdict.MULTICAST),
    ("2001:0:808:808::", AddressVerdict.NOT_PUBLIC),
]


@each(("address", "verdict"), VERDICTS)
def test_it_lets_only_global_unicast_addresses_through(address: str, verdict: AddressVerdict) -> None:
    assert check_destination(ip_address(address), []) is verdict


@each(
    ("address", "verdict"),
    [
        ("10.1.2.3", AddressVerdict.ALLOWED),
        ("::ffff:10.1.2.3", AddressVerdict.ALLOWED),
        ("64:ff9b::10.1.2.3", AddressVerdict.ALLOWED),
        ("2002:a01:203::1", AddressVerdict.ALLOWED),
        ("10.2.0.0", AddressVerdict.NOT_PUBLIC),
        ("fd00::1", AddressVerdict.ALLOWED),
        ("fd00::1:0:0:1", AddressVerdict.NOT_PUBLIC),
        ("127.0.0.1", AddressVerdict.NOT_PUBLIC),
        ("8.8.8.8", AddressVerdict.PUBLIC),
    ],
)
def test_it_allows_exactly_the_addresses_of_the_settings(address: str, verdict: AddressVerdict) -> None:
    allow = [ip_network("10.1.0.0/16"), ip_network("fd00::/80")]
    assert check_destination(ip_address(address), allow) is verdict


@each(
    ("wrapped", "inner"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("64:ff9b::10.0.0.1", "10.0.0.1"),
        ("64:ff9b::1:10.0.0.1", "64:ff9b::1:10.0.0.1"),
        ("2002:a00:1::5", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
        ("2606:4700::1", "2606:4700::1"),
    ],
)
def test_it_unwraps_ipv4_inside_ipv6(wrapped: str, inner: str) -> None:
    assert unwrap(ip_address(wrapped)) == ip_address(inner)


def test_it_refuses_a_name_with_one_bad_address_among_good_ones() -> None:
    addresses = [ip_address("8.8.8.8"), ip_address("10.0.0.1"), ip_address("224.0.0.1")]
    assert refused(addresses, []) == {
        ip_address("10.0.0.1"): AddressVerdict.NOT_PUBLIC,
        ip_address("224.0.0.1"): AddressVerdict.MULTICAST,
    }


def test_it_refuses_nothing_when_every_address_passes() -> None:
    assert refused([ip_address("8.8.8.8"), ip_address("10.0.0.1")], [ip_network("10.0.0.0/8")]) == {}
