"""The table of metrics: its names are the platform's, and recorded servers have what it names."""

import pytest

from automation.agent.mongodb import topology
from automation.agent.mongodb.metrics import DATABASE, SERVER
from automation.agent.rates import Why, values_of
from automation.choices import HostType
from automation.metrics import Metric
from tests.each import each
from tests.unit.automation.agent.parity import NEVER
from tests.unit.automation.agent.recorded import recording

NAMES = {row.metric for row in (*SERVER, *DATABASE)}


def test_every_name_is_one_of_the_platform() -> None:
    assert not NAMES - {metric.value for metric in Metric}


def test_every_metric_of_mongodb_that_the_platform_has_is_in_the_table_or_never_reported() -> None:
    others = {metric.value for metric in Metric if metric.value.startswith("PG_")}
    assert {metric.value for metric in Metric} - others == NAMES | NEVER.keys()
    assert not NAMES & NEVER.keys()


def test_a_metric_is_there_once() -> None:
    for table in (SERVER, DATABASE):
        assert len({row.metric for row in table}) == len(table)


@each("kind", ["primary", "hidden", "standalone"])
def test_a_recorded_server_has_nearly_all(kind: str) -> None:
    _, reasons = recording(kind).values()
    missing = {metric for metric, why in reasons.items() if why is Why.ABSENT}
    of_set = {"OPLOG_SLAVE_LAG_MASTER_TIME", "OPLOG_MASTER_LAG_TIME_DIFF", "OPLOG_RATE_GB_PER_HOUR"}
    expected = {
        "primary": {"OPLOG_SLAVE_LAG_MASTER_TIME", "OPLOG_MASTER_LAG_TIME_DIFF"},
        "hidden": {"OPLOG_RATE_GB_PER_HOUR"},
        "standalone": {*of_set, "OPLOG_MASTER_TIME"},
    }
    # Sizes of databases come from other commands.
    assert missing == {"MEMORY_MAPPED", "DB_DATA_SIZE_TOTAL", "DB_STORAGE_TOTAL", *expected[kind]}


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
    values, _ = recording("hidden").values()
    assert values["OPLOG_SLAVE_LAG_MASTER_TIME"] >= 0
    headroom = values["OPLOG_MASTER_TIME"] - values["OPLOG_SLAVE_LAG_MASTER_TIME"]
    assert values["OPLOG_MASTER_LAG_TIME_DIFF"] == headroom


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
