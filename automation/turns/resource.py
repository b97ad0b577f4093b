"""The progress of an automation configuration as the API shows it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from rest_framework import serializers

from automation.desired_state.resource import REASONS, reason_example, shown_name
from automation.desired_state.store import ProcessState
from automation.plan.reasons import PlanReason
from automation.plan.values import DISTURBING, MoveKind
from automation.turns.models import PausedPlan
from automation.turns.rules import MoveState, ShownPlan
from automation.turns.store import AutomationStatus
from opsapi.api.answers import Answer
from opsapi.api.documents import A_TIME, AN_ID, ANOTHER_ID, Document, links_of
from opsapi.api.fields import ShownFlag, ShownId, ShownNumber, ShownText, ShownTime
from opsapi.api.principal import ActorKind
from opsapi.clock import wire_time
from opsapi.redaction import redact_urls
from opsapi.wire_json import JsonObject


class PlanAuthorDocument(Document):
    """The API key or the user that paused a plan."""

    apiKeyId = ShownId(required=False)
    publicKey = ShownText(required=False, example="k3yp7b")
    userId = ShownText(required=False)
    username = ShownText(required=False)


_AUTHOR = {"apiKeyId": AN_ID, "publicKey": "k3yp7b"}


class NoFieldsDocument(Document):
    """The optional body of a pause or a resume: an object without fields."""


class PausedPlanDocument(Document):
    """Whether the plan of the project is paused, since when, and its author."""

    paused = ShownFlag(help_text="Whether the plan is paused: agents get no new turns.", example=True)
    pausedSince = ShownTime(required=False, example=A_TIME)
    pausedBy = PlanAuthorDocument(required=False, example=_AUTHOR)
    links = links_of(f"/groups/{ANOTHER_ID}/automationStatus")


def pause_fields(pause: PausedPlan | None) -> JsonObject:
    """Return the pause under its wire names."""
    if pause is None:
        return {"paused": False}
    is_user = pause.actor_kind == ActorKind.USER.value
    by = {("userId" if is_user else "apiKeyId"): pause.actor_id}
    by |= {("username" if is_user else "publicKey"): pause.actor_name}
    return {"paused": True, "pausedSince": wire_time(pause.since), "pausedBy": by}


class StepStatusDocument(Document):
    """A step of a move, as its agent reports it."""

    step = ShownText(example="stop")
    started = serializers.DateTimeField(required=False)
    finished = serializers.DateTimeField(required=False)


class MoveStatusDocument(Answer):
    """A move of a process, and how far it is."""

    computed = {
        "move": lambda move: move.kind.value,
        "detail": lambda move: shown_name(move.detail) if move.detail else None,
        "reason": lambda move: redact_urls(move.reason) if move.reason else None,
        "steps": lambda _: None,
    }

    move = serializers.ChoiceField([kind.value for kind in MoveKind])
    detail = serializers.CharField(required=False, help_text="Absent for moves that have ended.")
    disturbs = serializers.BooleanField(
        help_text="Whether clients of the process or of its replica set notice the move."
    )
    state = serializers.ChoiceField([state.value for state in MoveState])
    at = serializers.DateTimeField(
        required=False,
        help_text="When the move can begin. If absent, as soon as the moves before it are done.",
    )
    started = serializers.DateTimeField(required=False)
    finished = serializers.DateTimeField(required=False)
    step = serializers.CharField(required=False, help_text="The last step, as its agent said.")
    reason = serializers.CharField(required=False, help_text="Why the move failed.")
    steps = StepStatusDocument(many=True, required=False)


class PlanWaitDocument(Answer):
    """Why the next move of a process waits, or why the plan does not make a move."""

    computed = {
        "reason": lambda wait: wait.hold.reason.name,
        "detail": lambda wait: shown_name(wait.hold.sentence),
    }

    reason = serializers.ChoiceField(REASONS)
    detail = serializers.CharField()
    since = serializers.DateTimeField(required=False, help_text="Since when, if this is known.")


class PlanRefusalDocument(Answer):
    """What the plan does not do until the document or the servers are changed."""

    computed = {"reason": lambda hold: hold.reason.name, "detail": lambda hold: shown_name(hold.sentence)}

    reason = serializers.ChoiceField(REASONS)
    detail = serializers.CharField()


class PlanOrigin(StrEnum):
    """Who says the plan of a process; the values are the wire values."""

    PLATFORM = "PLATFORM"
    AGENT = "AGENT"


class ProcessPlanStatusDocument(Answer):
    """The moves of a process in order, why the next one waits, and what the plan does not do."""

    computed = {"origin": lambda _: PlanOrigin.PLATFORM.value}

    origin = serializers.ChoiceField(
        [origin.value for origin in PlanOrigin],
        help_text="AGENT if the agent of the process reported its plan in the last minutes. Otherwise the "
        "platform draws the plan from reports.",
    )
    moves = MoveStatusDocument(many=True)
    waits = PlanWaitDocument(many=True)
    refused = PlanRefusalDocument(many=True)


class ProcessStateDocument(Answer):
    """The progress of a process."""

    computed = {
        "name": lambda process: redact_urls(process.name),
        "errorString": lambda process: process.error or None,
    }

    name = serializers.CharField()
    hostname = serializers.CharField()
    lastGoalVersionAchieved = serializers.IntegerField(
        source="goal_version", help_text="0 until an agent reports it."
    )
    errorString = serializers.CharField(required=False)
    plan = ProcessPlanStatusDocument(
        required=False,
        help_text="The moves that lead to the current version, from what agents report. If absent, the "
        "configuration cannot be decrypted.",
    )


_MOVE = {"move": MoveKind.RESTART.value, "detail": "restarts", "disturbs": True, "state": "PLANNED"}


class AutomationStatusDocument(Document):
    """The progress of all processes."""

    goalVersion = ShownNumber(help_text="The version of the automation configuration.", example=2)
    paused = ShownFlag(help_text="Whether the plan is paused: agents get no new turns.", example=True)
    pausedSince = ShownTime(required=False, example=A_TIME)
    pausedBy = PlanAuthorDocument(required=False, example=_AUTHOR)
    processes = ProcessStateDocument(
        many=True,
        example={
            "name": "orders_1",
            "hostname": "db1.example.com",
            "lastGoalVersionAchieved": 1,
            "plan": {
                "origin": PlanOrigin.PLATFORM.value,
                "moves": [_MOVE],
                "waits": [{**reason_example(PlanReason.PAUSED), "since": A_TIME}],
                "refused": [],
            },
        },
    )
    links = links_of(f"/groups/{ANOTHER_ID}/automationStatus")

    @classmethod
    def of_status(cls, status: AutomationStatus, links: Any) -> JsonObject:
        """Return the status with its links."""
        return {
            "goalVersion": status.version,
            **pause_fields(status.pause),
            "processes": [
                ProcessStateDocument.of(process, plan=_plan(status, process)) for process in status.processes
            ],
            "links": links,
        }


def _plan(status: AutomationStatus, process: ProcessState) -> ShownPlan | JsonObject | None:
    drawn = None if status.plans is None else status.plans.get(process.name, ShownPlan())
    if process.plan is None:
        return drawn
    known = ProcessPlanStatusDocument.of(drawn or ShownPlan())
    turns = {move["move"]: move for move in known["moves"] if move["state"] != MoveState.PLANNED.value}
    is_new = process.plan.get("goalVersion", status.version) == status.version
    return {
        **known,
        "origin": PlanOrigin.AGENT.value,
        "moves": [
            _reported_move(move, turns.get(move["move"]))
            for move in process.plan["moves"]
            if is_new
            or "finished" not in move  # Until agents know the new version, they report the old plan.
        ],
        "waits": _waits(process.plan["waits"], known["waits"], status.agent_waits.get(process.name)),
    }


def _waits(
    waits: Sequence[JsonObject], known: Sequence[JsonObject], since: datetime | None
) -> list[JsonObject]:
    """The reasons of the platform, and other reasons of the agent. `since`: when the agent first waited."""
    reported = {wait["reason"] for wait in waits} if since else ()
    return [
        {**wait, "since": wire_time(since)}
        if since and wait["reason"] in reported and "since" not in wait
        else wait
        for wait in (*known, *_new_waits(waits, known))
    ]


def _new_waits(waits: Iterable[JsonObject], known: Sequence[JsonObject]) -> Iterable[JsonObject]:
    """The reasons that an agent reports and the platform does not know, which says since when.

    An agent that gets no turn reports the answer, which has the reason in it.
    """
    for wait in map(_reported_wait, waits):
        if not any(wait["reason"] == other["reason"] or other["detail"] in wait["detail"] for other in known):
            yield wait


def _reported_move(move: JsonObject, turn: JsonObject | None) -> JsonObject:
    """A move as the agent reports it. `turn`: the last move of this kind that had a turn.

    A move that runs by the last report is lost if the agent does not renew its turn any more.
    """
    document = {name: value for name, value in move.items() if value != []}
    if turn and turn["state"] == MoveState.LOST.value and move["state"] == MoveState.RUNNING.value:
        document |= {"state": turn["state"], "finished": turn["finished"]}
    return {**document, "disturbs": MoveKind(move["move"]) in DISTURBING}


def _reported_wait(wait: JsonObject) -> JsonObject:
    """The sentence of the reason has names in braces, which only the agent knows."""
    return {"detail": wait["reason"].replace("_", " ").lower(), **wait}
