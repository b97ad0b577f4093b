"""The observed state of a process of this machine: from its files, its process and its own answers.

What is not known is None, and the plan waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from automation.agent.automation.builds import DocumentBuilds
from automation.agent.automation.key_files import seen_key_file
from automation.agent.automation.members import DOWN, STATES, WITHOUT_CONFIG, delay_of, state_of
from automation.agent.automation.old_data import data_since, old_directories
from automation.agent.automation.part import ManagedProcess
from automation.agent.automation.places import ProcessPlaces, StartRecord
from automation.agent.automation.processes import running_pid
from automation.agent.automation.seen_fleet import SeenProcess, SeenState
from automation.agent.automation.servers import (
    NO_COMMAND,
    NO_REPLICATION,
    NO_VALID_CONFIG,
    NOT_INITIATED,
    UNKNOWN_YET,
    ManagedServer,
)
from automation.agent.automation.users import user_commands, users_question
from automation.agent.mongodb.connection import is_router
from automation.agent.mongodb.metrics import OPLOG_FULL, moment, oplog_span
from automation.plan.auth import key_use
from automation.plan.concerns import set_concern
from automation.plan.guards import WITH_ALL_DATA
from automation.plan.reading import flat_settings
from automation.plan.setting_values import PARAMETERS, setting_value
from automation.plan.values import (
    FailedMove,
    KeyFile,
    MemberConfig,
    MemberState,
    ObservedProcess,
    ObservedSet,
    Settings,
)
from automation.plan.versions import SERIES, series

HOLDS_DATA = frozenset(STATES.values()) - {MemberState.STARTING, MemberState.ARBITER}
"""The states of a member that has got data, or gets it."""
_FEATURE_VERSION = "featureCompatibilityVersion"
_MASKED = '"<password>"'
"""A server does not say its passwords."""


def observe(
    managed: ManagedProcess,
    server: ManagedServer,
    places: ProcessPlaces,
    builds: DocumentBuilds,
    *,
    versions: Iterable[str],
    failure: FailedMove | None,
    now: datetime,
) -> SeenProcess:
    """Observe a process. `failure` is the move that stopped its plan."""
    config, record = places.read_config(), places.read_record()
    pid = running_pid(managed.data)
    hello = server.hello()
    process = ObservedProcess(
        is_running=hello is not None or pid is not None,
        file=None if config is None else dict(flat_settings(config)),
        restart=record.restart,
        resync=record.resync,
        compacted=record.compacted,
        data_since=data_since(managed.data),
        away=record.away,
        has_old_data=bool(old_directories(managed.data)),
        builds=builds.present({*versions, managed.goal.version, record.version or ""}),
        failure=failure,
        key_file=None if managed.key_place is None else seen_key_file(managed.key_place, managed.key),
    )
    if hello is not None:
        return _RunningServer(managed, server, hello, record, process).seen(pid, now)
    if pid is not None:  # It starts or ends, or it is busy, or the agent cannot connect to it.
        return SeenProcess(process, pid)
    has_data = has_files(managed)
    # It starts again as it ran. After a start that failed, other versions that its data allows can follow.
    feature_version = record.feature_version if has_data and record.has_failed else None
    is_data_gone = has_data is False and record.had_data and not process.has_old_data
    if is_data_gone:  # A lastResync of the time before agrees to nothing.
        times = [time for time in (record.resync, record.known_resync) if time is not None]
        process = replace(process, resync=max(times, default=None))
    return SeenProcess(
        replace(
            process,
            version=record.version,
            feature_version=feature_version,
            has_data=has_data,
            key_use=record.key_use,
            is_data_gone=is_data_gone,
        )
    )


class _RunningServer:
    """A server that runs, and its answers."""

    def __init__(
        self,
        managed: ManagedProcess,
        server: ManagedServer,
        hello: Mapping[str, Any],
        record: StartRecord,
        process: ObservedProcess,
    ) -> None:
        """`process`: as its files show it."""
        self._managed, self._server, self._hello = managed, server, hello
        self._record, self._process = record, process
        asked = {"serverStatus": 1, "oplog": 1, "metrics": 0, "wiredTiger": 0, "locks": 0}
        self._status, _ = server.answer(asked)
        self._members: Sequence[Mapping[str, Any]] = ()
        self._date: datetime | None = None
        """When it said the members, by its own clock."""

    def seen(self, pid: int | None, now: datetime) -> SeenProcess:
        state, version = self._state(), self._version()
        has_data = self._has_data(state)
        feature_version, feature_target = self._feature_version(state, version, has_data=has_data)
        settings, settable = self._settings()
        process = replace(
            self._process,
            state=state,
            version=version,
            feature_version=feature_version,
            feature_target=feature_target,
            has_data=has_data,
            settings=settings,
            settable=settable,
            started=self._started(now),
            key_file=self._key_file(settings),
        )
        users = self._users(state, settings)
        of_set = ObservedSet(config=self._config(state), concern=self._concern(state), users=users)
        if state is MemberState.PRIMARY:
            of_set = replace(of_set, oplog=self._oplog(), oplog_lost=self._is_oplog_full())
        # Another server may answer at this address.
        said = (self._status or {}).get("pid")
        return SeenProcess(
            process,
            pid if said in {None, pid} else None,
            of_set,
            self._lags(),
            dict(self._states(now)),
            str(self._hello.get("me") or ""),
        )

    def _state(self) -> MemberState | None:
        if is_router(self._hello):
            return MemberState.ROUTER
        if not self._hello.get("setName") and not self._hello.get("isreplicaset"):
            return MemberState.STANDALONE
        status, code = self._server.answer({"replSetGetStatus": 1})
        if status is not None:
            self._members, self._date = status.get("members", ()), moment(status.get("date"))
            return state_of(status.get("myState"))
        known = {
            NO_REPLICATION: MemberState.STANDALONE,
            NOT_INITIATED: MemberState.UNINITIATED,
            NO_VALID_CONFIG: MemberState.REMOVED,
        }
        return known.get(code)

    def _version(self) -> str | None:
        answer, _ = self._server.answer({"buildInfo": 1})
        version = (answer or {}).get("version")
        if not isinstance(version, str):
            return None
        # The document can have another name for the version, such as `6.0.5-ent`.
        goal = self._managed.goal.version
        return goal if goal == version or goal.startswith(f"{version}-") else version

    def _feature_version(
        self, state: MemberState | None, version: str | None, *, has_data: bool | None
    ) -> tuple[str | None, str | None]:
        """The feature compatibility version, and to which it changes. Between two, the data is of neither."""
        answer, code = self._server.answer({"getParameter": 1, _FEATURE_VERSION: 1})
        said = (answer or {}).get(_FEATURE_VERSION)
        if isinstance(said, Mapping) and isinstance(said.get("version"), str):
            if "targetVersion" in said or "previousVersion" in said:
                return None, str(said["targetVersion"]) if "targetVersion" in said else None
            return str(said["version"]), None
        place = series(version)
        if (
            code == UNKNOWN_YET
            and state is MemberState.UNINITIATED
            and has_data is False
            and place is not None
        ):
            return SERIES[place], None  # The one that it gets with its first configuration.
        return None, None

    def _has_data(self, state: MemberState | None) -> bool | None:
        if state is not MemberState.UNINITIATED:
            return None if state is None else True
        # It answers no question about its collections. Since 5.0, it counts them.
        counts = (self._status or {}).get("catalogStats")
        if isinstance(counts, Mapping) and counts.get("collections") not in {0, None}:
            return True
        # The count leaves out users and roles: only a server that began as an empty member has no data.
        return False if self._record.was_empty else None

    def _started(self, now: datetime) -> datetime | None:
        uptime = (self._status or {}).get("uptimeMillis")
        return now - timedelta(milliseconds=float(uptime)) if isinstance(uptime, (int, float)) else None

    def _settings(self) -> tuple[Mapping[str, str] | None, frozenset[str] | None]:
        """The settings with which it runs, and which settings it can change at run time."""
        answer, _ = self._server.answer({"getCmdLineOpts": 1})
        if answer is None:
            return None, None
        parsed = {name: value for name, value in answer.get("parsed", {}).items() if name != "config"}
        settings = dict(flat_settings(parsed))
        for name, value in settings.items():
            if value == _MASKED and self._process.file is not None:
                settings[name] = self._process.file.get(name, value)
        names = {
            *(name for name in settings if name.startswith(PARAMETERS)),
            *(name for name in self._managed.goal.settings if name.startswith(PARAMETERS)),
            *(PARAMETERS + name for name in self._record.parameters),
        }
        if not names:
            return settings, frozenset()
        asked = {name[len(PARAMETERS) :]: 1 for name in sorted(names)}
        details, _ = self._server.answer({"getParameter": {"showDetails": True}, **asked})
        settable: set[str] = set()
        for name, detail in (details or {}).items():
            if name not in asked or not isinstance(detail, Mapping):
                continue
            full = PARAMETERS + name
            if detail.get("settableAtRuntime") is True:
                settable.add(full)
            # A server starts with the texts of lists and objects in a notation of their own.
            is_plain = isinstance(detail.get("value"), (bool, int, float, str))
            was_set = full in settings or name in self._record.parameters
            if is_plain and (
                was_set or setting_value(full, detail["value"]) == self._managed.goal.settings.get(full)
            ):
                settings[full] = setting_value(full, detail["value"])
        return settings, frozenset(settable)

    def _config(self, state: MemberState | None) -> tuple[MemberConfig, ...] | None:
        if state in WITHOUT_CONFIG:
            return ()
        answer, code = self._server.answer({"replSetGetConfig": 1})
        if answer is None:
            return () if code == NOT_INITIATED else None
        return tuple(self._member(member) for member in answer["config"]["members"])

    def _member(self, member: Mapping[str, Any]) -> MemberConfig:
        return MemberConfig(
            self._managed.process_at(str(member["host"])),
            int(member["_id"]),
            float(member["priority"]),
            int(member["votes"]),
            bool(member["hidden"]),
            delay_of(member),
            bool(member["arbiterOnly"]),
        )

    def _concern(self, state: MemberState | None) -> Settings | None:
        """The default concerns that somebody has set. An arbiter does not know them."""
        if state not in WITH_ALL_DATA:
            return None
        answer, code = self._server.answer({"getDefaultRWConcern": 1})
        if answer is None:
            return {} if code == NO_COMMAND else None  # Before 4.4 there are none.
        return set_concern(answer)

    def _key_file(self, settings: Settings | None) -> KeyFile | None:
        """The key file on the disk. The running server may have another key than that file."""
        has_key = settings is None or key_use(settings).has_key
        is_asked = bool(self._managed.key) and has_key
        return KeyFile.DIFFERENT if is_asked and self._server.refuses_key else self._process.key_file

    def _users(self, state: MemberState | None, settings: Settings | None) -> tuple[str, ...] | None:
        """The names of users that are not as the document wants, as a server that can change them says."""
        is_right = state in {MemberState.PRIMARY, MemberState.STANDALONE} and settings is not None
        if not is_right or not key_use(settings or {}).has_key:
            return None
        question = users_question(self._managed.auth)
        if not question["usersInfo"]:
            return ()
        answer, _ = self._server.answer(question)
        return None if answer is None else tuple(sorted(user_commands(self._managed.auth, answer["users"])))

    def _states(self, now: datetime) -> Iterator[tuple[str, SeenState]]:
        """The states of the other members, as the heartbeats of this member say.

        Only the ages of heartbeats count, because the server may have another clock than the agent.
        """
        for member in self._members:
            number = member.get("state")
            is_down = number == DOWN or member.get("health") == 0
            state = None if is_down else state_of(number)
            if not member.get("self"):
                is_running = False if is_down else True if state is not None else None
                said, heard = self._date, moment(member.get("lastHeartbeat"))
                age = None if said is None or heard is None else max(said - heard, timedelta())
                yield (
                    self._managed.process_at(str(member.get("name"))),
                    SeenState(is_running, state, None if age is None else now - age),
                )

    def _lags(self) -> Mapping[str, timedelta]:
        """How far the members are behind the primary; empty without a primary."""
        times = {str(member.get("name")): moment(member.get("optimeDate")) for member in self._members}
        primaries = [
            member for member in self._members if state_of(member.get("state")) is MemberState.PRIMARY
        ]
        ahead = moment(primaries[0].get("optimeDate")) if len(primaries) == 1 else None
        return {
            self._managed.process_at(name): max(timedelta(), ahead - time)
            for name, time in times.items()
            if ahead is not None and time is not None
        }

    # --- of a primary -----------------------------------------------------------------------------

    def _oplog(self) -> timedelta | None:
        span = oplog_span((self._status or {}).get("oplog", {}))
        return None if span is None else timedelta(seconds=span)

    def _is_oplog_full(self) -> bool:
        """Whether it loses its oldest entries; also if this is not known."""
        answer, _ = self._server.answer({"collStats": "oplog.rs"}, database="local")
        sizes = answer or {}
        if not all(isinstance(sizes.get(name), (int, float)) for name in ("size", "maxSize")):
            return True
        return bool(sizes["size"] >= OPLOG_FULL * sizes["maxSize"])


def has_files(managed: ManagedProcess) -> bool | None:
    """Whether the directory of the data has files of a server; None if it cannot be read."""
    try:
        return any(path.name != "lost+found" for path in managed.data.iterdir())
    except FileNotFoundError:
        return False
    except OSError:
        return None
