"""Why a plan does not make a move: the move waits or is refused, or a fact of the plan is assumed. Pure."""

from __future__ import annotations

from enum import Enum, unique


class ReasonKind(str, Enum):
    """The effect of a reason on the plan."""

    WAITS = "WAITS"
    """The move follows as soon as the observed state allows it."""
    REFUSED = "REFUSED"
    """The move follows only after somebody changes the document, or the servers."""
    ASSUMED = "ASSUMED"
    """A dry run does not know a fact, and says what it assumes. An agent waits until it observes the fact."""


@unique
class PlanReason(Enum):
    """A reason with its kind and its sentence, which has names in braces. Its name is its code in the API.

    The order is the order in the API.
    """

    PAUSED = (ReasonKind.WAITS, "the plan is paused")
    STOPPED = (ReasonKind.WAITS, "the plan stopped: {move} failed: {why}")
    TURN = (ReasonKind.WAITS, "{other} is being changed, and members are changed one at a time")
    NO_TURN = (ReasonKind.WAITS, "the agent of the process has no turn: {why}")
    AGENT_WAITS = (ReasonKind.WAITS, "{why}")
    TRIES_AGAIN = (ReasonKind.WAITS, "the agent tries the move again in a minute: {why}")
    NO_PRIMARY = (ReasonKind.WAITS, "the replica set has no primary")
    SEVERAL_PRIMARIES = (ReasonKind.WAITS, "the replica set has several primaries: {others}")
    MAJORITY = (
        ReasonKind.WAITS,
        "only {healthy} of {voters} voting members would be healthy, and a majority is {majority}",
    )
    MEMBER_AWAY = (ReasonKind.WAITS, "another member, {other}, is not healthy: {state}")
    MEMBER_UNKNOWN = (ReasonKind.WAITS, "the state of another member, {other}, is not known")
    OBSERVED_EARLIER = (
        ReasonKind.WAITS,
        "the last report about {other} arrived {late} s after it was observed, and the plan needs newer "
        "observations: the clock of the machine of its agent is behind, or its reports are late",
    )
    MEMBER_UNCLEAR = (
        ReasonKind.WAITS,
        "the member {other} stays, because it may be {same} under another name of its machine",
    )
    MEMBER_BUSY = (ReasonKind.WAITS, "the member itself is in state {state}")
    MEMBER_PRIMARY = (ReasonKind.WAITS, "the member is the primary, which steps down first")
    LAG = (ReasonKind.WAITS, "the lag of {other} is {lag} s, more than {most} s")
    LAG_UNKNOWN = (ReasonKind.WAITS, "the lag of {other} is not known")
    OPLOG_SHORT = (ReasonKind.WAITS, "the oplog of the primary covers {window} s, less than {least} s")
    OPLOG_UNKNOWN = (ReasonKind.WAITS, "it is not known how long the oplog of the primary covers")
    ALERT = (ReasonKind.WAITS, "an alert of the replica set is open: {alerts}")
    ALERTS_UNKNOWN = (ReasonKind.WAITS, "it is not known whether an alert of the replica set is open")
    NO_ELECTABLE = (ReasonKind.WAITS, "no other member can become the primary now")
    RUNNING_UNKNOWN = (ReasonKind.WAITS, "it is not known whether the process runs")
    STATE_UNKNOWN = (ReasonKind.WAITS, "the replication state of the process is not known")
    SET_UNKNOWN = (ReasonKind.WAITS, "the configuration of the replica set is not known")
    VERSION_UNKNOWN = (ReasonKind.WAITS, "the version of {other} is not known")
    FEATURE_VERSION_UNKNOWN = (ReasonKind.WAITS, "the feature compatibility version is not known")
    SETTINGS_UNKNOWN = (ReasonKind.WAITS, "the settings of the process are not known")
    BUILDS_UNKNOWN = (ReasonKind.WAITS, "the versions on the machine of the process are not known")
    NEED_UNKNOWN = (
        ReasonKind.WAITS,
        "no agent has reported in the last minute which move {other} needs next",
    )
    NEED_WAITS = (ReasonKind.WAITS, "{other}, on another machine, waits with its next move")
    DATA_UNKNOWN = (ReasonKind.WAITS, "it is not known whether the process has data")
    DATA_AGE_UNKNOWN = (
        ReasonKind.WAITS,
        "it is not known whether the data of the process is older than lastResync",
    )
    COPIES = (
        ReasonKind.WAITS,
        "only {copies} other voting members have all data, and an initial sync needs {needed}",
    )
    MEMBER_VERSION = (
        ReasonKind.WAITS,
        "{other} has version {version}, which does not support feature compatibility version {target}",
    )
    CONCERN_UNKNOWN = (
        ReasonKind.WAITS,
        "the default read and write concern of the replica set is not known",
    )
    CONCERN_VERSION = (
        ReasonKind.WAITS,
        "defaultRWConcern needs feature compatibility version {needed}, and the replica set has {version}",
    )
    CONCERN_MEMBERS = (
        ReasonKind.WAITS,
        "{needed} members with data must acknowledge each write, and the replica set would have {count}",
    )
    KEY_UNKNOWN = (ReasonKind.WAITS, "the file at auth.keyfile cannot be read")
    KEY_USE_UNKNOWN = (
        ReasonKind.WAITS,
        "it is not known whether {other} runs with the key file, and members with and without it cannot "
        "talk to each other",
    )
    USERS_UNKNOWN = (ReasonKind.WAITS, "the users of the databases are not known")
    MOST_VOTERS = (ReasonKind.WAITS, "a replica set has at most {most} voting members")

    SECTION_INVALID = (ReasonKind.REFUSED, "the section {section} is not valid: {what}")
    AUTH_REFUSED = (ReasonKind.REFUSED, "the plan does not carry out {field} of the section auth: {why}")
    KEY_CHANGE = (
        ReasonKind.REFUSED,
        "the file at auth.keyfile, or the running server, has another key than the document, and the plan "
        "does not change keys: members with different keys cannot talk to each other",
    )
    KEY_SPLIT = (
        ReasonKind.REFUSED,
        "the process could not talk to {other}, which does not have the same key file. If a replica set gets "
        "or loses its key file, publish args2_6.security.transitionToAuth true for all members first",
    )
    KEY_STAYS = (
        ReasonKind.REFUSED,
        "the document states no key file, and the server runs with it. Without it, the server would accept "
        "clients without credentials, so the plan keeps it. First publish the key file with "
        "args2_6.security.transitionToAuth true",
    )
    MEMBERS_NOT_STATED = (
        ReasonKind.REFUSED,
        "the section replicaSets does not say that the process is a member of {set}",
    )
    MAJORITY_DISABLED = (
        ReasonKind.REFUSED,
        "disabled members leave {left} of {voters} voting members, and a majority is {majority}",
    )
    VERSION_MISSING = (ReasonKind.REFUSED, "the process has no version")
    VERSION_UNREADABLE = (
        ReasonKind.REFUSED,
        "the plan does not know the series of version {version}, so it cannot change to or from it",
    )
    VERSIONS_APART = (
        ReasonKind.REFUSED,
        "the versions of the members are more than one major version apart: {versions}",
    )
    NO_VERSION_BETWEEN = (
        ReasonKind.REFUSED,
        "the change from {old} to {new} needs a version of the series {between} in databaseVersions",
    )
    NO_VERSION_FITS = (
        ReasonKind.REFUSED,
        "no version in databaseVersions can start with feature compatibility version {feature_version}",
    )
    OUTSIDE_VERSION = (
        ReasonKind.REFUSED,
        "version {version} stays: the process is not a member, so its data keeps its feature version",
    )
    TOO_MANY_PROCESSES = (
        ReasonKind.REFUSED,
        "{count} processes belong together, and a plan has at most {most} that do",
    )
    FEATURE_VERSIONS_DIFFER = (
        ReasonKind.REFUSED,
        "the members have different values of featureCompatibilityVersion: {versions}",
    )
    FEATURE_VERSION_UNFIT = (
        ReasonKind.REFUSED,
        "version {version} does not support feature compatibility version {target}",
    )
    FIXED_SETTING = (
        ReasonKind.REFUSED,
        "{settings} cannot change: the server would start without its data",
    )
    FIXED_MEMBER = (
        ReasonKind.REFUSED,
        "{other} cannot become or stop being an arbiter: remove the member first, and add it again",
    )
    MAKER_NOT_MANAGED = (
        ReasonKind.REFUSED,
        "{other} would have to make the move {move}, and it is in manual mode or not in the document: let it "
        "step down, so that another member becomes the primary",
    )
    CONCERN_NEEDED = (
        ReasonKind.REFUSED,
        "servers refuse the change of {other}, which changes the default write concern: state one in "
        "defaultRWConcern",
    )
    SEVERAL_ARBITERS = (
        ReasonKind.REFUSED,
        "version {version} refuses several arbiters, unless setParameter.allowMultipleArbiters is true: "
        "{others}",
    )
    CONCERN_REFUSED = (ReasonKind.REFUSED, "the plan does not set defaultRWConcern: {what}")
    SEVERAL_WITH_DATA = (
        ReasonKind.REFUSED,
        "several processes of the new replica set have data, and only one can keep it: {others}",
    )
    DATA_GONE = (
        ReasonKind.REFUSED,
        "the directory of the data is empty, although the process had data: mount its disk, or restore the "
        "data. To start without it, publish lastResync with the present time",
    )
    DATA_WOULD_GO = (
        ReasonKind.REFUSED,
        "the process has data that is not of the replica set, and joining would delete it",
    )
    RESYNC_REFUSED = (ReasonKind.REFUSED, "the process keeps its data, although lastResync is set: {what}")
    COMPACT_REFUSED = (
        ReasonKind.REFUSED,
        "the process is not compacted, although lastCompact is set: {what}",
    )
    AGENT_VERSION_REFUSED = (
        ReasonKind.REFUSED,
        "the platform hands out only version {version} of the agent, so agents stay as they are: "
        "agentVersion.{what}",
    )
    NO_END = (
        ReasonKind.REFUSED,
        "the plan reaches no end, which is a fault of the platform: please report it",
    )
    NOT_PLANNED = (ReasonKind.REFUSED, "the plan does not carry out {what}")

    NOT_REPORTED = (
        ReasonKind.ASSUMED,
        "no agent has reported the process: the plan assumes that it does not run and has no data",
    )
    REPORT_OLD = (
        ReasonKind.ASSUMED,
        "the last report of the process is from {when}: the plan assumes that it is still right",
    )
    ROLE_ASSUMED = (ReasonKind.ASSUMED, "the role of the process is not known: the plan assumes {state}")
    VERSION_ASSUMED = (
        ReasonKind.ASSUMED,
        "the version of the process is not known: the plan assumes {version}",
    )
    SETTINGS_ASSUMED = (
        ReasonKind.ASSUMED,
        "the settings of the process are not observed: the plan assumes those of {source}",
    )
    FEATURE_VERSION_ASSUMED = (
        ReasonKind.ASSUMED,
        "the feature compatibility version is not observed: the plan assumes {version}",
    )
    DATA_AGE_ASSUMED = (
        ReasonKind.ASSUMED,
        "the age of the data is not observed: the plan assumes that it is older than {fields}",
    )
    CONFIG_ASSUMED = (
        ReasonKind.ASSUMED,
        "votes and priorities of the members are not observed: the plan assumes those of {source}",
    )
    MOMENT_ASSUMED = (
        ReasonKind.ASSUMED,
        "lag, oplog and open alerts are not observed: the plan assumes that no move waits for them",
    )
    CONCERN_ASSUMED = (
        ReasonKind.ASSUMED,
        "the default read and write concern is not observed: the plan assumes {source}",
    )
    USERS_ASSUMED = (
        ReasonKind.ASSUMED,
        "the users of the databases are not observed: the plan assumes {source}",
    )
    MACHINES_ASSUMED = (
        ReasonKind.ASSUMED,
        "downloads and configuration files are not observed: the plan assumes the versions that run",
    )
    RUN_TIME_ASSUMED = (
        ReasonKind.ASSUMED,
        "it is not observed which settings a server can change at run time: the plan assumes restarts",
    )
    NOT_DRAWN = (
        ReasonKind.ASSUMED,
        "the document has too many processes for one dry run: the plan of {count} processes is not drawn",
    )

    def __init__(self, kind: ReasonKind, sentence: str) -> None:
        self.kind = kind
        self.sentence = sentence
