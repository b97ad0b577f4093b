"""What a report says of a host, against what was known."""

from datetime import UTC, datetime, timedelta
from typing import Any

from automation.addresses import Address
from automation.choices import HostType
from automation.hosts.rules import (
    HostState,
    KnownType,
    Measuring,
    host_events,
    reachability_event,
    recovering_event,
    restart_event,
    role_event,
    type_after,
)
from automation.metrics import Metric
from automation.reports.rules import HostReport
from events.types import EventType
from tests.each import each


@each(
    ("was_down", "reachable", "expected"),
    [
        (False, False, EventType.HOST_DOWN),
        (True, True, EventType.HOST_UP),
        (False, True, None),
        (True, False, None),
    ],
)
def test_only_an_edge_is_an_event(was_down: bool, reachable: bool, expected: EventType | None) -> None:
    assert reachability_event(was_down=was_down, reachable=reachable) is expected


@each(
    ("before", "after", "expected"),
    [
        ("NO_DATA", "REPLICA_PRIMARY", None),
        ("NO_DATA", "STANDALONE", None),
        ("REPLICA_SECONDARY", "REPLICA_PRIMARY", "HOST_NOW_PRIMARY"),
        ("REPLICA_SECONDARY", "SHARD_PRIMARY", "HOST_NOW_PRIMARY"),
        ("SHARD_PRIMARY", "SHARD_SECONDARY", "HOST_NOW_SECONDARY"),
        ("RECOVERING", "REPLICA_SECONDARY", "HOST_NOW_SECONDARY"),
        ("REPLICA_PRIMARY", "STANDALONE", "HOST_NOW_STANDALONE"),
        ("SHARD_MONGOS", "SHARD_STANDALONE", "HOST_NOW_STANDALONE"),
        ("REPLICA_PRIMARY", "REPLICA_PRIMARY", None),
        ("REPLICA_PRIMARY", "SHARD_PRIMARY", None),
        ("SHARD_SECONDARY", "REPLICA_SECONDARY", None),
        ("STANDALONE", "SHARD_STANDALONE", None),
        ("REPLICA_SECONDARY", "REPLICA_ARBITER", None),
        ("REPLICA_SECONDARY", "RECOVERING", None),
        ("STANDALONE", "SHARD_MONGOS", None),
        ("STANDALONE", "SHARD_CONFIG", None),
    ],
)
def test_another_role_is_reported_but_not_the_first(before: str, after: str, expected: str | None) -> None:
    assert role_event(HostType(before), HostType(after)) == expected


@each(
    ("before", "after", "expected"),
    [
        ("NO_DATA", "RECOVERING", "HOST_RECOVERING"),
        ("REPLICA_SECONDARY", "RECOVERING", "HOST_RECOVERING"),
        ("RECOVERING", "RECOVERING", None),
        ("RECOVERING", "REPLICA_SECONDARY", "HOST_RECOVERED"),
        ("RECOVERING", "STANDALONE", "HOST_RECOVERED"),
        ("REPLICA_SECONDARY", "REPLICA_PRIMARY", None),
    ],
)
def test_recovering_begins_and_ends(before: str, after: str, expected: str | None) -> None:
    assert recovering_event(HostType(before), HostType(after)) == expected


@each(
    ("before", "after", "expected"),
    [
        (100, 99, EventType.HOST_RESTARTED),
        (100, 0, EventType.HOST_RESTARTED),
        (100, 100, None),
        (100, 101, None),
        (0, 0, None),
        (None, 5, None),
        (5, None, None),
        (None, None, None),
    ],
)
def test_an_uptime_gone_back_is_a_restart(
    before: int | None, after: int | None, expected: EventType | None
) -> None:
    assert restart_event(before, after) is expected


NOW = datetime(2099, 1, 1, tzinfo=UTC)
LONG = Measuring(NOW - timedelta(minutes=4))
NOT_MEASURED = Measuring(NOW - timedelta(minutes=9), not_measured=True)
SAMPLES = {Metric.CONNECTIONS: [(NOW, 1.0)]}


def known(**changes: Any) -> HostState:
    """A secondary that was up."""
    state = {
        "type_name": HostType.REPLICA_SECONDARY,
        "down": False,
        "version": "7.0.1",
        "uptime_seconds": 60,
    }
    return HostState(**{**state, **changes})


def said(**changes: Any) -> HostReport:
    """The same, a minute later."""
    report = {
        "address": Address("db1", 27017),
        "type_name": HostType.REPLICA_SECONDARY,
        "reachable": True,
        "version": "7.0.1",
        "uptime_seconds": 120,
        "samples": {},
    }
    return HostReport(**{**report, **changes})


PRIMARY, SECONDARY, NO_DATA = HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.NO_DATA
GUESS = KnownType(SECONDARY, is_guess=True)


@each(
    ("before", "report", "after"),
    [
        (KnownType(NO_DATA), said(), KnownType(SECONDARY)),
        (KnownType(NO_DATA), said(reachable=False), GUESS),
        (KnownType(NO_DATA), said(reachable=False, type_name=NO_DATA), KnownType(NO_DATA)),
        (KnownType(NO_DATA), said(type_name=NO_DATA), KnownType(NO_DATA)),
        (KnownType(PRIMARY), said(), KnownType(SECONDARY)),
        (KnownType(PRIMARY), said(reachable=False), KnownType(PRIMARY)),
        (KnownType(PRIMARY), said(type_name=NO_DATA), KnownType(PRIMARY)),
        (GUESS, said(reachable=False, type_name=PRIMARY), GUESS),
        (GUESS, said(type_name=NO_DATA), GUESS),
        (GUESS, said(), KnownType(SECONDARY)),
        (GUESS, said(type_name=PRIMARY), KnownType(PRIMARY)),
    ],
)
def test_only_a_reachable_host_shows_another_type(
    before: KnownType, report: HostReport, after: KnownType
) -> None:
    assert type_after(before, report) == after


@each(
    ("before", "report", "expected"),
    [
        (known(), said(), []),
        (known(), said(version=None, uptime_seconds=None), []),
        (
            known(),
            said(version="7.0.2", uptime_seconds=1, type_name=HostType.REPLICA_PRIMARY),
            ["HOST_NOW_PRIMARY", "HOST_RESTARTED", "HOST_UPGRADED"],
        ),
        (
            known(type_name=HostType.RECOVERING, down=True),
            said(),
            ["HOST_UP", "HOST_RECOVERED", "HOST_NOW_SECONDARY"],
        ),
        (
            known(type_name=HostType.NO_DATA, version=None, uptime_seconds=None),
            said(reachable=False),
            ["HOST_DOWN"],
        ),
        (known(), said(reachable=False, type_name=HostType.REPLICA_PRIMARY), ["HOST_DOWN"]),
        (known(type_name=HostType.RECOVERING), said(reachable=False), ["HOST_DOWN"]),
        (known(down=True), said(type_name=HostType.REPLICA_PRIMARY), ["HOST_UP", "HOST_NOW_PRIMARY"]),
        (known(down=True, type_guessed=True), said(type_name=HostType.REPLICA_PRIMARY), ["HOST_UP"]),
        (known(measuring=LONG), said(), ["HOST_NOT_MEASURED"]),
        (known(measuring=LONG), said(reachable=False), ["HOST_DOWN"]),
        (known(measuring=NOT_MEASURED), said(), []),
        (known(measuring=NOT_MEASURED, down=True), said(samples=SAMPLES), ["HOST_UP", "HOST_MEASURED"]),
    ],
    ids=[
        "as-before",
        "left-out",
        "restarted-as-primary",
        "back",
        "first-report",
        "down-as-primary",
        "down-while-recovering",
        "another-role-after-the-outage",
        "first-reached",
        "not-measured",
        "not-measured-and-down",
        "still-not-measured",
        "measured-after-an-outage",
    ],
)
def test_a_report_can_report_several_at_once(
    before: HostState, report: HostReport, expected: list[str]
) -> None:
    assert host_events(before, report, observed=NOW) == expected
