"""What agents of a replica set report each other about its members."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from automation.agent.automation.exchange import Exchange, document, read
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.seen_fleet import SeenProcess, SeenState
from automation.agent.client import Client, Unreachable
from automation.plan.arbiters import SEVERAL_ARBITERS, takes_arbiters
from automation.plan.auth import KeyUse
from automation.plan.setting_values import setting_value
from automation.plan.values import (
    GoalProcess,
    GoalUnit,
    MemberConfig,
    MemberState,
    MoveKind,
    ObservedProcess,
    ObservedSet,
    OwnNeed,
)
from tests.each import each

UNIT = GoalUnit((GoalProcess("rs_0"), GoalProcess("rs_1", is_elsewhere=True)), "rs")
PRIMARY = SeenProcess(
    ObservedProcess(
        is_running=True,
        state=MemberState.PRIMARY,
        version="7.0.14",
        feature_version="7.0",
        has_data=True,
        away=timedelta(minutes=2),
        settings={"security.key": "a secret"},
        file={"security.key": "a secret"},
        started=datetime(2099, 11, 21, tzinfo=UTC),
        builds=frozenset({"7.0.14"}),
    ),
    pid=7,
    of_set=ObservedSet(
        config=(MemberConfig("rs_0", 3, 2.0), MemberConfig("rs_1", 4, 0.0, 1, True, 60, False)),
        oplog=timedelta(hours=3),
        oplog_lost=False,
    ),
    own_name="db1:1",
)


class ExchangingPlatform:
    """Answers an exchange with a status and processes, and keeps the request."""

    def __init__(self, status: int, *rows: Any) -> None:
        self.status, self.rows = status, rows
        self.sent: Any = {}

    def exchange_observations(self, observed: Any) -> Any:
        self.sent = observed
        if not self.status:
            raise Unreachable("no answer")
        return type(
            "Answer", (), {"status": self.status, "document": {"processes": list(self.rows)}, "detail": "409"}
        )


def renewed(platform: Any, **needs: OwnNeed) -> Any:
    exchange = Exchange(platform, "db1.example.com", AutomationProblems())
    reported = exchange.renew(UNIT, 4, {"rs_0": PRIMARY}, needs)
    assert exchange.reported(UNIT, 4) == reported
    assert exchange.reported(UNIT, 5) == {}
    return reported


def test_a_process_is_reported_without_its_settings() -> None:
    need = OwnNeed(MoveKind.CHANGE_VERSION, "8.0.1")
    sent = document("rs_0", PRIMARY, need)
    assert "secret" not in str(sent)
    reported = read(sent)
    known = ObservedProcess(
        is_running=True,
        state=MemberState.PRIMARY,
        version="7.0.14",
        feature_version="7.0",
        has_data=True,
        away=timedelta(minutes=2),
        need=need,
        key_use=KeyUse.NONE,
    )
    assert reported == SeenProcess(known, of_set=PRIMARY.of_set, own_name="db1:1")


def test_a_time_that_is_not_known_is_left_out() -> None:
    unknown = replace(PRIMARY, process=replace(PRIMARY.process, away=None))
    assert "awaySeconds" not in document("rs_0", unknown, None)
    assert read(document("rs_0", unknown, None)).process.away is None


@each(("value", "takes"), [(True, True), (False, False)])
def test_whether_a_server_takes_several_arbiters_is_reported(value: bool, takes: bool) -> None:
    settings = {SEVERAL_ARBITERS: setting_value(SEVERAL_ARBITERS, value)}
    server = replace(PRIMARY, process=replace(PRIMARY.process, settings=settings))
    assert takes_arbiters(read(document("rs_0", server, None)).process.settings or {}) is takes


@each("need", [None, OwnNeed(), OwnNeed(waits=True), OwnNeed(MoveKind.RESTART)])
def test_a_need_is_reported_unchanged(need: OwnNeed | None) -> None:
    assert read(document("rs_0", PRIMARY, need)).process.need == need


def test_a_move_that_this_version_does_not_know_is_an_unknown_need() -> None:
    assert read({"name": "rs_1", "nextMove": "PAINT"}).process.need is None


def test_only_an_uninitiated_process_reports_that_there_is_no_configuration() -> None:
    unknown = SeenProcess(ObservedProcess(is_running=True, state=MemberState.RECOVERING))
    assert read(document("rs_0", unknown, None)).of_set.config is None
    new = replace(unknown, process=ObservedProcess(is_running=True, state=MemberState.UNINITIATED))
    assert read(document("rs_0", new, None)).of_set.config == ()


def test_an_exchange_reports_own_processes_and_returns_processes_of_other_machines() -> None:
    platform = ExchangingPlatform(
        200, {"name": "rs_1", "running": False}, {"name": "rs_0"}, {"name": "another"}
    )
    reported = renewed(platform, rs_0=OwnNeed())
    assert list(reported) == ["rs_1"]
    assert reported["rs_1"].process.is_running is False
    assert (platform.sent["goalVersion"], platform.sent["replicaSetName"]) == (4, "rs")
    assert [row["nextMove"] for row in platform.sent["processes"]] == ["NONE"]


@each("status", [0, 409])
def test_without_an_answer_nothing_is_known_of_other_machines(status: int) -> None:
    assert renewed(ExchangingPlatform(status, {"name": "rs_1", "running": True})) == {}


@each(("state", "reports"), [(MemberState.PRIMARY, False), (MemberState.SECONDARY, True)])
def test_a_secondary_reports_the_configuration_only_without_a_primary(
    state: MemberState, reports: bool
) -> None:
    process = replace(PRIMARY.process, state=MemberState.SECONDARY)
    secondary = replace(PRIMARY, process=process, states={"rs_1": SeenState(True, state)})
    assert (read(document("rs_0", secondary, None)).of_set.config is not None) is reports


class Calm:
    """An exchange whose clock goes as a test says."""

    def __init__(self, need: str) -> None:
        self.now = 0.0
        self.platform = ExchangingPlatform(200, {"name": "rs_1", "running": True, "nextMove": need})
        self.exchange = Exchange(
            cast("Client", self.platform), "db1.example.com", AutomationProblems(), lambda: self.now
        )

    def asks(self, need: OwnNeed, version: int = 4) -> bool:
        """Whether the next renewal asks the platform."""
        self.platform.sent = {}
        self.exchange.renew(UNIT, version, {"rs_0": PRIMARY}, {"rs_0": need})
        return bool(self.platform.sent)


def test_while_nobody_needs_anything_the_platform_is_asked_every_half_minute() -> None:
    calm = Calm("NONE")
    assert calm.asks(OwnNeed())
    assert not calm.asks(OwnNeed())
    assert calm.asks(OwnNeed(MoveKind.RESTART))
    assert calm.asks(OwnNeed())
    assert calm.asks(OwnNeed(), version=5)
    calm.now = 31.0
    assert calm.asks(OwnNeed(), version=5)


@each("need", ["RESTART", "WAITS"])
def test_while_another_process_needs_something_the_platform_is_asked_each_time(need: str) -> None:
    calm = Calm(need)
    assert calm.asks(OwnNeed())
    assert calm.asks(OwnNeed())


def test_a_report_of_a_minute_ago_does_not_count() -> None:
    calm = Calm("NONE")
    calm.asks(OwnNeed())
    assert calm.exchange.reported(UNIT, 4)
    calm.now = 61.0
    assert calm.exchange.reported(UNIT, 4) == {}
