"""What a scraper learns of hosts."""

from automation.addresses import Address
from automation.labels import RESERVED_NAMES
from integrations.discovery.rules import Process, target_groups
from opsapi.api.principal import Group
from tests.each import each

GROUP = Group(id="a" * 24, name="päyments", org_id="b" * 24)
COMMON = {"group_id": GROUP.id, "group_name": "päyments", "org_id": GROUP.org_id}


def test_a_host_has_its_exporter_and_its_labels() -> None:
    process = Process(Address("db1.example.com", 27017), "orders", "orders_0")
    assert target_groups([process], group=GROUP, exporter_port=9216) == [
        {
            "targets": ["db1.example.com:9216"],
            "labels": {**COMMON, "process_port": "27017", "cl_name": "orders", "rs_nm": "orders_0"},
        }
    ]


def test_what_is_not_known_is_left_out() -> None:
    (found,) = target_groups([Process(Address("db1", 27017))], group=GROUP, exporter_port=1)
    assert found["labels"] == {**COMMON, "process_port": "27017"}


def test_labels_of_the_agent_are_added_and_replace_none() -> None:
    stored = {"env": "production", "group_id": "forged", "rs_nm": "forged"}
    (found,) = target_groups([Process(Address("db1", 27017), labels=stored)], group=GROUP, exporter_port=1)
    assert found["labels"] == {**COMMON, "process_port": "27017", "env": "production"}


def test_all_labels_of_service_discovery_are_reserved() -> None:
    process = Process(Address("db1.example.com", 27017), "orders", "orders_0")
    (found,) = target_groups([process], group=GROUP, exporter_port=9216)
    assert found["labels"].keys() == RESERVED_NAMES


@each(
    ("hostname", "target"),
    [("192.0.2.7", "192.0.2.7:80"), ("2001:db8::1", "[2001:db8::1]:80"), ("DB1", "DB1:80")],
)
def test_a_target_is_an_address(hostname: str, target: str) -> None:
    (found,) = target_groups([Process(Address(hostname, 27017))], group=GROUP, exporter_port=80)
    assert found["targets"] == [target]


def test_targets_are_in_order_and_of_one_machine_by_port() -> None:
    hosts = [("db2", 1), ("db", 27018), ("db.example.com", 1), ("db", 9999), ("::1", 1), ("10.0.0.1", 1)]
    found = target_groups([Process(Address(*host)) for host in hosts], group=GROUP, exporter_port=9216)
    assert [(group["targets"][0], group["labels"]["process_port"]) for group in found] == [
        ("10.0.0.1:9216", "1"),
        ("[::1]:9216", "1"),
        ("db.example.com:9216", "1"),
        ("db2:9216", "1"),
        ("db:9216", "9999"),
        ("db:9216", "27018"),
    ]


def test_no_host_no_target() -> None:
    assert target_groups([], group=GROUP, exporter_port=9216) == []
