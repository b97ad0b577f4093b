"""Moves with a turn, as the automation asks for it, uses it and gives it back. Real servers are elsewhere."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from automation.agent.automation import unit_planner
from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.carrier import AutomationCarrier
from automation.agent.automation.moves import Mover
from automation.agent.automation.places import ProcessPlaces
from automation.agent.automation.process_moves import ProcessMoves
from automation.agent.automation.seen_fleet import SeenProcess, SeenState, SeenUnit
from automation.agent.automation.unit_planner import PlannedUnit
from automation.agent.client import Client, PlatformAnswer, Unreachable
from automation.agent.settings import read_settings
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    MemberState,
    Move,
    MoveKind,
    ObservedProcess,
    OwnNeed,
    PlanHold,
    PlanStep,
)
from tests.each import each
from tests.unit.automation.agent.automation.test_carrier import ENVIRONMENT, UNCHANGED, given, only
from tests.unit.automation.agent.automation.test_observe import AnsweringServer, standalone
from tests.unit.automation.agent.automation.test_turn_asker import AnsweringPlatform

GRANTED = PlatformAnswer(201, {"id": "t1", "fence": 7}, None)
RENEWED = PlatformAnswer(200, {}, None)
OVER = PlatformAnswer(409, {"errorCode": "AUTOMATION_TURN_OVER", "detail": "it is over"}, None)
REFUSED = PlatformAnswer(409, {"parameters": ["db_1", "", "LAG", ""], "detail": "the lag is 60 s"}, None)


class _GrantingPlatform(AnsweringPlatform):
    """A platform with a machine whose server has to restart. `turns`: its answers about turns, in order."""

    def __init__(self, part: PlatformAnswer, *turns: PlatformAnswer | Unreachable) -> None:
        super().__init__(*turns)
        self.parts, self.turns = [part], self.answers
        self.reports = list[Mapping[str, Any]]()
        self.granted: Callable[[], object] = lambda: None

    def automation(self, _: str, __: str) -> PlatformAnswer:
        return self.parts.pop(0) if self.parts else UNCHANGED

    def report(self, body: bytes, _: str) -> PlatformAnswer:
        self.reports.append(json.loads(body))
        return PlatformAnswer(200, {}, None)

    def _answer(self, request: Mapping[str, Any]) -> PlatformAnswer:
        answer = super()._answer(request)
        if answer is GRANTED:
            self.granted()
        return answer

    def waits(self) -> list[tuple[str, str]]:
        """Why the process waits, as its agent reports it."""
        return [(wait["reason"], wait["detail"]) for wait in only(self.reports[-1])["plan"]["waits"]]

    def begun(self) -> list[Mapping[str, Any]]:
        """The moves that the agent has begun."""
        moves = only(self.reports[-1])["plan"]["moves"]
        return [move for move in moves if move["state"] != "PLANNED"]


class _OneServer(AnsweringServer):
    """The only server of a machine, at any address."""

    def server(self, _: object, key: str) -> "_OneServer":
        return self

    def is_watched(self, _: object) -> bool:
        return True


Made = tuple[_GrantingPlatform, AutomationCarrier, _OneServer]


@pytest.fixture
def restarting(tmp_path: Path) -> Callable[..., Made]:
    """The automation of a machine whose server has to restart, at a platform with these answers."""

    def make(*turns: PlatformAnswer | Unreachable) -> Made:
        answer = given(tmp_path, {"lastRestart": "2020-01-01T00:00:00Z"})
        (process,) = answer.document["processes"]
        settings = process["args2_6"]
        ProcessPlaces(tmp_path / "base", "db_1").write_config(settings, "7.0.2")
        server = _OneServer(
            {
                **standalone(1),
                "serverStatus": {"uptimeMillis": 4e11},
                "getCmdLineOpts": {"parsed": settings},
            }
        )
        platform = _GrantingPlatform(answer, *turns)
        allowed = {"OPSAPI_AGENT_AUTOMATION_DIRS": str(tmp_path)}
        agent = replace(read_settings({**ENVIRONMENT, **allowed}), mongodb=())
        carrier = AutomationCarrier(agent, cast("Client", platform), "1.0")
        carrier._planner.servers = cast("Any", server)
        return platform, carrier, server

    return make


def test_a_move_that_has_to_wait_after_its_turn_is_granted_is_given_back_with_the_reason(
    restarting: Callable[..., Made],
) -> None:
    platform, carrier, server = restarting(GRANTED, RENEWED)
    answers = dict(server.answers or {})
    platform.granted = lambda: answers.pop("getCmdLineOpts")
    server.answers = answers
    carrier.round()
    assert [(sent.get("move"), sent.get("outcome")) for sent in platform.requests] == [
        ("RESTART", None),
        (None, "NOT_BEGUN"),
    ]
    assert platform.requests[-1]["reason"] == "the settings of the process are not known"
    assert platform.waits() == [("SETTINGS_UNKNOWN", "the settings of the process are not known")]
    assert platform.begun() == []


def test_a_server_runs_on_if_its_move_has_to_wait_after_its_configuration_was_checked(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, carrier, server = restarting(GRANTED, RENEWED, RENEWED, RENEWED)
    answers = dict(server.answers or {})
    server.answers = answers

    def check_next(*_: object) -> Path:
        answers.pop("getCmdLineOpts")
        return Path("mongod")

    monkeypatch.setattr(ProcessMoves, "check_next", check_next)
    carrier.round()
    assert platform.requests[-1]["outcome"] == "NOT_BEGUN"
    assert platform.requests[-1]["reason"] == "the settings of the process are not known"
    assert [reason for reason, _ in platform.waits()] == ["TRIES_AGAIN"]


def test_a_move_that_nobody_needs_after_its_turn_is_granted_is_given_back(
    restarting: Callable[..., Made],
) -> None:
    platform, carrier, server = restarting(GRANTED, RENEWED)
    answers = dict(server.answers or {})
    platform.granted = lambda: answers.update({"serverStatus": {"uptimeMillis": 1000}})
    server.answers = answers
    carrier.round()
    assert platform.requests[-1]["outcome"] == "NOT_BEGUN"
    assert platform.begun() == []
    carrier.round()
    assert only(platform.reports[-1])["lastGoalVersionAchieved"] == 1


def test_a_refused_turn_is_why_the_move_waits(restarting: Callable[..., Made]) -> None:
    platform, carrier, _ = restarting(REFUSED)
    carrier.round()
    assert platform.waits() == [("LAG", REFUSED.detail)]
    assert platform.begun() == []


def test_a_move_without_an_answer_about_its_turn_waits_for_it(restarting: Callable[..., Made]) -> None:
    platform, carrier, _ = restarting(Unreachable("away"), OVER)
    carrier.round()
    assert platform.waits() == [("NO_TURN", "the platform gives no turn: away")]
    carrier.round()
    assert platform.waits() == [("NO_TURN", OVER.detail)]
    assert platform.begun() == []


def test_a_turn_that_is_lost_before_its_move_begins_is_why_the_move_waits(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, carrier, _ = restarting(GRANTED, OVER)
    platform.granted = lambda: monkeypatch.setattr(carrier._turns, "_monotonic", lambda: float("inf"))
    carrier.round()
    assert platform.waits() == [("NO_TURN", f"the turn was lost before RESTART began: {OVER.detail}")]
    assert platform.begun() == []


def test_a_server_that_was_found_running_can_start_again_as_it_ran(
    restarting: Callable[..., Made], tmp_path: Path
) -> None:
    _, carrier, _ = restarting(REFUSED)
    carrier.round()
    assert ProcessPlaces(tmp_path / "base", "db_1").read_record().version == "7.0.2"


def test_a_restart_is_measured_until_the_member_has_all_data(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, carrier, _ = restarting()
    places = ProcessPlaces(tmp_path / "base", "db_1")
    places.note_stop(datetime.now(UTC) - timedelta(hours=2))
    monkeypatch.setattr(carrier._planner, "plan", lambda *_, **__: planned(WAITS))
    for state, hours in ((MemberState.RECOVERING, None), (MemberState.SECONDARY, 2)):
        process = ObservedProcess(is_running=True, state=state)
        unit = SeenUnit({"db_1": SeenProcess(process)})
        monkeypatch.setattr(carrier._planner, "see_unit", lambda *_, unit=unit: unit)
        carrier.round()
        away = places.read_record().away
        assert (None if away is None else away // timedelta(hours=1)) == hours


DOWN, FILE, RESTART = (
    Move(kind, "db_1", "rs") for kind in (MoveKind.STEP_DOWN, MoveKind.WRITE_FILE, MoveKind.RESTART)
)
OF_OTHER = Move(MoveKind.REMOVE_MEMBER, "db_2", "rs")
WAITS = PlanStep((), (PlanHold(PlanReason.LAG_UNKNOWN, "db_1", "rs", (("other", "db_2"),)),))
UNHEARD = PlanStep((), (PlanHold(PlanReason.NEED_UNKNOWN, "", "rs", (("other", "db_2"),)),))
RUNNING = SeenProcess(ObservedProcess(is_running=True, state=MemberState.SECONDARY, version="7.0.2"))
NEXT = PlatformAnswer(201, {"id": "t2", "fence": 8}, None)


def planned(step: PlanStep) -> PlannedUnit:
    """The plan of a replica set of two members with this step."""
    return PlannedUnit(step, OwnNeed(), ["db_1", "db_2"])


class _PlannedPrimary:
    """A primary whose plan has these steps, one after the other, and the moves that its agent makes."""

    def __init__(
        self,
        made: Made,
        monkeypatch: pytest.MonkeyPatch,
        *steps: PlanStep,
    ) -> None:
        self.platform, self.carrier, _ = made
        self.steps, self.made = list(steps), list[str]()
        self.seconds = 0.0
        down = PlanStep((DOWN,))
        plans = iter([down, down, *steps])
        monkeypatch.setattr(self.carrier._planner, "plan", lambda *_, **__: planned(next(plans, WAITS)))
        monkeypatch.setattr(self.carrier._runner, "_monotonic", lambda: self.seconds)
        monkeypatch.setattr(self.carrier._runner, "_stop", self)
        monkeypatch.setattr(Mover, "carry_out", lambda _, move: self.made.append(move.kind.value))

    def is_set(self) -> bool:
        return False

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    def round(self) -> list[tuple[str, str]]:
        """A round; the requests about turns: the move, or the turn and how it ended."""
        self.carrier.round()
        return [
            (sent["move"], sent.get("follows", "")) if "move" in sent else (sent["id"], sent["outcome"])
            for sent in self.platform.requests
        ]


def test_a_primary_restarts_under_the_turn_of_its_step_down(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = restarting(GRANTED, NEXT, RENEWED)
    primary = _PlannedPrimary(made, monkeypatch, WAITS, PlanStep((RESTART,)))
    assert primary.round() == [("STEP_DOWN", ""), ("RESTART", "t1"), ("t2", "DONE")]
    assert primary.made == ["STEP_DOWN", "RESTART"]


@each(
    ("steps", "turns", "followed"),
    [
        ((), (RENEWED,), (60,)),
        ((PlanStep((OF_OTHER,)),), (RENEWED,), (0,)),
        ((PlanStep((FILE,)),), (RENEWED,), (0,)),
        ((PlanStep((RESTART,)),), (REFUSED, RENEWED), (0, ("RESTART", "t1"))),
        (
            (PlanStep((RESTART,)), PlanStep((RESTART,))),
            (Unreachable("away"), REFUSED, RENEWED),
            (1, ("RESTART", "t1"), ("RESTART", "t1")),
        ),
    ],
    ids=["nothing", "another member", "another move", "refused", "away"],
)
def test_a_step_down_that_nothing_follows_gives_its_turn_back(
    restarting: Callable[..., Made],
    monkeypatch: pytest.MonkeyPatch,
    steps: tuple[PlanStep, ...],
    turns: tuple[Any, ...],
    followed: tuple[Any, ...],
) -> None:
    """`followed`: the seconds until it is given back, and the requests meanwhile."""
    seconds, *requests = followed
    primary = _PlannedPrimary(restarting(GRANTED, *turns), monkeypatch, *steps)
    assert primary.round() == [("STEP_DOWN", ""), *requests, ("t1", "DONE")]
    assert primary.made == ["STEP_DOWN"]
    assert primary.platform.turns == []
    assert primary.seconds == seconds


@each(("looks", "requests"), [(3, ["RESTART", "DONE"]), (99, ["RESTART", "NOT_BEGUN"])])
def test_a_move_begins_only_after_heartbeats_since_its_turn(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch, looks: int, requests: list[str]
) -> None:
    """`looks`: at which look since the turn was given the heartbeat has arrived."""
    platform, carrier, _ = restarting(GRANTED, RENEWED)
    seen: list[SeenUnit] = []

    def look(*_: Any) -> SeenUnit:
        heard = datetime.now(UTC) + timedelta(hours=1 if len(seen) + 1 >= looks else -1)
        states = {"db_2": SeenState(True, MemberState.PRIMARY, heard)}
        seen.append(SeenUnit({"db_1": replace(RUNNING, states=states)}))
        return seen[-1]

    def plan(*_: Any, since: datetime | None = None, **__: Any) -> PlannedUnit:
        is_known = since is None or seen[-1].is_heard(since)
        return planned(PlanStep((RESTART,)) if is_known else UNHEARD)

    monkeypatch.setattr(carrier._planner, "see_unit", look)
    monkeypatch.setattr(carrier._planner, "plan", plan)
    monkeypatch.setattr(carrier._runner, "_stop", _EndlessPatience())
    monkeypatch.setattr(Mover, "carry_out", lambda *_: None)
    carrier._fetch()
    part = carrier._part
    assert part is not None
    process = CarriedProcess(part, part.processes["db_1"], ProcessPlaces(part.base, "db_1"))
    carrier._runner.make(process, RESTART, ["db_1", "db_2"])
    assert [sent.get("outcome") or sent["move"] for sent in platform.requests] == requests


def test_an_agent_says_once_a_minute_why_its_next_move_waits(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, carrier, _ = restarting(REFUSED, REFUSED)
    seconds = 0.0
    monkeypatch.setattr(carrier, "_monotonic", lambda: seconds)
    monkeypatch.setattr(unit_planner, "unit_step", lambda *_: WAITS)
    carrier.round()
    carrier.round()
    assert [(sent["move"], sent["waits"]) for sent in platform.requests] == [
        ("RESTART", "the lag of db_2 is not known")
    ]
    seconds = 61.0
    carrier.round()
    assert len(platform.requests) == 2


@each(("maker", "said"), [("db_1", ["REMOVE_MEMBER"]), ("db_2", [])])
def test_the_agent_of_the_process_that_makes_a_move_of_the_set_says_that_it_waits(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch, maker: str, said: list[str]
) -> None:
    platform, carrier, _ = restarting(REFUSED)
    away = PlanHold(PlanReason.NO_PRIMARY, "db_3", "rs", move=replace(OF_OTHER, process=maker))
    monkeypatch.setattr(carrier._planner, "plan", lambda *_, **__: planned(PlanStep((), (away,))))
    carrier.round()
    assert [sent["move"] for sent in platform.requests] == said
    assert {sent["waits"] for sent in platform.requests} <= {"the replica set has no primary"}


def test_after_the_version_is_reached_no_agent_says_that_the_plan_waits_for_a_fact(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, carrier, _ = restarting()
    unknown = PlanHold(PlanReason.SET_UNKNOWN, "", "rs", move=replace(OF_OTHER, process="db_1"))
    steps = [PlanStep(), PlanStep((), (unknown,))]
    monkeypatch.setattr(carrier._planner, "see", lambda *_: RUNNING)
    monkeypatch.setattr(carrier._planner, "plan", lambda *_, **__: planned(steps.pop(0)))
    carrier.round()
    assert only(platform.reports[-1])["lastGoalVersionAchieved"] == 1
    carrier.round()
    assert (steps, platform.requests) == ([], [])


def test_an_agent_says_that_it_does_not_know_the_settings_of_its_process(
    restarting: Callable[..., Made],
) -> None:
    platform, carrier, server = restarting(REFUSED)
    server.answers = {
        name: answer for name, answer in (server.answers or {}).items() if name != "getCmdLineOpts"
    }
    carrier.round()
    assert [(sent["move"], sent["waits"]) for sent in platform.requests] == [
        ("RESTART", "the settings of the process are not known")
    ]


@each("is_paused", [True, False])
def test_a_paused_plan_and_a_plan_without_waits_say_nothing(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch, is_paused: bool
) -> None:
    platform, carrier, _ = restarting()
    platform.parts[0] = replace(
        platform.parts[0], document={**platform.parts[0].document, "paused": is_paused}
    )
    monkeypatch.setattr(unit_planner, "unit_step", lambda *_: WAITS if is_paused else PlanStep())
    carrier.round()
    assert platform.requests == []


class _EndlessPatience:
    """An agent that nobody stops, whose waits take no time."""

    def is_set(self) -> bool:
        return False

    def wait(self, _: float) -> None:
        """Wait no time."""


def test_a_member_that_recovers_has_not_reached_the_version(
    restarting: Callable[..., Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, carrier, _ = restarting()
    state = MemberState.RECOVERING
    monkeypatch.setattr(carrier._planner, "plan", lambda *_, **__: planned(PlanStep()))
    monkeypatch.setattr(
        carrier._planner, "see", lambda *_: SeenProcess(ObservedProcess(is_running=True, state=state))
    )
    carrier.round()
    assert platform.waits() == [("MEMBER_BUSY", "the member itself is in state RECOVERING")]
    assert only(platform.reports[-1])["lastGoalVersionAchieved"] == 0
    state = MemberState.SECONDARY
    carrier.round()
    assert platform.waits() == []
    assert only(platform.reports[-1])["lastGoalVersionAchieved"] == 1
