"""The turn of a process: the right to disturb it, from the platform, for as long as the agent renews it.

The platform also learns of moves that take no turn and failed: they stop the plan, too.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Callable

from automation.agent.automation.failures import TurnLost
from automation.agent.client import Client, NoChallenge, PlatformAnswer, Unreachable
from automation.plan.reasons import PlanReason
from automation.plan.values import Move, MoveKind
from automation.plan.wording import cut_at_clause

RENEW_AFTER, LOST_AFTER = 10.0, 25.0
"""Seconds since the last renewal. The platform gives the turn to others after 30."""
MOVE_SECONDS = 600
_LONGEST_REASON, _LONGEST_WAIT = 2000, 500
_GRANTED = 201
_OF_A_MEMBER = frozenset({MoveKind.CHANGE_MEMBER, MoveKind.REMOVE_MEMBER})
_SETTLED = frozenset({200, 201, 404, 409})
"""The platform has the outcome, or it has no use for it any more: the turn is over, or another version is
published."""


@dataclass(frozen=True)
class TurnRefused:
    """Why there is no turn.

    `reason` is None if the platform did not answer with a reason of the plan; `is_answered`: whether it
    answered at all.
    """

    reason: PlanReason | None
    text: str
    is_answered: bool = True


@dataclass
class HeldTurn:
    """A turn that the platform gave. `renewed` is the time of the last renewal."""

    id: str
    fence: int
    renewed: float


@dataclass
class _Attempt:
    """An attempt to make a move. A request without an answer is repeated with the same identifier."""

    move: Move
    version: int
    request_id: str = field(default_factory=lambda: uuid.uuid4().hex)


class TurnAsker:
    """Asks for turns, renews them and gives them back. Not thread-safe."""

    def __init__(
        self, client: Client, hostname: str, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._hostname, self._monotonic = client, hostname, monotonic
        self._attempts: dict[str, _Attempt] = {}
        self._owed: list[Callable[[], PlatformAnswer]] = []

    def ask(
        self,
        move: Move,
        version: int,
        step: str,
        *,
        members: Sequence[str] = (),
        follows: HeldTurn | None = None,
    ) -> HeldTurn | TurnRefused:
        """Ask for the turn of the process of the move.

        `members`: of its replica set, as it says itself. `follows`: the turn for its step-down, which ends.
        """
        attempt = self._attempts.get(move.process)
        if attempt is None or (attempt.move, attempt.version) != (move, version):
            attempt = self._attempts[move.process] = _Attempt(move, version)
        request = {
            **self._request(move, version, attempt.request_id, step),
            "seconds": MOVE_SECONDS,
            **({"members": list(members)} if members else {}),
            **({"member": move.members[0].process} if move.kind in _OF_A_MEMBER else {}),
            **({"follows": follows.id} if follows else {}),
        }
        # The turn lasts from its grant, which is before the answer.
        asked = self._monotonic()
        try:
            answer = self._client.ask_turn(request)
        except (Unreachable, NoChallenge) as error:
            return TurnRefused(None, f"the platform gives no turn: {error}", is_answered=False)
        del self._attempts[move.process]
        turn_id, fence = answer.document.get("id"), answer.document.get("fence")
        if answer.status == _GRANTED and isinstance(turn_id, str) and isinstance(fence, int):
            return HeldTurn(turn_id, fence, asked)
        return TurnRefused(_reason(answer), answer.detail)

    def _request(self, move: Move, version: int, request_id: str, step: str) -> Mapping[str, Any]:
        return {
            "hostname": self._hostname,
            "process": move.process,
            "move": move.kind.value,
            "requestId": request_id,
            "goalVersion": version,
            **({"step": step} if step else {}),
        }

    def wait(self, move: Move, version: int, why: str) -> None:
        """Say why the agent lets a move wait. After half an hour, the platform raises an alert."""
        request = self._request(move, version, uuid.uuid4().hex, "")
        with suppress(Unreachable, NoChallenge):  # It is said again.
            self._client.ask_turn({**request, "waits": cut_at_clause(why, _LONGEST_WAIT)})

    def keep(self, turn: HeldTurn, step: str = "") -> None:
        """Renew the turn if it is time. Raises: TurnLost: it is not held any more."""
        now = self._monotonic()
        if not step and now - turn.renewed < RENEW_AFTER:
            return
        report = {"fence": turn.fence, **({"step": step} if step else {})}
        try:
            answer = self._client.report_turn(turn.id, report)
        except (Unreachable, NoChallenge) as error:
            self._check(turn, f"the platform does not renew the turn: {error}")
            return
        if answer.status == 200:
            turn.renewed = now
            self._check(turn, "the platform has renewed the turn, and its answer came too late")
        elif answer.status in {404, 409}:
            raise TurnLost(answer.detail)
        else:
            self._check(turn, answer.detail)

    def _check(self, turn: HeldTurn, why: str) -> None:
        if self._monotonic() - turn.renewed > LOST_AFTER:
            raise TurnLost(why)

    def give_back(self, turn: HeldTurn, *, failure: str = "", not_begun: str = "") -> None:
        """Give the turn back, with the reason if the move failed or did not begin.

        It is repeated until it has an answer.
        """
        reason = (failure or not_begun)[:_LONGEST_REASON]
        outcome = "FAILED" if failure else "NOT_BEGUN" if not_begun else "DONE"
        report = {"fence": turn.fence, "outcome": outcome, **({"reason": reason} if reason else {})}
        self._owed.append(partial(self._client.report_turn, turn.id, report))
        self.settle()

    def fail(self, move: Move, version: int, step: str, failure: str) -> None:
        """Say that a move failed that takes no turn. It is repeated until it has an answer."""
        request = self._request(move, version, uuid.uuid4().hex, step)
        self._owed.append(partial(self._client.ask_turn, {**request, "reason": failure[:_LONGEST_REASON]}))
        self.settle()

    def settle(self) -> str:
        """Send the outcomes that the platform does not have yet. Returns why it refuses some, if it does."""
        why = ""
        for send in tuple(self._owed):
            try:
                answer = send()
            except (Unreachable, NoChallenge) as error:
                return str(error)
            if answer.status in _SETTLED:
                self._owed.remove(send)
            else:
                why = answer.detail
        return why


def _reason(answer: PlatformAnswer) -> PlanReason | None:
    """The reason of the plan in a refusal."""
    parameters = answer.document.get("parameters")
    named = [text for text in parameters if isinstance(text, str)] if isinstance(parameters, list) else []
    return next((PlanReason[text] for text in named if text in PlanReason.__members__), None)
