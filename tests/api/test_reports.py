"""Agent reports: what is accepted, what is refused, all or nothing."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.agents.changes import heartbeats_sweep
from automation.labels import RESERVED_NAMES
from automation.models import Agent, Database, FleetWatch, Host, Reading
from events.models import Event, Signal
from events.types import EVENT_TYPES
from opsapi import clock
from opsapi.api import views
from opsapi.sql import database_time
from tests.api.bodies import host, report
from tests.client import ApiClient
from tests.each import each

# In the future: nonces from before the start of the tests are refused.
NOW = datetime(2099, 11, 21, 12, 0, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db
WRONG_VALUES: list[Any] = [None, 1, True, [], {}, "", "v" * 256, "a\nb", "a\x00b", "\x7f", "\u2028"]
"""Of labels."""


def sample(**changes: Any) -> dict[str, Any]:
    """A measured value."""
    return {"metricName": "CONNECTIONS", "number": 5, **changes}


def measured(*samples: dict[str, Any]) -> dict[str, Any]:
    """A report of one host that measured this."""
    return report(host(measurements=list(samples)))


def report_of_events(*events: dict[str, Any]) -> dict[str, Any]:
    """A report of these events."""
    return report(events=list(events))


@each(
    ("body", "accepted"),
    [
        (report(), (0, 0, 0)),
        (report(hosts=[], events=[]), (0, 0, 0)),
        (report(host(), host(port=27018), host(hostname="::1")), (3, 0, 0)),
        (measured(sample(), sample(number=-1.5), sample(metricName="SYSTEM_MEMORY_FREE")), (1, 3, 0)),
        (report(host(databases=[{"databaseName": "a", "measurements": [sample()]}])), (1, 1, 0)),
        (
            report_of_events({"eventTypeName": "PRIMARY_ELECTED"}, {"eventTypeName": "HOST_ROLLBACK"}),
            (0, 0, 2),
        ),
    ],
)
def test_a_report_is_taken_and_counted(
    agent: ApiClient, project: Project, body: dict[str, Any], accepted: tuple[int, int, int]
) -> None:
    answer = agent.report(project.id, body)
    assert answer.status_code == 202
    assert answer.json() == {
        "accepted": dict(zip(("hosts", "measurements", "events"), accepted, strict=True))
    }


@each("wrong", [timedelta(minutes=-5), timedelta(minutes=5)], ids=["behind", "ahead"])
def test_heartbeats_have_the_time_of_the_database_on_a_machine_with_a_wrong_clock(
    wrong: timedelta, agent: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "clock", SimpleNamespace(now=lambda: clock.now() + wrong))
    before = database_time()
    assert agent.report(project.id, report(host())).status_code == 202
    FleetWatch.objects.filter(counting_since__lt=before).delete()
    times = [row.objects.get().last_report for row in (Agent, Host)] + [
        FleetWatch.objects.get().counting_since
    ]
    assert all(moment and before <= moment <= database_time() for moment in times)
    # The clocks of heartbeat timeouts run for long, and a worker sweeps.
    FleetWatch.objects.update(counting_since=before - timedelta(days=1), swept=before - timedelta(seconds=15))
    heartbeats_sweep(clock=database_time)
    assert not Agent.objects.get().down


def test_what_was_accepted_can_be_read_at_once(agent: ApiClient, reader: ApiClient, project: Project) -> None:
    full_host = host(
        version="8.0",
        engine="MONGODB",
        replicaSetName="rs0",
        clusterName="c",
        shardName="s",
        uptimeSeconds=60,
        reachable=False,
    )
    agent.report(project.id, report(full_host))
    (shown,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
    assert {name: shown[name] for name in full_host} == full_host
    assert reader.get(f"/groups/{project.id}").json()["hostCount"] == 1
    types = [row["eventTypeName"] for row in reader.get(f"/groups/{project.id}/events").json()["results"]]
    # Of its replica set nobody else was reported.
    assert sorted(types) == ["HOST_DOWN", "NEW_AGENT", "NEW_HOST", "NO_PRIMARY"]


def test_the_same_report_again_makes_nothing_new(agent: ApiClient, project: Project) -> None:
    body = report(host(hostname="DB1.example.com"), hostname="Agent1")
    agent.report(project.id, body)
    events = Event.objects.count()
    agent.report(project.id, report(host(hostname="db1.EXAMPLE.com"), hostname="agent1"))
    assert (Host.objects.count(), Agent.objects.count(), Event.objects.count()) == (1, 1, events)


def test_what_a_report_leaves_out_stays_as_it_was(agent: ApiClient, project: Project) -> None:
    agent.report(
        project.id, report(host(version="8.0", replicaSetName="rs0", databases=[{"databaseName": "a"}]))
    )
    agent.report(project.id, report(host(version="8.1")))
    stored = Host.objects.get()
    assert (stored.version, stored.replica_set_name) == ("8.1", "rs0")
    assert list(Database.objects.values_list("name", flat=True)) == ["a"]


def test_the_engine_is_reported_or_follows_from_the_metrics_and_stays(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    def shown() -> str | None:
        (found,) = reader.get(f"/groups/{project.id}/hosts").json()["results"]
        engine: str | None = found.get("engine")
        return engine

    agent.report(project.id, report(host(measurements=[{"metricName": "CONNECTIONS", "number": 1}])))
    assert shown() is None
    agent.report(project.id, report(host(measurements=[{"metricName": "PG_XID_AGE", "number": 1}])))
    assert shown() == "POSTGRESQL"
    agent.report(project.id, report(host(reachable=False)))
    assert shown() == "POSTGRESQL"
    agent.report(project.id, report(host(engine="MONGODB")))
    assert shown() == "MONGODB"
    answer = agent.report(project.id, report(host(engine="ORACLE")))
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_ENUM_VALUE")


def test_databases_replace_the_hosts_list(agent: ApiClient, project: Project) -> None:
    for names in (["a", "b"], ["b", "c"]):
        body = report(host(databases=[{"databaseName": name} for name in names]))
        agent.report(project.id, body)
        assert sorted(Database.objects.values_list("name", flat=True)) == names


@each(("databases", "left"), [([], 0), (None, 1)])
def test_an_empty_array_of_databases_says_that_there_are_none(
    agent: ApiClient, project: Project, databases: list[Any] | None, left: int
) -> None:
    agent.report(project.id, report(host(databases=[{"databaseName": "a"}])))
    assert agent.report(project.id, report({**host(), "databases": databases})).status_code == 202
    assert Database.objects.count() == left


def test_labels_are_shown_with_each_host_of_the_report_until_they_are_removed(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    def shown() -> list[Any]:
        return [row.get("labels") for row in reader.get(f"/groups/{project.id}/hosts").json()["results"]]

    two = [host(hostname="a"), host(hostname="b")]
    labels = {"n" * 63: "v" * 255, "_": " ", "ENV": "pröduction = 1", "env": "x"}
    many = {f"l{number}": "x" for number in range(16)}
    for sent, hosts, now in (
        ({}, two, [None, None]),
        ({"labels": labels}, two, [labels, labels]),
        ({}, two, [labels, labels]),
        ({"labels": None}, two, [labels, labels]),
        ({"labels": many}, two[1:], [labels, many]),
        ({"labels": {}}, two[:1], [None, many]),
        ({"labels": {}}, two, [None, None]),
    ):
        answer = agent.report(project.id, {**report(*hosts), **sent})
        assert answer.status_code == 202
        assert shown() == now


@each(
    ("given", "stored"),
    [
        (sample(metricName="SYSTEM_MEMORY_FREE", number=1.5, units="KILOBYTES"), 1536.0),
        (sample(metricName="SYSTEM_MEMORY_FREE", number=7), 7.0),
        (sample(metricName="OP_EXECUTION_TIME_READS", number=2, units="SECONDS"), 2000.0),
        (sample(metricName="OPLOG_MASTER_TIME", number=2, units="HOURS"), 7200.0),
        (sample(units="RAW"), 5.0),
    ],
)
def test_values_are_kept_in_the_metrics_base_unit(
    agent: ApiClient, project: Project, given: dict[str, Any], stored: float
) -> None:
    assert agent.report(project.id, measured(given)).status_code == 202
    assert Reading.objects.get().numbers[-1] == stored


@each(
    ("body", "field", "code"),
    [
        (report(hostname="a_b"), "hostname", "INVALID_ATTRIBUTE"),
        (report(more=1), "more", "INVALID_ATTRIBUTE"),
        (report(labels={f"l{number}": "x" for number in range(17)}), "labels", "INVALID_ATTRIBUTE"),
        (report(labels={f"l{number}": "ü" * 64 for number in range(8)}), "labels", "INVALID_ATTRIBUTE"),
        (report(labels={"": "x"}), 'labels.""', "INVALID_ATTRIBUTE"),
        (report(labels={"a-b": "x"}), "labels.a-b", "INVALID_ATTRIBUTE"),
        (report(labels={"1a": "x"}), "labels.1a", "INVALID_ATTRIBUTE"),
        (report(labels={"é": "x"}), "labels.é", "INVALID_ATTRIBUTE"),
        (report(labels={"a\n": "x"}), "labels.a\n", "INVALID_ATTRIBUTE"),
        (report(labels={"n" * 64: "x"}), f"labels.{'n' * 64}", "INVALID_ATTRIBUTE"),
        (report(labels={"n" * 200: "x"}), f"labels.{'n' * 100}", "INVALID_ATTRIBUTE"),
        (report(labels={"__address__": "x"}), "labels.__address__", "INVALID_ATTRIBUTE"),
        *((report(labels={name: "x"}), f"labels.{name}", "INVALID_ATTRIBUTE") for name in RESERVED_NAMES),
        *(
            (report(labels={"good": "x", "env": value}), "labels.env", "INVALID_ATTRIBUTE")
            for value in WRONG_VALUES
        ),
        (report(host(hostname="-a")), "hosts[0].hostname", "INVALID_ATTRIBUTE"),
        (report(host(hostname="a" * 64)), "hosts[0].hostname", "INVALID_ATTRIBUTE"),
        (report(host(hostname="fe80::1%eth0")), "hosts[0].hostname", "INVALID_ATTRIBUTE"),
        (report(host(port=27017.0)), "hosts[0].port", "INVALID_ATTRIBUTE"),
        (report(host(cpu=1)), "hosts[0].cpu", "INVALID_ATTRIBUTE"),
        (report(host(), host(hostname="DB1.example.com")), "hosts[1].hostname", "INVALID_ATTRIBUTE"),
        (
            report(host(databases=[{"databaseName": "a"}, {"databaseName": "a"}])),
            "hosts[0].databases[1].databaseName",
            "INVALID_ATTRIBUTE",
        ),
        (
            report(host(databases=[{"databaseName": ""}])),
            "hosts[0].databases[0].databaseName",
            "INVALID_ATTRIBUTE",
        ),
        (
            report(host(databases=[{"databaseName": "a", "measurements": [sample(metricName="X")]}])),
            "hosts[0].databases[0].measurements[0].metricName",
            "INVALID_METRIC_NAME",
        ),
        (measured(sample(units="BYTES")), "hosts[0].measurements[0].units", "UNITS_MISMATCH"),
        (measured(sample(units="PERCENT")), "hosts[0].measurements[0].units", "UNITS_MISMATCH"),
        (
            measured(sample(metricName="SYSTEM_MEMORY_FREE", units="PETABYTES", number=1e300)),
            "hosts[0].measurements[0].number",
            "INVALID_ATTRIBUTE",
        ),
        (measured(sample(timestamp="2026-11-21")), "hosts[0].measurements[0].timestamp", "INVALID_ATTRIBUTE"),
        (report_of_events({}), "events[0].eventTypeName", "MISSING_ATTRIBUTE"),
        (report_of_events({"eventTypeName": "NOPE"}), "events[0].eventTypeName", "INVALID_ENUM_VALUE"),
        (
            report_of_events({"eventTypeName": "SHARD_ADDED", "port": 0}),
            "events[0].port",
            "INVALID_ATTRIBUTE",
        ),
        (
            report_of_events({"eventTypeName": "SHARD_ADDED", "userId": "x"}),
            "events[0].userId",
            "INVALID_ATTRIBUTE",
        ),
    ],
)
def test_a_wrong_field_refuses_the_whole_report(
    agent: ApiClient, project: Project, body: dict[str, Any], field: str, code: str
) -> None:
    good = host(hostname="good.example.com", measurements=[sample()])
    answer = agent.report(project.id, {**body, "hosts": [*body["hosts"], good]} if body["hosts"] else body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert not any(model.objects.exists() for model in (Host, Agent, Reading, Event, Signal))


@each(("labels", "field"), [({"\udcff": "x"}, "labels"), ({"env": "\ud800"}, "labels.env")])
def test_labels_that_are_no_text_are_refused(
    agent: ApiClient, project: Project, labels: dict[str, str], field: str
) -> None:
    answer = agent.report(project.id, json.dumps(report(host(), labels=labels)))
    assert answer.status_code == 400
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert not Host.objects.exists()


def test_every_wrong_field_is_named_at_once(agent: ApiClient, project: Project) -> None:
    body = report(
        host(port=0, measurements=[sample(units="BYTES")]), host(typeName="X"), events=[{}], version=""
    )
    bad = agent.report(project.id, body).json()["badFields"]
    assert [field["field"] for field in bad] == [
        "version",
        "hosts[0].port",
        "hosts[0].measurements[0].units",
        "hosts[1].typeName",
        "events[0].eventTypeName",
    ]
    assert [bool(field.get("allowed")) for field in bad] == [False, False, True, True, False]
    assert bad[2]["allowed"] == ["RAW"]


@each(
    ("age", "status"),
    [
        (timedelta(0), 202),
        (timedelta(hours=1), 202),
        (timedelta(hours=1, seconds=1), 400),
        (timedelta(minutes=-5), 202),
        (timedelta(minutes=-5, seconds=-1), 400),
    ],
)
@time_machine.travel(NOW, tick=False)
def test_a_time_is_at_most_an_hour_old_and_five_minutes_ahead(
    agent: ApiClient, project: Project, age: timedelta, status: int
) -> None:
    moment = (NOW - age).isoformat()
    assert agent.report(project.id, measured(sample(timestamp=moment))).status_code == status
    body = report_of_events({"eventTypeName": "SHARD_ADDED", "created": moment})
    assert agent.report(project.id, body).status_code == status


@time_machine.travel(NOW, tick=False)
def test_a_reported_event_carries_its_time_its_place_and_the_reporter(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, report(host()))
    event = {
        "eventTypeName": "DATA_EXPLORER_CRUD",
        "hostname": "DB1.example.com",
        "port": 27017,
        "database": "d",
        "collection": "c",
        "opType": "INSERT",
        "created": "2099-11-21T11:30:00Z",
    }
    assert agent.report(project.id, report_of_events(event), REMOTE_ADDR="192.0.2.7").status_code == 202
    path = f"/groups/{project.id}/events?eventType=DATA_EXPLORER_CRUD"
    (shown,) = reader.get(path).json()["results"]
    assert {name: shown[name] for name in event} == event
    assert shown["hostId"] == Host.objects.get().id
    assert agent.key
    assert (shown["publicKey"], shown["remoteAddress"]) == (agent.key.public_key, "192.0.2.7")


@pytest.mark.slow
@each("name", [spec.name for spec in EVENT_TYPES.values()])
def test_an_agent_reports_only_what_is_marked_reported(agent: ApiClient, project: Project, name: str) -> None:
    spec = next(spec for spec in EVENT_TYPES.values() if spec.name == name)
    answer = agent.report(project.id, report_of_events({"eventTypeName": name}))
    assert answer.status_code == (202 if spec.reported else 400)
    if not spec.reported:
        (bad,) = answer.json()["badFields"]
        assert bad["allowed"] == [spec.name for spec in EVENT_TYPES.values() if spec.reported]


def test_an_agent_of_the_demonstration_is_not_down_because_nobody_reports(
    agent: ApiClient, reader: ApiClient, project: Project
) -> None:
    agent.report(project.id, report())
    Agent.objects.update(demonstration=True, last_report=database_time() - timedelta(days=1))
    for down, state in ((False, "ACTIVE"), (True, "DOWN")):
        Agent.objects.update(down=down)
        (shown,) = reader.get(f"/groups/{project.id}/agents").json()["results"]
        assert (shown["demonstration"], shown["down"], shown["stateName"]) == (True, down, state)
