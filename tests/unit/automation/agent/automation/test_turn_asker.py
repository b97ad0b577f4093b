"""Turns as an agent asks for them, renews them and gives them back."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from automation.agent.automation.failures import TurnLost
from automation.agent.automation.turns import HeldTurn, TurnAsker, TurnRefused
from automation.agent.client import Client, PlatformAnswer, Unreachable
from automation.plan.reasons import PlanReason
from automation.plan.values import MemberConfig, Move, MoveKind

MOVE = Move(MoveKind.RESTART, "orders_1", "orders")
GRANTED = PlatformAnswer(201, {"id": "t1", "fence": 7}, None)
RENEWED = PlatformAnswer(200, {"id": "t1", "fence": 7}, None)
OVER = PlatformAnswer(409, {"errorCode": "AUTOMATION_TURN_OVER"}, None)
AWAY = Unreachable("away")


class AnsweringPlatform:
    """A platform that answers as it is given; an exception is a platform that does not answer."""

    def __init__(self, *answers: PlatformAnswer | Unreachable) -> None:
        self.answers, self.requests = list(answers), list[Mapping[str, Any]]()
        self.delay: Callable[[], object] = lambda: None

    def ask_turn(self, request: Mapping[str, Any]) -> PlatformAnswer:
        return self._answer(request)

    def report_turn(self, turn_id: str, report: Mapping[str, Any]) -> PlatformAnswer:
        return self._answer({"id": turn_id, **report})

    def _answer(self, request: Mapping[str, Any]) -> PlatformAnswer:
        self.requests.append(request)
        self.delay()
        answer = self.answers.pop(0)
        if isinstance(answer, Unreachable):
            raise answer
        return answer


class StandingClock:
    """A clock that a test moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


Made = tuple[AnsweringPlatform, TurnAsker, HeldTurn]


@pytest.fixture
def held(clock: StandingClock) -> Callable[..., Made]:
    """A turn that is held, at a platform that gives these answers next."""

    def hold(*answers: PlatformAnswer | Unreachable) -> Made:
        platform = AnsweringPlatform(GRANTED, *answers)
        asker = TurnAsker(cast("Client", platform), "db1.example.com", clock)
        turn = asker.ask(MOVE, 2, "ask")
        assert isinstance(turn, HeldTurn)
        return platform, asker, turn

    return hold


def test_a_request_without_an_answer_is_repeated_with_the_same_identifier(clock: StandingClock) -> None:
    platform = AnsweringPlatform(AWAY, GRANTED, GRANTED)
    asker = TurnAsker(cast("Client", platform), "db1.example.com", clock)
    assert isinstance(asker.ask(MOVE, 2, "ask"), TurnRefused)
    assert isinstance(asker.ask(MOVE, 2, "ask"), HeldTurn)
    asker.ask(MOVE, 2, "ask")
    first, second, third = (request["requestId"] for request in platform.requests)
    assert first == second
    assert third != first


def test_a_request_names_the_member_that_changes(clock: StandingClock) -> None:
    platform = AnsweringPlatform(GRANTED, GRANTED, GRANTED)
    asker = TurnAsker(cast("Client", platform), "db1.example.com", clock)
    for kind in (MoveKind.CHANGE_MEMBER, MoveKind.REMOVE_MEMBER):
        asker.ask(Move(kind, "orders_1", "orders", members=(MemberConfig("orders_3"),)), 2, "ask")
    asker.ask(MOVE, 2, "ask")
    assert [request.get("member") for request in platform.requests] == ["orders_3", "orders_3", None]


def test_another_version_is_another_attempt(clock: StandingClock) -> None:
    platform = AnsweringPlatform(AWAY, AWAY)
    asker = TurnAsker(cast("Client", platform), "db1.example.com", clock)
    asker.ask(MOVE, 2, "ask")
    asker.ask(MOVE, 3, "ask")
    assert platform.requests[0]["requestId"] != platform.requests[1]["requestId"]


def test_a_refusal_has_the_reason_of_the_plan(clock: StandingClock) -> None:
    document = {"parameters": ["orders_1", "a sentence", "LAG", "2099-11-21T12:00:00Z"]}
    platform = AnsweringPlatform(PlatformAnswer(409, document, None))
    refused = TurnAsker(cast("Client", platform), "db1.example.com", clock).ask(MOVE, 2, "ask")
    assert isinstance(refused, TurnRefused)
    assert refused.reason is PlanReason.LAG


def test_it_is_renewed_every_ten_seconds(clock: StandingClock, held: Callable[..., Made]) -> None:
    platform, asker, turn = held(RENEWED)
    clock.seconds = 9.9
    asker.keep(turn)
    assert len(platform.requests) == 1
    clock.seconds = 10.0
    asker.keep(turn)
    assert platform.requests[1] == {"id": "t1", "fence": 7}
    clock.seconds = 19.9
    asker.keep(turn)
    assert len(platform.requests) == 2


def test_it_is_lost_as_soon_as_the_platform_says_so(clock: StandingClock, held: Callable[..., Made]) -> None:
    _, asker, turn = held(OVER)
    clock.seconds = 10.0
    with pytest.raises(TurnLost):
        asker.keep(turn)


def test_it_is_lost_before_the_platform_gives_it_to_others(
    clock: StandingClock, held: Callable[..., Made]
) -> None:
    _, asker, turn = held(AWAY, AWAY, AWAY)
    for clock.seconds in (10.0, 25.0):
        asker.keep(turn)
    clock.seconds = 25.1
    with pytest.raises(TurnLost):
        asker.keep(turn)


def test_it_is_lost_if_the_answer_comes_too_late(clock: StandingClock, held: Callable[..., Made]) -> None:
    platform, asker, turn = held(RENEWED)
    platform.delay = lambda: setattr(clock, "seconds", 35.1)
    clock.seconds = 10.0
    with pytest.raises(TurnLost):
        asker.keep(turn)


def test_an_outcome_is_sent_until_the_platform_has_it(held: Callable[..., Made]) -> None:
    forbidden = PlatformAnswer(
        403, {"errorCode": "HOSTNAME_NOT_OF_KEY", "detail": "The key is of db2."}, None
    )
    platform, asker, turn = held(AWAY, AWAY, forbidden, RENEWED)
    asker.give_back(turn, failure="it did not start")
    assert asker.settle() == "away"
    assert asker.settle() == "403 HOSTNAME_NOT_OF_KEY: The key is of db2."
    assert asker.settle() == ""
    assert platform.answers == []
    assert platform.requests[-1]["reason"] == "it did not start"
    assert asker.settle() == ""


def test_a_move_that_did_not_begin_is_given_back_with_its_reason(held: Callable[..., Made]) -> None:
    platform, asker, turn = held(RENEWED)
    asker.give_back(turn, not_begun="orders_2 is away")
    outcome = {"outcome": "NOT_BEGUN", "reason": "orders_2 is away"}
    assert platform.requests[-1] == {"id": "t1", "fence": 7, **outcome}


def test_an_outcome_that_the_platform_refuses_is_not_repeated(held: Callable[..., Made]) -> None:
    platform, asker, turn = held(OVER)
    asker.give_back(turn)
    assert asker.settle() == ""
    assert platform.answers == []
