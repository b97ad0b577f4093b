"""The table of metrics: its names are the platform's, and recorded servers have what it names."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from bson import Timestamp

from automation.agent import backups
from automation.agent.machine.metrics import _CPU
from automation.agent.mongodb import topology
from automation.agent.mongodb.metrics import (
    DATABASE,
    METRICS,
    OF_AGENT,
    SERVER,
    WINDOW,
    Answers,
    days_of_support,
    numbers_of,
)
from automation.agent.rates import Why, values_of
from automation.choices import HostType
from automation.metrics import Engine, Metric
from tests.each import each
from tests.unit.automation.agent.parity import NEVER
from tests.unit.automation.agent.recorded import SHAPED_VERSIONS, recording

AT = datetime(2026, 11, 28, 12)  # noqa: DTZ001 - times of the server bear no zone
NAMES = {row.metric for row in (*SERVER, *DATABASE)}


def test_every_name_is_one_of_the_platform() -> None:
    assert not NAMES - {metric.value for metric in Metric}


def test_every_metric_of_mongodb_that_the_platform_has_is_in_the_table_or_never_reported() -> None:
    known = {metric.value for metric in Metric if Engine.MONGODB in metric.spec.engines}
    assert known == NAMES | METRICS | {backups.METRIC, backups.UNKNOWN} | NEVER.keys()
    assert not NAMES & NEVER.keys()


def test_a_metric_is_there_once() -> None:
    for table in (SERVER, DATABASE):
        assert len({row.metric for row in table}) == len(table)


@each("kind", ["primary", "hidden", "standalone"])
def test_a_recorded_server_has_nearly_all(kind: str) -> None:
    _, reasons = recording(kind).values()
    missing = {metric for metric, why in reasons.items() if why is Why.ABSENT}
    of_primary = {"OPLOG_RATE_GB_PER_HOUR", "OPLOG_MASTER_TIME", "MONGO_MAJORITY_LAG"}
    of_secondary = {"OPLOG_SLAVE_LAG_MASTER_TIME", "OPLOG_MASTER_LAG_TIME_DIFF"}
    expected = {
        "primary": of_secondary,
        "hidden": of_primary,
        "standalone": {*of_primary, *of_secondary, "MONGO_MEMBERS_UNREACHABLE"},
    }
    # Sizes of databases come from other commands.
    of_databases = {"DB_DATA_SIZE_TOTAL", "DB_STORAGE_TOTAL", "MONGO_DISK_SIZE_TOTAL"}
    assert missing == {"MEMORY_MAPPED", *of_databases, *OF_AGENT, *expected[kind]}


@each(
    ("version", "days"),
    [("7.0.14", 1), ("7.0", 1), ("5.0.4", -1033), ("8.2.1", None), ("", None), ("70.1", None)],
)
def test_the_days_until_support_ends_are_known_for_each_release_series(
    version: str, days: int | None
) -> None:
    assert days_of_support(version, date(2027, 8, 30)) == days


@each("version", SHAPED_VERSIONS)
def test_a_later_version_has_the_same_metrics_at_other_places(version: str) -> None:
    moved = {f"SYSTEM_NORMALIZED_CPU_{name}" for name in _CPU} | {"OPLOG_RATE_GB_PER_HOUR"}
    values, reasons = recording("primary", version).values()
    known_values, known = recording("primary").values()
    assert len(moved) == 9
    assert moved <= values.keys()
    assert reasons == known
    assert values == known_values


@each(
    ("cpu", "cores"),
    [
        ({"num_cpus": 8}, 8),
        ({"num_logical_cores": 8, "num_cores_available_to_process": 2}, 8),
        ({"num_cores_available_to_process": 2}, 2),
        ({}, None),
    ],
)
def test_the_times_of_the_machine_are_divided_by_all_its_cores(
    cpu: dict[str, int], cores: int | None
) -> None:
    assert numbers_of(Answers({"systemMetrics": {"cpu": cpu}})).get("systemMetrics/cpu/num_cpus") == cores


def test_values_of_a_recorded_primary_are_in_their_units() -> None:
    values, _ = recording("primary").values()
    status = recording("primary").polls[1]["serverStatus"]
    assert values["CONNECTIONS"] == status["connections"]["current"]
    assert values["MEMORY_RESIDENT"] == status["mem"]["resident"] * 1024 * 1024
    assert 0 < values["CONNECTIONS_PERCENT"] < 100
    assert 0 <= values["DISK_PARTITION_SPACE_PERCENT_USED"] <= 100
    assert sum(values[f"DISK_PARTITION_SPACE_PERCENT_{part}"] for part in ("FREE", "USED")) == pytest.approx(
        100
    )
    assert values["NETWORK_NUM_REQUESTS"] > 0
    assert values["OPLOG_MASTER_TIME"] > 0


def test_a_secondary_that_is_not_behind_has_no_lag_and_all_the_window_as_headroom() -> None:
    found = recording("hidden")
    values, _ = found.values()
    assert values["OPLOG_SLAVE_LAG_MASTER_TIME"] == 0
    assert values["OPLOG_MASTER_LAG_TIME_DIFF"] == found.primary_window


@each(
    ("behind", "delay", "lag", "headroom"),
    [(90, 0, 90, 510), (90, 60, 30, 510), (30, 60, 0, 570), (700, 60, 640, -100)],
)
def test_the_configured_delay_is_no_lag_and_takes_headroom(
    behind: int, delay: int, lag: int, headroom: int
) -> None:
    members = [
        {"stateStr": "PRIMARY", "optimeDate": AT},
        {"stateStr": "SECONDARY", "self": True, "optimeDate": AT - timedelta(seconds=behind)},
    ]
    answers = Answers({"replSetGetStatus": {"members": members}}, delay=delay, primary_window=600)
    numbers = numbers_of(answers)
    assert (numbers["replSetGetStatus/LAG"], numbers["oplog/HEADROOM"]) == (lag, headroom)


@each(
    ("state", "size", "window"),
    [("PRIMARY", 100, 50), ("PRIMARY", 80, 50), ("PRIMARY", 79, None), ("SECONDARY", 100, None)],
)
def test_the_window_is_that_of_a_primary_whose_oplog_is_full(
    state: str, size: int, window: int | None
) -> None:
    oplog = {"earliestOptime": Timestamp(100, 1), "latestOptime": Timestamp(150, 1)}
    sections: dict[str, dict[str, Any]] = {
        "replSetGetStatus": {"members": [{"self": True, "stateStr": state}]},
        "serverStatus": {"oplog": oplog},
        "local.oplog.rs.stats": {"size": size, "maxSize": 100},
    }
    assert numbers_of(Answers(sections)).get(WINDOW) == window


def test_the_majority_lags_behind_the_newest_write_of_the_primary() -> None:
    times = {"lastCommittedWallTime": AT - timedelta(seconds=5), "lastAppliedWallTime": AT}
    lags = [
        numbers_of(
            Answers({"replSetGetStatus": {"optimes": times, "members": [{"self": True, "stateStr": state}]}})
        ).get("replSetGetStatus/MAJORITY_LAG")
        for state in ("PRIMARY", "SECONDARY")
    ]
    assert lags == [5, None]


UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
"""The time that servers write for an unknown time."""


@each(("behind", "ahead"), [(UNKNOWN, AT), (AT, UNKNOWN), (None, AT)])
def test_an_unknown_time_of_a_member_is_no_lag(behind: datetime | None, ahead: datetime | None) -> None:
    members = [
        {"stateStr": "PRIMARY", "optimeDate": ahead},
        {"stateStr": "SECONDARY", "self": True, "optimeDate": behind},
    ]
    numbers = numbers_of(Answers({"replSetGetStatus": {"members": members}}, primary_window=600))
    assert not numbers.keys() & {"replSetGetStatus/LAG", "oplog/HEADROOM"}


@each(("committed", "applied"), [(UNKNOWN, AT), (UNKNOWN, UNKNOWN)])
def test_a_majority_that_has_no_write_yet_is_no_majority_that_lags(
    committed: datetime, applied: datetime
) -> None:
    times = {"lastCommittedWallTime": committed, "lastAppliedWallTime": applied}
    status = {"optimes": times, "members": [{"self": True, "stateStr": "PRIMARY"}]}
    assert "replSetGetStatus/MAJORITY_LAG" not in numbers_of(Answers({"replSetGetStatus": status}))


def test_an_oplog_without_a_first_entry_has_no_window() -> None:
    sections: dict[str, dict[str, Any]] = {
        "replSetGetStatus": {"members": [{"self": True, "stateStr": "PRIMARY"}]},
        "serverStatus": {"oplog": {"earliestOptime": Timestamp(0, 0), "latestOptime": Timestamp(150, 1)}},
        "local.oplog.rs.stats": {"size": 100, "maxSize": 100},
    }
    assert not numbers_of(Answers(sections)).keys() & {WINDOW, "oplog/GB_PER_HOUR"}


def test_a_restart_between_two_polls_drops_every_rate() -> None:
    found = recording("primary")
    before, now = found.moment(1), found.moment(0)
    from_there = {row.metric for row in SERVER if row.kind.value == "rate"}
    _, reasons = values_of(SERVER, before, now)
    assert {reasons[metric] for metric in from_there} == {Why.WAITS}


def test_types_equal_the_platforms() -> None:
    named = {
        topology.STANDALONE,
        topology.ARBITER,
        topology.ROUTER,
        topology.CONFIG_SERVER,
        topology.RECOVERING,
    }
    assert named <= {host_type.value for host_type in HostType}
