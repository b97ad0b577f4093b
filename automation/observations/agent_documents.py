"""The observations that the agents of a replica set exchange."""

from automation.plan.auth import KeyUse
from automation.plan.values import NO_MOVE, WAITS, MemberState, MoveKind
from automation.sections import LONGEST_PROCESS_NAME, LONGEST_SET_NAME
from automation.turns.agent_documents import MOST_MEMBERS
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import Flag, Hostname, ListOf, Number, OneOf, Text, Whole

_MOST = 2**31 - 1


class ObservedMemberDocument(Document):
    """A member in the configuration of the replica set, as the server has it."""

    id = Whole(max_value=_MOST, example=0)
    host = Text(
        max_length=LONGEST_PROCESS_NAME,
        help_text="Name of the process, or host:port if the automation configuration has no process there.",
        example="orders_1",
    )
    priority = Number(example=1)
    votes = Whole(max_value=1, example=1)
    hidden = Flag(example=False)
    secondaryDelaySecs = Whole(max_value=_MOST, example=0)
    arbiterOnly = Flag(example=False)


class ObservedProcessDocument(Document):
    """What an agent observes of a process of its machine. A fact that is left out is not known."""

    name = Text(max_length=LONGEST_PROCESS_NAME, example="orders_1")
    running = Flag(required=False, example=True)
    state = OneOf(
        [state.value for state in MemberState],
        required=False,
        help_text="The replication state of a process that runs.",
        example=MemberState.SECONDARY.value,
    )
    version = Text(max_length=100, required=False, help_text="It runs, or ran last.", example="7.0.14")
    featureCompatibilityVersion = Text(max_length=20, required=False, example="7.0")
    hasData = Flag(required=False, example=True)
    awaySeconds = Whole(
        max_value=_MOST,
        required=False,
        help_text="How long the last restart by the agent took, until the member had all data again.",
        example=20,
    )
    memberName = Text(
        max_length=LONGEST_PROCESS_NAME,
        required=False,
        help_text="The host:port of the member in the configuration of the replica set.",
        example="db1.example.com:27017",
    )
    severalArbiters = Flag(
        required=False,
        help_text="Whether setParameter.allowMultipleArbiters lets its replica set have several arbiters.",
        example=False,
    )
    keyFile = OneOf(
        [use.value for use in KeyUse],
        required=False,
        help_text="Whether the server takes part in its replica set with a key file. In TRANSITION it also "
        "talks to members without one. OTHER: with another key than the document has, or with certificates.",
        example=KeyUse.FULL.value,
    )
    nextMove = OneOf(
        [NO_MOVE, WAITS, *(kind.value for kind in MoveKind)],
        required=False,
        help_text="The next move that the process needs by itself, without regard to the other members: "
        f"{NO_MOVE} if it needs none, {WAITS} if it waits.",
        example=NO_MOVE,
    )
    nextVersion = Text(
        max_length=100, required=False, help_text="The version of that move.", example="7.0.14"
    )
    members = ListOf(
        ObservedMemberDocument(),
        max_length=MOST_MEMBERS,
        required=False,
        help_text="The configuration of the replica set as this process has it: of a "
        "primary, and of each member while there is no primary.",
    )
    oplogSeconds = Whole(
        max_value=_MOST,
        required=False,
        help_text="The time that the oplog of a primary covers.",
        example=86400,
    )
    oplogFull = Flag(
        required=False, help_text="Whether the oplog has begun to drop its oldest entries.", example=True
    )


class ObservationsDocument(Document):
    """What the agent of a machine observes of its processes in a replica set."""

    hostname = Hostname(help_text="The machine of the agent.", example="db1.example.com")
    goalVersion = Whole(
        source="goal_version",
        help_text="The version of the automation configuration that the agent carries out.",
        example=2,
    )
    replicaSetName = Text(max_length=LONGEST_SET_NAME, source="replica_set", example="orders")
    processes = ListOf(ObservedProcessDocument(), max_length=MOST_MEMBERS)

    def check(self, values: Values, bad: frozenset[str]) -> list[BadField]:
        """Each process is observed once."""
        if "processes" in bad:
            return []
        names = [process["name"] for process in values["processes"]]
        return [
            BadField(f"processes[{place}].name", ErrorCode.INVALID_ATTRIBUTE, "is given twice")
            for place, name in enumerate(names)
            if name in names[:place]
        ]


class OtherObservationsDocument(Document):
    """What the agents of other machines have observed in the last minute, under the same version."""

    processes = ListOf(ObservedProcessDocument(), max_length=MOST_MEMBERS)
