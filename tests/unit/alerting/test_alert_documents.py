"""Which fields the document of an alert has."""

from datetime import UTC, datetime, timedelta
from typing import Any

from alerting.incidents.resource import AlertDocument
from events.types import EVENT_TYPES, Category, EventType
from opsapi.api.links import Links
from opsapi.clock import wire_time
from tests.each import each

NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
FACTS = {
    "clusterId": "c" * 24,
    "clusterName": "orders",
    "hostId": "d" * 24,
    "hostname": "db1.example.com",
    "port": 27017,
    "replicaSetName": "rs0",
    "shardName": "s1",
    "sourceTypeName": "REPLICA_SET",
}
CLUSTER, HOST = {"clusterId", "clusterName"}, {"hostId", "hostnameAndPort"}
OF_TARGET = CLUSTER | HOST | {"replicaSetName", "sourceTypeName"}
ALWAYS = {
    "id",
    "alertConfigId",
    "groupId",
    "eventTypeName",
    "created",
    "updated",
    "status",
    "severity",
    "tags",
    "links",
}


def shown(now: datetime = NOW, **changes: Any) -> dict[str, Any]:
    """The document of an alert of a host nothing is known of."""
    row = {
        "id": "a" * 24,
        "group_id": "b" * 24,
        "config_id": "e" * 24,
        "is_global": False,
        "event_type": EventType.HOST_DOWN.value,
        "status": "OPEN",
        "severity": "WARNING",
        "facts": {},
        "metric_name": None,
        "current_value": None,
        "tags": [],
        "acknowledgement_comment": None,
        "acknowledging_username": None,
        "wire_created": "2099-01-01T00:00:00Z",
        "wire_updated": "2099-01-01T00:00:00Z",
        "wire_resolved": None,
        "wire_last_notified": None,
        "wire_acknowledged_until": None,
    }
    return AlertDocument.present({**row, **changes}, Links("https://ops.example.com"), now=now)


@each(
    ("event_type", "fields"),
    [
        (EventType.MONITORING_AGENT_DOWN, {"hostnameAndPort"}),
        (EventType.AUTOMATION_PLAN_WAITING, CLUSTER | HOST | {"replicaSetName"}),
        (EventType.OPLOG_BEHIND, OF_TARGET),
        (EventType.BI_CONNECTOR_DOWN, HOST),
        (EventType.CLUSTER_MONGOS_IS_MISSING, CLUSTER),
        (EventType.HOST_DOWN, CLUSTER | HOST | {"replicaSetName"}),
        (EventType.OUTSIDE_METRIC_THRESHOLD, CLUSTER | HOST | {"replicaSetName"}),
        (EventType.NO_PRIMARY, CLUSTER | HOST | {"replicaSetName"}),
        (EventType.ORG_USERS_WITHOUT_MFA, set()),
        (EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH, set()),
    ],
    ids=lambda value: value if isinstance(value, str) else "fields",
)
def test_what_it_is_about_depends_on_the_category(event_type: EventType, fields: set[str]) -> None:
    document = shown(event_type=event_type.value, facts=FACTS)
    assert set(document) == ALWAYS | fields
    assert set(shown(event_type=event_type.value)) == ALWAYS


def test_the_table_above_has_every_category_that_opens_alerts() -> None:
    tried = {Category.AGENT, Category.BACKUP, Category.BI_CONNECTOR, Category.CLUSTER, Category.HOST}
    tried |= {Category.AUTOMATION_CONFIG, Category.REPLICA_SET, Category.ORGANIZATION, Category.GROUP}
    assert {spec.category for spec in EVENT_TYPES.values() if spec.closed_by} == tried


@each(
    ("hostname", "port", "address"),
    [
        ("db1.example.com", 27017, "db1.example.com:27017"),
        ("192.0.2.7", 1, "192.0.2.7:1"),
        ("2001:db8::7", 27017, "[2001:db8::7]:27017"),
        ("agent1", None, "agent1"),
        ("2001:db8::7", None, "2001:db8::7"),
    ],
)
def test_a_host_is_named_with_its_port(hostname: str, port: int | None, address: str) -> None:
    facts = {"hostname": hostname} if port is None else {"hostname": hostname, "port": port}
    assert shown(facts=facts)["hostnameAndPort"] == address


def test_a_metric_comes_with_its_value_and_the_units_of_both() -> None:
    document = shown(metric_name="MEMORY_RESIDENT", current_value=812.5)
    assert (document["metricName"], document["currentValue"]) == (
        "MEMORY_RESIDENT",
        {"number": 812.5, "units": "BYTES"},
    )
    assert "currentValue" not in shown(metric_name="MEMORY_RESIDENT")


@each(("column", "field"), [("wire_resolved", "resolved"), ("wire_last_notified", "lastNotified")])
def test_a_time_is_shown_once_there_is_one(column: str, field: str) -> None:
    known: dict[str, Any] = {column: "2099-01-02T00:00:00Z"}
    assert shown(**known)[field] == "2099-01-02T00:00:00Z"
    assert field not in shown()


@each(
    ("until", "is_shown"),
    [(NOW - SECOND, False), (NOW, False), (NOW + SECOND, True), (NOW.replace(year=9999), True)],
    ids=str,
)
def test_an_acknowledgement_is_shown_until_it_lapses(until: datetime, is_shown: bool) -> None:
    acknowledged: dict[str, Any] = {
        "wire_acknowledged_until": wire_time(until),
        "acknowledgement_comment": "on it",
        "acknowledging_username": "ada",
    }
    for now in (NOW, NOW + SECOND - timedelta(microseconds=1)):
        fields = set(shown(now, **acknowledged)) - ALWAYS
        assert bool(fields) is is_shown
        assert fields <= {"acknowledgedUntil", "acknowledgementComment", "acknowledgingUsername"}


def test_the_example_is_such_a_document() -> None:
    assert set(AlertDocument.sample()) - ALWAYS <= set(AlertDocument().fields)
