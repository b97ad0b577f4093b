"""Reports: as the platform reads them, in batches, and without what it refused."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from automation.agent.engine import HostReading, Sample, ServerAddress
from automation.agent.report import (
    LARGEST_BYTES,
    MOST_HOSTS,
    bodies_of,
    measurements_in,
    without,
    without_measurements,
)
from automation.reports.resource import ReportDocument, read_report
from automation.reports.rules import Report
from tests.each import each

TAKEN = datetime(2026, 11, 23, 12, 0, 30, 500_000, tzinfo=UTC)


def sample(metric: str, number: float = 1.0) -> Sample:
    """A value."""
    return Sample(metric, number, TAKEN)


def reading(number: int = 0, *samples: Sample) -> HostReading:
    """A host of many."""
    return HostReading(
        ServerAddress(f"db{number}.example.com", 27017),
        "REPLICA_PRIMARY",
        reachable=True,
        version="6.0.5",
        engine="MONGODB",
        replica_set="rs0",
        cluster="rs0",
        uptime=5,
        samples=samples,
        databases={"shop": [sample("DB_DATA_SIZE_TOTAL")]},
    )


def bodies(*readings: HostReading, **changes: Any) -> list[bytes]:
    """The reports of a round."""
    return list(
        bodies_of(
            readings, **{"hostname": "agent1", "version": "0.1.0", "labels": {}, "observed": TAKEN, **changes}
        )
    )


def read(body: bytes) -> Report:
    """As the platform reads it."""
    document = ReportDocument(data=json.loads(body), context={"now": TAKEN})
    document.is_valid(raise_exception=True)
    return read_report(document.validated_data)


def test_the_platform_reads_it() -> None:
    readings = [
        reading(0, sample("CONNECTIONS", 12)),
        HostReading(ServerAddress("::1", 27017), "STANDALONE", reachable=False),
    ]
    (body,) = bodies(*readings)
    report = read(body)
    assert (report.hostname, report.version, len(report.hosts)) == ("agent1", "0.1.0", 2)
    first, second = report.hosts
    assert (first.replica_set_name, first.uptime_seconds, second.reachable) == ("rs0", 5, False)
    assert (first.engine, second.engine) == ("MONGODB", None)
    assert [str(metric) for metric in first.samples] == ["CONNECTIONS"]
    assert second.databases is None
    assert measurements_in(readings) == 2
    assert measurements_in(readings, {"CONNECTIONS"}) == 1


def test_a_round_without_hosts_says_that_the_agent_is_up() -> None:
    (body,) = bodies()
    assert read(body).hosts == []


def test_hosts_are_sent_in_batches() -> None:
    found = [json.loads(body)["hosts"] for body in bodies(*map(reading, range(MOST_HOSTS + 1)))]
    assert [len(hosts) for hosts in found] == [MOST_HOSTS, 1]


def test_a_batch_is_no_larger_than_the_platform_takes() -> None:
    large = [reading(number, *[sample("CONNECTIONS")] * 9000) for number in range(8)]
    found = bodies(*large)
    assert len(found) > 1
    assert all(len(body) <= LARGEST_BYTES for body in found)


def test_unknown_metrics_are_left_out() -> None:
    (body,) = bodies(reading(0, sample("NEW"), sample("OLD")), unknown={"NEW"})
    assert [host["metricName"] for host in json.loads(body)["hosts"][0]["measurements"]] == ["OLD"]


def test_a_host_bears_the_lease_under_which_it_was_asked() -> None:
    leases = {reading(0).address: "first"}
    (body,) = bodies(reading(0), reading(1), lease_of=leases.get)
    assert [host.lease for host in read(body).hosts] == ["first", None]
    assert ["lease" in host for host in json.loads(body)["hosts"]] == [True, False]


@each("labels", [{}, {"env": "production", "_region2": "é=1"}])
def test_every_report_of_a_round_has_the_labels_also_without_any(labels: dict[str, str]) -> None:
    found = bodies(*map(reading, range(MOST_HOSTS + 1)), labels=labels)
    assert [read(body).labels for body in found] == [labels, labels]
    assert [read(body).labels for body in bodies(labels=labels)] == [labels]


def test_labels_that_an_older_platform_refuses_go_alone_and_later_reports_have_none() -> None:
    (body,) = bodies(reading(0, sample("NEW"), sample("OLD")), labels={"env": "production"})
    reduced, unknown = without(body, ["hosts[0].measurements[0].metricName", "labels"])
    assert reduced is not None
    assert "labels" not in json.loads(reduced)
    assert unknown == {"NEW", "labels"}
    assert [host["metricName"] for host in json.loads(reduced)["hosts"][0]["measurements"]] == ["OLD"]
    only, unknown = without(body, ["labels"])
    assert only is not None
    assert json.loads(only)["hosts"] == json.loads(body)["hosts"]
    assert unknown == {"labels"}
    (later,) = bodies(reading(), labels={"env": "production"}, unknown=unknown)
    assert "labels" not in json.loads(later)
    assert without(later, ["labels"]) == (None, frozenset())


def test_a_refused_label_goes_alone() -> None:
    (body,) = bodies(reading(), labels={"env": "production", "region": "eu"})
    reduced, unknown = without(body, ["labels.env"])
    assert reduced is not None
    assert (read(reduced).labels, unknown) == ({"region": "eu"}, frozenset())
    assert json.loads(reduced)["hosts"] == json.loads(body)["hosts"]
    assert without(body, ["labels.zone"]) == (None, frozenset())


def test_a_refused_measurement_goes_with_all_of_its_name() -> None:
    (body,) = bodies(reading(0, sample("NEW"), sample("OLD")), reading(1, sample("OLD"), sample("NEW")))
    reduced, unknown = without(body, ["hosts[0].measurements[0].metricName"])
    assert reduced is not None
    assert unknown == {"NEW"}
    hosts = json.loads(reduced)["hosts"]
    assert [[measurement["metricName"] for measurement in host["measurements"]] for host in hosts] == [
        ["OLD"],
        ["OLD"],
    ]


def test_a_refused_measurement_of_a_database_goes_with_its_name() -> None:
    (body,) = bodies(reading())
    reduced, unknown = without(body, ["hosts[0].databases[0].measurements[0].metricName"])
    assert reduced is not None
    assert unknown == {"DB_DATA_SIZE_TOTAL"}
    assert json.loads(reduced)["hosts"][0]["databases"] == [{"databaseName": "shop", "measurements": []}]


def test_a_measurement_that_is_refused_for_another_reason_goes_alone() -> None:
    (body,) = bodies(reading(0, sample("A", 1), sample("A", 2)))
    reduced, unknown = without(body, ["hosts[0].measurements[0].timestamp"])
    assert reduced is not None
    assert (unknown, [host["number"] for host in json.loads(reduced)["hosts"][0]["measurements"]]) == (
        frozenset(),
        [2],
    )


def test_a_refused_host_takes_no_other_with_it() -> None:
    (body,) = bodies(reading(0), reading(1))
    reduced, _ = without(body, ["hosts[0].hostname"])
    assert reduced is not None
    assert [host["hostname"] for host in json.loads(reduced)["hosts"]] == ["db1.example.com"]


@each("name", ["version", "replicaSetName", "clusterName", "uptimeSeconds", "databases", "lease"])
def test_a_refused_field_that_a_host_need_not_have_goes_alone(name: str) -> None:
    (body,) = bodies(reading(0, sample("OLD")), lease_of=lambda _: "first")
    reduced, unknown = without(body, [f"hosts[0].{name}"])
    assert reduced is not None
    (before,), (after,) = json.loads(body)["hosts"], json.loads(reduced)["hosts"]
    assert (before.keys() - after.keys(), unknown) == ({name}, frozenset())
    assert after["measurements"] == before["measurements"]


@each("name", ["engine", "problem"])
def test_an_older_platform_gets_no_fields_that_it_does_not_know(name: str) -> None:
    hosts = [replace(reading(number), problem="refused") for number in range(2)]
    (body,) = bodies(*hosts)
    # The platform lists only some of many faults.
    reduced, unknown = without(body, [f"hosts[0].{name}"])
    assert reduced is not None
    assert unknown == {name}
    (later,) = bodies(*hosts, unknown=unknown)
    assert json.loads(reduced) == json.loads(later)
    assert name not in later.decode()


@each(
    "field",
    [
        "hosts[7]",
        "hosts[7].hostname",
        "hosts[7].version",
        "hosts[0].measurements[9].number",
        "hosts[7].measurements[0].metricName",
        "hosts[0].databases[3].measurements[0].metricName",
        "hosts[99999999999999999999].measurements[0].number",
    ],
)
def test_a_place_that_a_report_does_not_have_is_a_fault_of_the_whole(field: str) -> None:
    (body,) = bodies(reading(0, sample("OLD")))
    assert without(body, [field]) == (None, frozenset())


def test_a_refused_database_goes_alone() -> None:
    (body,) = bodies(reading(0, sample("OLD")))
    reduced, _ = without(body, ["hosts[0].databases[0].databaseName"])
    assert reduced is not None
    (host,) = json.loads(reduced)["hosts"]
    assert (host["databases"], len(host["measurements"])) == ([], 1)


def test_a_report_without_its_measurements_keeps_its_hosts() -> None:
    (body,) = bodies(reading(0, sample("OLD")), reading(1))
    reduced = without_measurements(body)
    assert b"metricName" not in reduced
    assert [host.address.hostname for host in read(reduced).hosts] == ["db0.example.com", "db1.example.com"]


def test_reachable_hosts_without_their_measurements_have_the_reason() -> None:
    (body,) = bodies(reading(0), replace(reading(1), reachable=False), replace(reading(2), problem="own"))
    hosts = json.loads(without_measurements(body, "wrong clock"))["hosts"]
    assert [host.get("problem") for host in hosts] == ["wrong clock", None, "own"]


def test_a_fault_of_the_whole_report_leaves_nothing() -> None:
    (body,) = bodies(reading())
    for fields in (["hostname"], [], ["hosts"]):
        assert without(body, fields) == (None, frozenset())
