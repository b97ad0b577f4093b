"""What agents fetch of an automation configuration, and their turns."""

from rest_framework import serializers

from automation.plan.values import MoveKind
from automation.sections import LONGEST_PROCESS_NAME
from automation.turns.models import PlanTurn
from automation.turns.rules import (
    MOST_STEP_SECONDS,
    MOVES_WITHOUT_TURN,
    STEP_SECONDS,
    TURN_LENGTH,
    TurnOutcome,
    TurnState,
)
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import A_TIME, Document, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import (
    Hostname,
    ListOf,
    OneOf,
    RedactedText,
    ShownChoice,
    ShownFlag,
    ShownId,
    ShownList,
    ShownMap,
    ShownNumber,
    ShownText,
    ShownTime,
    Text,
    Whole,
)
from opsapi.redaction import redact_urls

MOST_MEMBERS = 50
"""The most members of a replica set."""
_SECONDS = int(TURN_LENGTH.total_seconds())
_PROCESS = {
    "name": "orders_1",
    "hostname": "db1.example.com",
    "version": "7.0.14",
    "featureCompatibilityVersion": "7.0",
    "authSchemaVersion": 5,
    "args2_6": {"net": {"port": 27017}, "replication": {"replSetName": "orders"}},
}


class OtherMemberDocument(Document):
    """A process on another machine, in a replica set or cluster of a process of this machine."""

    name = ShownText(example="orders_2")
    hostname = ShownText(example="db2.example.com")
    port = ShownNumber(example=27017)
    alias = serializers.CharField(required=False)
    replicaSetName = ShownText(required=False, example="orders")
    cluster = serializers.CharField(required=False)
    version = ShownText(required=False, example="7.0.14")
    featureCompatibilityVersion = ShownText(required=False, example="7.0")
    defaultRWConcern = serializers.DictField(required=False)
    disabled = ShownFlag(example=False)
    manualMode = ShownFlag(example=False)


class StoppedMoveDocument(Document):
    """A move that failed: its replica set gets no turns under this version."""

    process = ShownText(example="orders_2")
    replicaSetName = ShownText(required=False, example="orders")
    move = ShownText(example=MoveKind.RESTART.value)
    reason = ShownText(example="orders_2 did not become a secondary within 600 s")
    since = ShownTime()


def _objects(meaning: str, example: object) -> ShownList:
    return ShownList(child=serializers.DictField(), help_text=meaning, example=[example])


class MachineConfigDocument(Document):
    """The part of the automation configuration that the agent of a machine carries out, with its secrets."""

    version = ShownNumber(help_text="The version of the automation configuration.", example=2)
    paused = ShownFlag(help_text="Whether the plan is paused: agents get no turns.", example=False)
    stopped = StoppedMoveDocument(
        many=True, help_text="The moves of the machine and of its replica sets that stopped the plan."
    )
    options = ShownMap(child=serializers.JSONField(), example={"downloadBase": "/var/lib/automation"})
    databaseVersions = _objects(
        "As in the configuration. URLs of versions that no process of the machine can get are redacted.",
        {"name": "7.0.14", "builds": []},
    )
    agentVersion = serializers.DictField(
        required=False, help_text="As in the configuration, if the machine has processes."
    )
    auth = serializers.DictField(
        required=False,
        help_text="The fields of the section of the configuration that the managed processes of the machine "
        "need: the key file and the user of the agent, and the other users if a process is no arbiter.",
    )
    authFaults = ShownList(
        child=serializers.CharField(),
        required=False,
        help_text="Why the section `auth` of the configuration cannot be carried out. The agent then starts "
        "servers only as they ran.",
        example=["key must be 6 to 1024 characters of base64"],
    )
    processFaults = ShownMap(
        child=serializers.CharField(),
        required=False,
        help_text="Why processes cannot be carried out, by name: several have the same address, or a name of "
        "their machine belongs to another machine, too. The agent only starts their servers as they ran.",
        example={"orders_1": "orders_1 and orders_3 have the same address, db1.example.com:27017"},
    )
    processes = _objects("The processes of the machine, as in the configuration.", _PROCESS)
    members = OtherMemberDocument(many=True)
    replicaSets = _objects(
        "The replica sets of the processes, as in the configuration.",
        {"_id": "orders", "members": [{"_id": 0, "host": "orders_1"}, {"_id": 1, "host": "orders_2"}]},
    )


class TurnRequestDocument(Document):
    """A request for the turn of the replica set of a process, or a move without a turn that failed."""

    hostname = Hostname(help_text="The machine of the agent.", example="db1.example.com")
    process = Text(max_length=LONGEST_PROCESS_NAME, help_text="Name of the process.", example="orders_1")
    move = OneOf([kind.value for kind in MoveKind], example=MoveKind.RESTART.value)
    requestId = Text(
        max_length=64,
        source="request_id",
        help_text="Chosen by the agent, another for each turn. A repeated request gets the same turn.",
        example="0f8c2a1e",
    )
    goalVersion = Whole(
        source="goal_version",
        required=False,
        help_text="The version that the agent carries out. If it is not the current one, there is no turn.",
        example=2,
    )
    seconds = Whole(
        min_value=1,
        max_value=MOST_STEP_SECONDS,
        default=STEP_SECONDS,
        help_text="How long the move can take. Until then, alerts about its effects notify nobody.",
        example=STEP_SECONDS,
    )
    step = RedactedText(max_length=200, required=False, help_text="The step of the move.", example="stop")
    members = ListOf(
        Text(max_length=LONGEST_PROCESS_NAME),
        max_length=MOST_MEMBERS,
        required=False,
        help_text="The members of the replica set as the set itself says: names of processes, or host:port "
        "for members that the automation configuration lacks. If left out, every reported host with the name "
        "of the replica set counts as a member, also a host that was removed from the set.",
        example=["orders_1", "orders_2"],
    )
    member = Text(
        max_length=LONGEST_PROCESS_NAME,
        required=False,
        help_text="The member that CHANGE_MEMBER or REMOVE_MEMBER changes, as in `members`. If left out, the "
        "guards look at all members.",
        example="orders_3",
    )
    follows = Text(
        max_length=24,
        required=False,
        help_text="The `id` of the held turn for the STEP_DOWN of the process, before STOP, RESTART, "
        "CHANGE_VERSION, RESYNC and COMPACT.",
    )
    waits = RedactedText(
        max_length=500,
        required=False,
        help_text="Why the agent lets the move wait by what it sees itself. The turn is refused with the "
        "reason AGENT_WAITS, and after 30 minutes an alert opens, as for other moves that wait.",
    )
    reason = RedactedText(
        max_length=2000,
        single_line=False,
        required=False,
        help_text=f"Why the move failed: for moves that take no turn ({', '.join(MOVES_WITHOUT_TURN)}), and "
        "only for them. The answer is a turn that has failed, and the plan of the replica set stops. "
        "Secrets in URLs are removed.",
    )

    def check(self, values: Values, bad: frozenset[str]) -> list[BadField]:
        """A move that takes no turn is sent only if it failed."""
        if bad & {"move", "reason", "waits"}:
            return []
        takes_turn = values["move"] not in MOVES_WITHOUT_TURN
        if not takes_turn and "reason" not in values:
            return [BadField("reason", ErrorCode.MISSING_ATTRIBUTE, "is required for a move without a turn")]
        if takes_turn and "reason" in values:
            return [
                BadField("reason", ErrorCode.INVALID_ATTRIBUTE, "is allowed only for a move without a turn")
            ]
        if not takes_turn and "waits" in values:
            return [BadField("waits", ErrorCode.INVALID_ATTRIBUTE, "is allowed only for a move with a turn")]
        return []


class TurnReportDocument(Document):
    """A renewal of a turn; with `outcome`, the turn is given back."""

    fence = Whole(min_value=1, max_value=2**63 - 1, help_text="The fence of the turn.", example=7)
    outcome = OneOf(
        [outcome.value for outcome in TurnOutcome],
        required=False,
        help_text="How the move ended. If left out, the turn is renewed.",
        example=TurnOutcome.FAILED.value,
    )
    reason = RedactedText(
        max_length=2000,
        single_line=False,
        required=False,
        help_text="Why the move failed or did not begin: not with `outcome` DONE, nor without an outcome. "
        "Secrets in URLs are removed.",
        example="orders_1 did not become a secondary within 600 s",
    )
    step = RedactedText(max_length=200, required=False, help_text="The step of the move.", example="start")

    def check(self, values: Values, bad: frozenset[str]) -> list[BadField]:
        """A move that is not done has a reason, and only such a move."""
        if bad & {"outcome", "reason"}:
            return []
        has_reason = values.get("outcome") in {TurnOutcome.FAILED.value, TurnOutcome.NOT_BEGUN.value}
        if has_reason and "reason" not in values:
            return [BadField("reason", ErrorCode.MISSING_ATTRIBUTE, "is required if the move is not done")]
        if "reason" in values and not has_reason:
            return [
                BadField("reason", ErrorCode.INVALID_ATTRIBUTE, "is allowed only if the move is not done")
            ]
        return []


class TurnDocument(Answer):
    """A turn: the right to make a move until it expires."""

    computed = {
        "process": lambda turn: redact_urls(turn.process),
        "replicaSetName": lambda turn: turn.replica_set or None,
    }

    id = ShownId()
    fence = ShownNumber(
        help_text="Greater than the fence of each earlier turn of the replica set.", example=7
    )
    process = ShownText(example="orders_1")
    replicaSetName = ShownText(required=False, example="orders")
    move = ShownText(example=MoveKind.RESTART.value)
    step = ShownText(required=False, example="stop")
    goalVersion = ShownNumber(source="goal_version", example=2)
    state = ShownChoice([state.value for state in TurnState], example=TurnState.HELD.value)
    granted = ShownTime(example=A_TIME)
    expires = ShownTime(
        help_text=f"When the turn ends unless it is renewed: {_SECONDS} s after its last renewal.",
        example="2026-11-21T07:26:44Z",
    )
    until = ShownTime(help_text="When the time of the move has passed.", example="2026-11-21T07:36:14Z")
    ended = serializers.DateTimeField(required=False)
    reason = serializers.CharField(required=False, help_text="Why the move failed, or did not begin.")


def turn_document(turn: PlanTurn) -> dict[str, object]:
    """Return the turn as agents see it."""
    return TurnDocument.of(turn)
