"""The progress of an automation configuration as the API shows it."""

from typing import Any

from rest_framework import serializers

from automation.desired_state.plan.reasons import PlanReason
from automation.desired_state.plan.values import MoveKind
from automation.desired_state.resource import REASONS, reason_example, shown_name
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


class MoveStatusDocument(Answer):
    """A move of a process, and how far it is."""

    computed = {
        "move": lambda move: move.kind.value,
        "detail": lambda move: shown_name(move.detail) if move.detail else None,
        "reason": lambda move: redact_urls(move.reason) if move.reason else None,
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


class ProcessPlanStatusDocument(Answer):
    """The moves of a process in order, why the next one waits, and what the plan does not do."""

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
                ProcessStateDocument.of(process, plan=_plan(status, process.name))
                for process in status.processes
            ],
            "links": links,
        }


def _plan(status: AutomationStatus, name: str) -> ShownPlan | None:
    return None if status.plans is None else status.plans.get(name, ShownPlan())
