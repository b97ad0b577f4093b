"""The automation configuration and its revisions as the API shows and accepts them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import Case, Q, When
from rest_framework import serializers

from automation.desired_state.document.changes import RESYNC_WARNING, ProcessAction, effects
from automation.desired_state.document.publish import NEW_PROJECT, Publication
from automation.desired_state.document.schema import SCHEMA, resolved
from automation.plan.left_alone import LeftAlone
from automation.plan.planner import PlannedMove
from automation.plan.reading import not_planned
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.reported import DrawnPlan
from automation.plan.values import MoveKind, PlanHold
from automation.plan.wording import cut_at_clause, detail
from events.choices import DiffStatus, DiffType
from events.log.resource import DiffDocument
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument, invalid
from opsapi.api.fields import ShownId, ShownMap, ShownNumber, ShownText, ShownTime, Whole
from opsapi.api.principal import ActorKind
from opsapi.api.resources import Resource
from opsapi.api.shapes import Reference, ShapedDocument, nullable
from opsapi.redaction import redact_urls
from opsapi.wire_json import JsonObject

_EXAMPLE: Final[Mapping[str, Any]] = {
    **NEW_PROJECT,
    "version": 1,
    "databaseVersions": [{"name": "7.0.14", "builds": []}],
    "processes": [
        {
            "name": "orders_1",
            "hostname": "db1.example.com",
            "version": "7.0.14",
            "featureCompatibilityVersion": "7.0",
            "authSchemaVersion": 5,
            "args2_6": {"net": {"port": 27017}},
        }
    ],
}
_MOVED = {"old": "2026-11-21T07:26:14Z", "new": "2026-11-22T07:26:14Z"}
_BY_USER = Q(actor_kind=ActorKind.USER.value)
_OPEN: Final = {"additionalProperties": True}
_LONGEST_DETAIL = 500
_NOT_PLANNED_NAMES = dict(not_planned("", "backupRestoreUrl").names)
REASONS = [reason.name for reason in PlanReason]


def reason_example(reason: PlanReason, **names: str) -> JsonObject:
    hold = PlanHold(reason, names=tuple(names.items()))
    return {"reason": reason.name, "detail": hold.sentence}


class AutomationConfigDocument(ShapedDocument):
    """The desired state of a project's deployment. Sections that are not listed are kept as sent."""

    refusals = (
        ErrorCode.INVALID_ENUM_VALUE,
        ErrorCode.INVALID_SETTINGS,
        ErrorCode.REDACTED_VALUE_UNKNOWN,
    )
    example = _EXAMPLE
    request_example = _EXAMPLE

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        """Return the data unchanged: the service checks it together with the stored document."""
        if not isinstance(data, dict):
            raise invalid("must be an object")
        return data

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:  # noqa: ARG003 - it refers to no other
        """Return the published schema without references, which OpenAPI writes differently."""
        # The first document of a project can leave out its version.
        required = [name for name in SCHEMA["required"] if name != "version"]
        schema = _in_one_piece({**SCHEMA, "required": required})
        return {name: schema[name] for name in ("description", "type", "required", "properties")} | _OPEN


class AutomationSchemaDocument(ShapedDocument):
    """The JSON Schema (2020-12) of the automation configuration."""

    example = {"$schema": SCHEMA["$schema"], "title": SCHEMA["title"], "type": "object"}

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:  # noqa: ARG003 - it refers to no other
        """Return the schema of a schema: any object that says so."""
        schema = {"properties": {"$schema": {"const": SCHEMA["$schema"]}}, "required": ["$schema"]}
        return {"type": "object", "description": cls.__doc__, **schema, **_OPEN}


class EffectDocument(Answer):
    """An effect on a process."""

    process = serializers.CharField(help_text="Name of the process.")
    action = serializers.ChoiceField([action.value for action in ProcessAction])
    detail = serializers.CharField()
    at = serializers.DateTimeField(
        required=False,
        help_text="When the action runs. If absent, as soon as the agents have the configuration.",
    )
    warning = serializers.CharField(required=False)


class WarningDocument(Answer):
    """A warning to read before publishing."""

    process = serializers.CharField(help_text="Name of the process.")
    warning = serializers.CharField()


class PlannedMoveDocument(Answer):
    """A move of a process."""

    computed = {
        "move": lambda planned: planned.move.kind.value,
        "detail": lambda planned: shown_name(detail(planned.move)),
        "disturbs": lambda planned: planned.move.disturbs,
    }

    number = serializers.IntegerField(
        help_text="Its place among the moves of all processes that are planned together.",
    )
    move = serializers.ChoiceField([kind.value for kind in MoveKind])
    detail = serializers.CharField()
    disturbs = serializers.BooleanField(
        help_text="Whether clients of the process or of its replica set notice the move."
    )
    at = serializers.DateTimeField(
        required=False,
        help_text="When the move can begin. If absent, as soon as the moves before it are done.",
    )


class ProcessPlanDocument(Document):
    """The moves of a process, in order."""

    process = serializers.CharField(help_text="Name of the process.")
    replicaSetName = serializers.CharField(required=False)
    moves = PlannedMoveDocument(many=True)


class PlanReasonDocument(Answer):
    """Why a move waits or is refused, or what the plan assumes."""

    computed = {
        "process": lambda hold: shown_name(hold.process) or None,
        "replicaSetName": lambda hold: shown_name(hold.replica_set) or None,
        "reason": lambda hold: hold.reason.name,
        "detail": lambda hold: shown_name(hold.sentence),
    }

    process = serializers.CharField(
        required=False, help_text="Name of the process. If absent, the reason is of all processes."
    )
    replicaSetName = serializers.CharField(required=False)
    reason = serializers.ChoiceField(REASONS)
    detail = serializers.CharField()


class DrawnPlanDocument(Document):
    """The moves by which the agents would reach the document, from what agents report now.

    Before each disturbing move, the agents check again whether it can begin.
    """

    processes = ProcessPlanDocument(
        many=True,
        example={
            "process": "orders_1",
            "replicaSetName": "orders",
            "moves": [{"number": 1, "move": MoveKind.RESTART.value, "detail": "restarts", "disturbs": True}],
        },
    )
    waits = PlanReasonDocument(
        many=True,
        help_text="Moves that cannot begin until the state of the processes changes.",
        example=reason_example(PlanReason.MEMBER_AWAY, other="orders_2", state="DOWN"),
    )
    refused = PlanReasonDocument(
        many=True,
        help_text="What the plan does not do until the document or the servers are changed.",
        example=reason_example(PlanReason.NOT_PLANNED, **_NOT_PLANNED_NAMES),
    )
    assumed = PlanReasonDocument(
        many=True,
        help_text="Facts that no agent reports, and what the plan assumes instead.",
        example=reason_example(PlanReason.MOMENT_ASSUMED),
    )

    @classmethod
    def of_plan(cls, drawn: DrawnPlan) -> JsonObject:
        """Return the answer to a dry run."""
        holds = [*drawn.holds, *(hold for unit in drawn.units for hold in unit.holds)]
        by_kind = {
            kind: [PlanReasonDocument.of(hold) for hold in holds if hold.reason.kind is kind]
            for kind in ReasonKind
        }
        return {
            "processes": [process for unit in drawn.units for process in _process_plans(unit.moves)],
            "waits": by_kind[ReasonKind.WAITS],
            "refused": by_kind[ReasonKind.REFUSED],
            "assumed": by_kind[ReasonKind.ASSUMED],
        }


def _process_plans(moves: Sequence[PlannedMove]) -> list[JsonObject]:
    """Return the moves of each process, in the order of their first moves."""
    by_process: dict[str, JsonObject] = {}
    for number, planned in enumerate(moves, 1):
        move = planned.move
        document = by_process.setdefault(
            move.process,
            {
                "process": shown_name(move.process),
                **({"replicaSetName": shown_name(move.replica_set)} if move.replica_set else {}),
                "moves": [],
            },
        )
        document["moves"].append(PlannedMoveDocument.of(planned, number=number))
    return list(by_process.values())


def shown_name(text: str) -> str:
    """Return a text of names without secrets, and not too long."""
    return cut_at_clause(redact_urls(text), _LONGEST_DETAIL)


class AutomationPlanDocument(Document):
    """The effects of publishing; secrets are redacted."""

    diffs = DiffDocument(
        many=True,
        example={
            "id": "orders_1",
            "type": DiffType.PROCESS.value,
            "status": DiffStatus.MODIFIED.value,
            "params": [{"param": "lastResync", "display": "lastResync", **_MOVED}],
        },
    )
    effects = EffectDocument(
        many=True,
        example={
            "process": "orders_1",
            "action": ProcessAction.RESYNC.value,
            "detail": "copies all data again from another member",
            "warning": RESYNC_WARNING,
        },
    )
    warnings = WarningDocument(many=True, example={"process": "orders_1", "warning": RESYNC_WARNING})
    plan = DrawnPlanDocument()

    @classmethod
    def of_draft(cls, draft: Publication, drawn: DrawnPlan, now: datetime) -> JsonObject:
        """Return the answer to a dry run."""
        left_alone = {process: _shown(why) for process, why in drawn.left_alone.items()}
        would = effects(draft.old, draft.new, now, left_alone)
        return {
            "diffs": [change.document() for change in draft.changes],
            "effects": [EffectDocument.of(effect) for effect in would],
            "warnings": [WarningDocument.of(effect) for effect in would if effect.warning],
            "plan": DrawnPlanDocument.of_plan(drawn),
        }


def _shown(why: LeftAlone) -> LeftAlone:
    fields = {field: shown_name(sentence) for field, sentence in why.fields.items()}
    return LeftAlone(shown_name(why.process), fields)


class PublishedDocument(ShapedDocument):
    """The published automation configuration, or the effects of a dry run."""

    example = _EXAMPLE

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """Return either schema."""
        return {"anyOf": [reference(AutomationConfigDocument), reference(AutomationPlanDocument)]}


def _in_one_piece(schema: Any) -> Any:
    """Return the schema without references. Objects accept other fields unless the schema says otherwise."""
    if isinstance(schema, list):
        return [_in_one_piece(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    schema = {name: _in_one_piece(value) for name, value in resolved(schema).items()}
    if not (isinstance(schema.get("properties"), dict) and "type" in schema):
        return schema
    required = schema.get("required", ())
    described = schema["properties"].items()
    properties = {name: part if name in required else nullable(part) for name, part in described}
    return {**_OPEN, **schema, "properties": properties}


class RevisionDocument(Resource):
    """A published version: its time, its author, and the number of changed processes."""

    path = "/groups/{group_id}/automationConfig/revisions/{version}"
    columns = {
        "apiKeyId": Case(When(~_BY_USER, then="actor_id")),
        "publicKey": Case(When(~_BY_USER, then="actor_name")),
        "userId": Case(When(_BY_USER, then="actor_id")),
        "username": Case(When(_BY_USER, then="actor_name")),
    }

    version = ShownNumber(source="number", example=2)
    created = ShownTime()
    apiKeyId = ShownId(required=False)
    publicKey = ShownText(required=False, example="k3yp7b")
    userId = ShownText(required=False)
    username = ShownText(required=False)
    restoredFrom = ShownNumber(
        source="restored_from", required=False, help_text="The version that was restored."
    )
    changes = ShownMap(
        child=serializers.IntegerField(),
        help_text="Number of changed processes by status, as in the event of the publication.",
        example={DiffStatus.MODIFIED.value: 1},
    )
    links = LinkDocument(many=True)


class RestoreDocument(Document):
    """The optional body of a restore."""

    version = Whole(required=False, help_text="Must be the current version.", example=2)
