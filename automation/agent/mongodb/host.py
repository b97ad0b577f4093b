"""A monitored server: its connection, its answers to a poll and its previous measurements."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from math import isfinite
from typing import Any, Callable, NamedTuple

from pymongo.errors import ConfigurationError, ConnectionFailure, OperationFailure, PyMongoError

from automation.agent.certificates import ServerCertificate
from automation.agent.engine import MOST_DATABASES, DatabaseTurns, Sample, ServerAddress
from automation.agent.faults import Problems, log_unexpected, printable
from automation.agent.machine.metrics import space
from automation.agent.machine.reader import LocalMachine
from automation.agent.mongodb.connection import (
    ANSWER_SECONDS,
    DATABASES,
    DIAGNOSTICS,
    OPLOG,
    REFUSALS,
    SHARDS,
    STATUS,
    Command,
    MongoAccess,
    MongoSession,
    SettingsFault,
    ask_hello,
    is_router,
    probe,
    sections_of,
    sizes_of,
)
from automation.agent.mongodb.machine import MongoMachine, claim_of
from automation.agent.mongodb.metrics import (
    CERTIFICATE,
    DATABASE,
    METRICS,
    OF_DATABASES,
    SERVER,
    SUMS,
    SUPPORT,
    WINDOW,
    Answers,
    days_of_support,
    numbers_of,
    restart_mark,
)
from automation.agent.mongodb.topology import NamedServers, members_of_cluster
from automation.agent.rates import NumbersAt, Why, values_of

log = logging.getLogger("opsapi.agent")

STALE = timedelta(seconds=30)
PAUSE = 0.25

SPACE = "DISK_PARTITION_SPACE_FREE"
ROOM = frozenset(f"dbStats/{name}" for name in ("FREE", "USED", "PERCENT_FREE", "PERCENT_USED"))
"""The paths of the room on the disk that come with the sizes of databases."""

_SIZES = ("dataSize", "storageSize", "indexSize", "avgObjSize", "objects", "collections", "indexes")


@dataclass(frozen=True)
class MongoAnswer:
    """The result of a poll. If the server does not answer, `hello` is None and `problem` says why.

    `listens` is true if the server is there without an answer, because the settings of the agent prevent the
    conversation. `is_measured` is false if nothing could be measured; then `problem` says why. Otherwise
    `problem` names the refused parts. `window` is the oplog window of a primary in seconds.
    """

    address: ServerAddress
    hello: Mapping[str, Any] | None = None
    version: str | None = None
    uptime: int | None = None
    status: Mapping[str, Any] | None = None
    cluster: NamedServers | None = None
    own_name: str | None = None
    window: float | None = None
    samples: Sequence[Sample] = ()
    databases: Mapping[str, Sequence[Sample]] | None = None
    problem: str = ""
    listens: bool = False
    is_measured: bool = True
    is_look: bool = False
    """Whether the server was only polled for the servers it names."""

    @property
    def is_reachable(self) -> bool:
        """Whether the server is there."""
        return self.hello is not None or self.listens


class _Refusal(NamedTuple):
    """Why there was no log-in; `why` is the state of the metrics."""

    problem: str
    why: Why


class MongoHost:
    """A server at an address. One thread at a time polls it; any thread can read `missing`."""

    def __init__(
        self,
        address: ServerAddress,
        access: MongoAccess,
        explain: Callable[[Exception], str],
        *,
        is_arbiter: bool = False,
        window_of: Callable[[str], float | None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        machine: LocalMachine | None = None,
    ) -> None:
        """`explain` writes an error without secrets. `clock` returns monotonic seconds.

        `machine` is the agent's machine, read once for all servers. `window_of` returns the oplog window of
        the primary of a replica set in seconds; None if unknown.
        """
        self.address = address
        self.machine = MongoMachine(machine or LocalMachine(), address, clock)
        self.missing: Mapping[str, Why] = {}
        self._access, self._explain, self._clock = access, explain, clock
        self._window_of = window_of
        # Arbiters have no users: they accept no credentials and answer `hello` to everybody.
        self._with_credentials = not is_arbiter
        self._session: MongoSession | None = None
        self._before: NumbersAt | None = None
        self._databases = _MongoDatabases()
        self.certificate = ServerCertificate(clock)
        self._problems = Problems()

    def poll(self) -> MongoAnswer:
        """Poll the server: CONNECT_SECONDS if nothing listens, otherwise ANSWER_SECONDS for each part."""
        return self._asked(self._measured)

    def look(self) -> MongoAnswer:
        """Ask only which servers it names."""
        return replace(self._asked(self._named), is_look=True)

    def _asked(self, then: Callable[[Mapping[str, Any], _Refusal | None], MongoAnswer]) -> MongoAnswer:
        """Ask `hello` and the rest. Returns an answer, whatever happens."""
        try:
            hello, refusal = self._hello()
        except Exception as error:  # noqa: BLE001 - an error in our code is logged and affects no other host
            self.close()  # The next poll first checks whether anything listens.
            is_down = isinstance(error, (OSError, ConnectionFailure))
            return self._unmeasured(None, error, listens=not is_down)
        try:
            return then(hello, refusal)
        except Exception as error:  # noqa: BLE001 - as above
            return self._unmeasured(hello, error)

    def _unmeasured(
        self, hello: Mapping[str, Any] | None, error: Exception, *, listens: bool = True
    ) -> MongoAnswer:
        """The answer of a server that could not be measured because of an error."""
        problem = self._explain(error)
        if not isinstance(error, (OSError, PyMongoError, SettingsFault)):
            log_unexpected(self.address, error)
            problem = f"an error of the agent: {type(error).__name__}"
        self._miss(Why.FAILED)
        return MongoAnswer(self.address, hello, problem=problem, listens=listens, is_measured=False)

    def _miss(self, why: Why) -> None:
        """All metrics are missing for this reason, except metrics that the server does not have."""
        known = self.missing
        self.missing = {metric: Why.ABSENT if known.get(metric) is Why.ABSENT else why for metric in METRICS}

    def close(self) -> None:
        """End the connection."""
        self.certificate.forget()  # A server that was restarted can have another.
        if self._session is not None:
            self._session.close()
            self._session = None

    # --- hello ------------------------------------------------------------------------------------

    def _hello(self) -> tuple[Mapping[str, Any], _Refusal | None]:
        """The answer to `hello`, and why there was no log-in.

        A server that listens but does not answer in time, because it is stopped for a moment, is asked again.

        Raises: OSError, ConnectionFailure: the server does not answer. SettingsFault: it would answer other
        settings. PyMongoError: it answers, and refuses `hello`.
        """
        end = self._clock() + ANSWER_SECONDS
        opens = self._session is None
        if opens:
            probe(self.address)
        while True:
            try:
                return self._ask_hello()
            except (ConnectionFailure, ssl.SSLError) as error:
                fault = self._access.tls_fault(self.address, error) if opens else ""
                if fault:
                    raise SettingsFault(fault) from error
                if self._clock() >= end:
                    raise
            opens = True  # The failure closed the connection.
            probe(self.address)
            time.sleep(PAUSE)

    def _ask_hello(self) -> tuple[Mapping[str, Any], _Refusal | None]:
        try:
            return self._ask_hello_with_credentials(), None
        except (OperationFailure, ConfigurationError, SettingsFault) as error:
            is_refused = isinstance(error, OperationFailure) and error.code in REFUSALS
            refusal = _Refusal(self._explain(error), Why.REFUSED if is_refused else Why.FAILED)
        self._reconnect(with_credentials=False)
        goes_on = False
        try:
            hello = ask_hello(self._command)
            goes_on = bool(hello.get("arbiterOnly")) or self._access.is_optional
        finally:
            if not goes_on:
                # Try the credentials again next time: somebody may create the user.
                self._reconnect(with_credentials=True)
        return hello, None if goes_on else refusal

    def _ask_hello_with_credentials(self) -> Mapping[str, Any]:
        """The answer of an arbiter without credentials, or of another member with them."""
        hello = ask_hello(self._command)
        if self._with_credentials or hello.get("arbiterOnly"):
            return hello
        self._reconnect(with_credentials=True)  # It is no longer an arbiter, or the user may exist now.
        return ask_hello(self._command)

    def _reconnect(self, *, with_credentials: bool) -> None:
        self.close()
        self._with_credentials = with_credentials

    def _command(
        self, command: Mapping[str, Any], seconds: float | None = None, database: str = "admin"
    ) -> Mapping[str, Any]:
        if self._session is None:
            self._session = self._access.session(self.address, with_credentials=self._with_credentials)
        return self._session.command(command, seconds, database)

    # --- what it names ----------------------------------------------------------------------------

    def _named(self, hello: Mapping[str, Any], refusal: _Refusal | None) -> MongoAnswer:
        if hello.get("arbiterOnly") or refusal:
            return MongoAnswer(self.address, hello, problem=refusal.problem if refusal else "")
        end = self._clock() + ANSWER_SECONDS
        status = self._section(STATUS, end, set()) if hello.get("setName") else None
        cluster = self._cluster({}) if is_router(hello) else None
        return MongoAnswer(self.address, hello, status=status, cluster=cluster)

    # --- measurements -----------------------------------------------------------------------------

    def _measured(self, hello: Mapping[str, Any], refusal: _Refusal | None) -> MongoAnswer:
        if hello.get("arbiterOnly"):
            version = self._version()
            of_machine = self._of_machine(hello, (None, None), None)
            self.missing = {**dict.fromkeys(METRICS, Why.ABSENT), **self.machine.missing}
            return MongoAnswer(self.address, hello, version=version, samples=of_machine)
        if refusal:
            self._miss(refusal.why)
            return MongoAnswer(self.address, hello, problem=refusal.problem, is_measured=False)
        taken = datetime.now(timezone.utc)
        end = self._clock() + ANSWER_SECONDS
        routes = is_router(hello)
        answers = self._answers(hello, end)
        if "serverStatus" not in answers.sections:
            return self._refused(hello, answers.refused)
        databases = None if routes else self._database_samples()
        status = answers.sections.get("serverStatus", {})
        version = _text(status.get("version")) or self._version()
        numbers = {**numbers_of(answers), **self._databases.totals(), **self._of_agent(version, taken)}
        process, seconds = restart_mark(answers)
        of_machine = self._of_machine(hello, (process, seconds), answers.db_path)
        if self.machine.missing[SPACE] is Why.REPORTED:
            # The sizes of databases come with the same room in other words, in one of many rounds.
            numbers = {path: value for path, value in numbers.items() if path not in ROOM}
        now = NumbersAt(numbers, process, seconds or 0.0)
        refused = answers.refused | self._databases.refused
        values, reasons = values_of(SERVER, self._before, now, refused)
        filled_in = self._filled_in(reasons)
        self.missing = {
            **dict.fromkeys(METRICS, Why.ABSENT),
            **reasons,
            **self._measured_before(reasons),
            **filled_in,
        }
        if self._databases.is_cut:
            self.missing = {**self.missing, **dict.fromkeys(SUMS, Why.FAILED)}
        problem = self.certificate.problem
        line = f"{self.address}: no end of the certificate: {problem}"
        self._problems.report(f"the certificate of {self.address}", problem, line)
        if problem:
            self.missing = {**self.missing, "SERVER_CERTIFICATE_DAYS": Why.FAILED}
        self._before = now if seconds is not None else None
        return MongoAnswer(
            self.address,
            hello,
            version=version,
            # After a clock was set back, the start time can be in the future.
            uptime=None if seconds is None or not isfinite(seconds) else max(0, int(seconds)),
            status=answers.sections.get("replSetGetStatus"),
            cluster=self._cluster(status) if routes else None,
            own_name=printable(status.get("host"), 300),
            window=numbers.get(WINDOW),
            samples=[
                *(Sample(metric, number, taken) for metric, number in values.items()),
                *(sample for sample in of_machine if sample.metric in filled_in),
            ],
            databases=databases,
            problem=f"refused: {', '.join(sorted(refused))}" if refused else "",
        )

    def _of_machine(
        self, hello: Mapping[str, Any], process: tuple[int | None, float | None], data: str | None
    ) -> Sequence[Sample]:
        """The samples of the server's machine, if it is the agent's machine."""
        try:
            # The command opens a session if there is none.
            return self.machine.samples(self._session, lambda: claim_of(self._command, hello, process, data))
        except PyMongoError:
            return ()  # The machine says so. What was measured before is kept, and the next poll connects.

    def _filled_in(self, reasons: Mapping[str, Why]) -> Mapping[str, Why]:
        """The metrics of the machine for which the server has no source, and whether they are measured."""
        return {
            metric: why
            for metric, why in self.machine.missing.items()
            if reasons.get(metric, Why.ABSENT) in {Why.ABSENT, Why.REFUSED} and why is not Why.ABSENT
        }

    def _of_agent(self, version: str | None, now: datetime) -> Mapping[str, float]:
        """The values that no command reads."""
        days = {
            CERTIFICATE: self.certificate.days(now, lambda: self._access.certificate(self.address)),
            SUPPORT: days_of_support(version or "", now.date()),
        }
        return {path: float(number) for path, number in days.items() if number is not None}

    def _refused(self, hello: Mapping[str, Any], refused: Collection[str]) -> MongoAnswer:
        """The answer of a server that shows the user nothing."""
        self.close()  # If the user was dropped, the next log-in fails, with a better reason.
        self._before = None
        if not refused:
            self._miss(Why.FAILED)
            problem = "the server does not know serverStatus"
        else:
            self._miss(Why.REFUSED)
            names = ", ".join(sorted(refused))
            problem = f"refused: {names}. The user needs the role clusterMonitor"
        return MongoAnswer(self.address, hello, problem=problem, is_measured=False)

    def _measured_before(self, reasons: Mapping[str, Why]) -> Mapping[str, Why]:
        """Metrics that come only every ten minutes and were reported last time."""
        return {
            metric: Why.REPORTED
            for metric in OF_DATABASES
            if reasons[metric] is Why.ABSENT and self.missing.get(metric) is Why.REPORTED
        }

    def _answers(self, hello: Mapping[str, Any], end: float) -> Answers:
        """Everything in a single command. Missing or refused parts come from separate commands."""
        sections: dict[str, Mapping[str, Any]] = {}
        refused: set[str] = set()
        diagnostics = self._section(DIAGNOSTICS, end, refused)
        if diagnostics is not None and _is_fresh(diagnostics.get("data", {}), hello):
            sections.update(_sections(diagnostics.get("data", {})))
        for asked in sections_of(hello):
            if asked.section not in sections:
                answer = self._section(asked, end, refused)
                if answer is not None:
                    sections[asked.section] = answer
        status = sections.get("serverStatus", {})
        if hello.get("setName") and status and "oplog" not in status:
            oplog = self._section(OPLOG, end, refused) or {}
            sections["serverStatus"] = {**status, "oplog": oplog.get("oplog", {})}
        if DIAGNOSTICS.section in refused:
            refused = (refused - {DIAGNOSTICS.section}) | {"systemMetrics"}
        return Answers(
            sections,
            frozenset(refused),
            None if is_router(hello) else self._db_path(end),
            _delay(hello),
            self._window_of(str(hello.get("setName"))),
        )

    def _section(self, asked: Command, end: float, refused: set[str]) -> Mapping[str, Any] | None:
        """The answer; None if the server has none, in which case `refused` says whether a role is missing.

        Raises: PyMongoError: the server does not answer.
        """
        try:
            return self._command(asked.command, max(0.1, end - self._clock()), asked.database)
        except OperationFailure as error:
            if error.code in REFUSALS:
                refused.add(asked.section)
            return None

    def _db_path(self, end: float) -> str | None:
        """The data directory of the server, read once per connection."""
        if self._databases.path_of is not self._session:
            options = self._section(Command("getCmdLineOpts", {"getCmdLineOpts": 1}), end, set()) or {}
            self._databases.path = printable(_data_directory(options.get("parsed")), 4096)
            self._databases.path_of = self._session
        return self._databases.path

    def _version(self) -> str | None:
        try:
            return _text(self._command({"buildInfo": 1}, ANSWER_SECONDS).get("version"))
        except OperationFailure:
            return None

    def _cluster(self, status: Mapping[str, Any]) -> NamedServers | None:
        """The cluster data of a router; None if the router refuses it."""
        end = self._clock() + ANSWER_SECONDS
        refused: set[str] = set()
        shards = self._section(SHARDS, end, refused) or {}
        shard_map = self._section(Command("getShardMap", {"getShardMap": 1}), end, refused) or {}
        known = dict(shard_map.get("map", {}))
        if "config" not in known:
            known["config"] = status.get("sharding", {}).get("configsvrConnectionString", "")
        find = {"find": "mongos", "limit": 10_000, "batchSize": 10_000}
        rows = self._section(Command("routers", find, "config"), end, refused)
        routers = (rows or {}).get("cursor", {}).get("firstBatch", [])
        if refused:
            log.warning(
                "%s: the router does not report its cluster: refused %s", self.address, sorted(refused)
            )
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        return members_of_cluster(shards.get("shards", []), known, routers, now)

    # --- databases --------------------------------------------------------------------------------

    def _database_samples(self) -> Mapping[str, Sequence[Sample]] | None:
        """The samples of all databases measured now; None if none was due."""
        known = self._databases
        try:
            known.turns.take(self._clock, ANSWER_SECONDS, self._database_names, self._sizes)
            # Every server has its own databases; without the role, none of them is listed.
            known.refused = frozenset(() if known.turns.due else {"dbStats"})
        except PyMongoError as error:
            is_refused = isinstance(error, OperationFailure) and error.code in REFUSALS
            known.refused = frozenset({"dbStats"} if is_refused else ())
            log.warning("%s: no database sizes: %s", self.address, self._explain(error))
        return known.turns.take_samples()

    def _database_names(self) -> Sequence[str]:
        answer = self._command(DATABASES.command, ANSWER_SECONDS)
        databases = [(str(row.get("name")), row.get("sizeOnDisk")) for row in answer.get("databases", ())]
        largest = sorted(databases, key=lambda row: (-_size(row[1]), row[0]))[:MOST_DATABASES]
        is_cut = len(databases) > MOST_DATABASES
        if is_cut and not self._databases.is_cut:
            log.warning(
                "%s has %d databases: the %d largest are measured, and the sums over all are not reported",
                self.address,
                len(databases),
                MOST_DATABASES,
            )
        self._databases.is_cut, self._databases.size_on_disk = is_cut, answer.get("totalSize")
        names = [name for name, _ in largest]
        self._databases.keep(names)
        return names

    def _sizes(self, name: str, seconds: float) -> Sequence[Sample]:
        taken = datetime.now(timezone.utc)
        answer = self._command(sizes_of(name).command, max(0.1, seconds), name)
        numbers = {
            f"dbStats/{field}": float(answer[field])
            for field in _SIZES
            if isinstance(answer.get(field), (int, float))
        }
        self._databases.sizes[name] = answer
        values, _ = values_of(DATABASE, None, NumbersAt(numbers, None, 0.0))
        return [Sample(metric, number, taken) for metric, number in values.items()]


@dataclass
class _MongoDatabases:
    """The databases of a server and their last sizes."""

    turns: DatabaseTurns = field(default_factory=DatabaseTurns)
    sizes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    path: str | None = None
    path_of: object = None
    size_on_disk: object = None
    is_cut: bool = False
    """Whether there are more databases than are measured."""
    _summed: tuple[int, ...] = ()

    def keep(self, names: Sequence[str]) -> None:
        """Forget the sizes of databases that no longer exist."""
        self.sizes = {name: sizes for name, sizes in self.sizes.items() if name in names}

    def totals(self) -> Mapping[str, float]:
        """The sums over all databases and the disk space, if all were measured and at least one now.

        If only the largest databases are measured, there are no sums.
        """
        marks = tuple(id(sizes) for sizes in self.sizes.values())
        due = self.turns.due
        if not due or self.sizes.keys() != due.keys() or marks == self._summed:
            return {}
        self._summed = marks
        totals: dict[str, float | None] = {}
        if isinstance(self.size_on_disk, (int, float)):
            totals["dbStats/SIZE_ON_DISK"] = float(self.size_on_disk)
        if not self.is_cut:
            for path, name in (("DATA_SIZE", "dataSize"), ("STORAGE_SIZE", "storageSize")):
                known = [sizes.get(name) for sizes in self.sizes.values()]
                numbers = [float(size) for size in known if isinstance(size, (int, float))]
                # A sum without some of the databases would look like the sum of all.
                totals[f"dbStats/{path}"] = sum(numbers) if len(numbers) == len(known) else None
        newest = list(self.sizes.values())[-1]
        used, total = newest.get("fsUsedSize"), newest.get("fsTotalSize")
        if isinstance(used, (int, float)) and isinstance(total, (int, float)):
            totals.update(space("dbStats", free=float(total - used), used=float(used)))
        return {path: value for path, value in totals.items() if value is not None}


def _data_directory(options: Mapping[str, Any] | None) -> object:
    """The data directory by the options of a server; None if it does not show them."""
    if options is None:
        return None
    is_config = options.get("sharding", {}).get("clusterRole") == "configsvr"
    return options.get("storage", {}).get("dbPath", "/data/configdb" if is_config else "/data/db")


def _size(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _delay(hello: Mapping[str, Any]) -> float:
    """The seconds by which a member is configured to lag behind; before 5.0 under another name."""
    return max(0.0, _size(hello.get("secondaryDelaySecs", hello.get("slaveDelay"))))


def _is_fresh(data: Mapping[str, Any], hello: Mapping[str, Any]) -> bool:
    """Whether the server still collects its own diagnostic data every second; this can be turned off."""
    taken, now = data.get("start"), hello.get("localTime")
    return isinstance(taken, datetime) and isinstance(now, datetime) and now - taken < STALE


def _sections(data: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The parts of `getDiagnosticData`.

    A process that is both shard and router nests them one level deeper.
    """
    sections: dict[str, Mapping[str, Any]] = {}
    for name, part in data.items():
        if isinstance(part, Mapping):
            if name in {"common", "shard", "router"}:
                sections.update(_sections(part))
            else:
                sections.setdefault(name, part)
    return sections


def _text(value: object) -> str | None:
    return printable(value, 50)
