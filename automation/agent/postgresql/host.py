"""A monitored server: its session, its answers to a poll and its previous measurements."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from math import isfinite
from typing import Callable

import psycopg

from automation.agent.certificates import ServerCertificate
from automation.agent.engine import MOST_DATABASES, DatabaseTurns, Sample
from automation.agent.faults import log_unexpected, printable
from automation.agent.machine.reader import LocalMachine
from automation.agent.postgresql.connection import (
    ANSWER_SECONDS,
    STATEMENT_SECONDS,
    Admission,
    PostgresAccess,
    PostgresSession,
    Row,
    StatementAnswer,
)
from automation.agent.postgresql.machine import PostgresMachine
from automation.agent.postgresql.metrics import (
    CAUGHT_UP,
    CERTIFICATE,
    DEAD_ROWS,
    DEAD_ROWS_QUERY,
    LAG,
    METRICS,
    NEED_VACUUM,
    OF_DATABASES,
    RESET,
    SERVER,
    SIZE,
    SOURCES,
    SUPPORT,
    MetricQuery,
    days_of_support,
)
from automation.agent.rates import Numbers, NumbersAt, Why, values_of

MOST_CONNECTED = 20
"""Number of databases whose dead rows are counted: each takes its own session."""

ROLE = "pg_monitor"

_STARTING = "the server admits no sessions: it starts up, recovers or shuts down"
_WRONG_STATEMENT = ("42", "0A")
"""Classes of errors: a statement that the server does not know or refuses, and a function that it lacks."""
_REFUSED = "42501"

_HELLO = """
SELECT current_setting('server_version') AS version,
       current_setting('server_version_num')::int AS number,
       pg_is_in_recovery() AS in_recovery,
       current_setting('cluster_name', true) AS cluster_name,
       extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8 AS uptime,
       pg_postmaster_start_time()::text AS started,
       pg_has_role('pg_read_all_stats', 'USAGE') AS sees_others,
       extract(epoch FROM current_setting('recovery_min_apply_delay', true)::interval)::float8 AS delay
"""
_IDENTIFIER = "SELECT system_identifier::text AS identifier FROM pg_control_system()"
# A base backup is not a standby, and a logical subscriber has no copy of the server. No standby can continue
# from a lost slot.
_HAS_STANDBYS = """
SELECT EXISTS (SELECT FROM pg_replication_slots
               WHERE slot_type = 'physical' AND NOT temporary AND wal_status IS DISTINCT FROM 'lost')
    OR EXISTS (SELECT FROM pg_stat_replication
               WHERE state IS DISTINCT FROM 'backup'
                 AND pid NOT IN (SELECT active_pid FROM pg_replication_slots
                                 WHERE slot_type = 'logical' AND active_pid IS NOT NULL)) AS has_standbys
"""
# Databases with the most dead rows come first, because dead rows are counted in the first databases only.
_DATABASES = """
SELECT datname AS name, has_database_privilege(oid, 'CONNECT') AS connects
  FROM pg_database LEFT JOIN pg_stat_database USING (datname)
 WHERE NOT datistemplate AND datallowconn
 ORDER BY tup_updated + tup_deleted DESC NULLS LAST, datname LIMIT %s
"""
_SIZE = f'SELECT pg_database_size(%s::name)::float8 AS "{SIZE}"'


@dataclass(frozen=True)
class Hello:
    """The server's description of itself.

    `uptime` is in seconds by its own clock, None if unknown. `delay` is the number of seconds that a standby
    waits before it replays a commit.
    """

    version: str
    number: int
    in_recovery: bool
    cluster_name: str
    uptime: float | None
    started: str
    sees_others: bool
    identifier: str | None = None
    has_standbys: bool = False
    delay: float = 0.0


@dataclass(frozen=True)
class PostgresAnswer:
    """The result of a poll. Without a session, `hello` is None and `problem` says why.

    `reachable` is also True for a server that accepts other sessions and rejects ours, and for a server that
    rejects all sessions while it starts, recovers or shuts down. `measured` is True if any statement gave a
    value; `problem` then is about the others.
    """

    reachable: bool
    hello: Hello | None = None
    samples: Sequence[Sample] = ()
    databases: Mapping[str, Sequence[Sample]] | None = None
    problem: str = ""
    measured: bool = False


class PostgresHost:
    """A server at an address. One thread at a time polls it; any thread can read `missing`."""

    def __init__(
        self,
        access: PostgresAccess,
        sources: Sequence[MetricQuery] = SOURCES,
        clock: Callable[[], float] = time.monotonic,
        machine: LocalMachine | None = None,
    ) -> None:
        """`clock` returns monotonic seconds. `machine` is the agent's machine, read once for all servers."""
        self.address = access.address
        self.machine = PostgresMachine(machine or LocalMachine(), access.address, clock)
        self.missing: Mapping[str, Why] = {}
        self._access, self._sources, self._clock = access, sources, clock
        self._session: PostgresSession | None = None
        # How long the server took for the statements of a poll. If it is slow, the next poll sends each
        # statement alone, because answers to a message can be lost together.
        self._took, self._together = 0.0, True
        self._identifier: str | None = None
        self._absent: dict[str, dict[str, str]] = {}
        self._before: NumbersAt | None = None
        self._caught_up: float | None = None
        self._certificate = ServerCertificate(clock)
        self._databases = _PostgresDatabases()

    def poll(self) -> PostgresAnswer:
        """Poll the server: CONNECT_SECONDS if nothing answers, otherwise ANSWER_SECONDS for each part."""
        self._together, self._took = self._took < STATEMENT_SECONDS, 0.0
        try:
            session, hello = self._hello()
        except psycopg.Error as error:
            admission, problem = self._access.admission(error), self._access.explain(error)
            if admission is Admission.STARTING:
                problem = f"{_STARTING}: {problem}"
            return self._failed(admission is not Admission.NONE, problem)
        except Exception as error:  # noqa: BLE001 - an error in our code is logged and affects no other host
            log_unexpected(self.address, error)
            return self._failed(False, type(error).__name__)
        try:
            return self._measured(session, hello)
        except psycopg.Error as error:
            return self._failed(True, self._access.explain(error), hello)
        except Exception as error:  # noqa: BLE001 - as above
            log_unexpected(self.address, error)
            return self._failed(True, type(error).__name__, hello)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _failed(self, reachable: bool, problem: str, hello: Hello | None = None) -> PostgresAnswer:
        """The answer of a server that was not measured: every metric is missing."""
        self.missing = dict.fromkeys(METRICS, Why.FAILED)
        return PostgresAnswer(reachable=reachable, hello=hello, problem=problem)

    # --- hello ------------------------------------------------------------------------------------

    def _hello(self) -> tuple[PostgresSession, Hello]:
        """A session and the server's description; the stored session may have ended meanwhile.

        Raises: psycopg.Error: no session.
        """
        if self._session is not None:
            try:
                return self._session, self._ask_hello(self._session)
            except psycopg.Error:
                self.close()
        self._identifier, self._absent, self._caught_up = None, {}, None
        self._certificate.forget()
        self._session = self._access.session()
        try:
            return self._session, self._ask_hello(self._session)
        except psycopg.Error:
            self.close()
            raise

    def _ask_hello(self, session: PostgresSession) -> Hello:
        statements = [_HELLO, _HAS_STANDBYS, *([_IDENTIFIER] if self._identifier is None else [])]
        with self._timed():
            answers = list(session.answers(statements, ANSWER_SECONDS, together=self._together))
        if isinstance(answers[0], psycopg.Error):
            raise answers[0]
        # The server may refuse the others.
        standbys, identifier = ({} if isinstance(row, psycopg.Error) else row for row in (*answers, {})[1:3])
        if self._identifier is None:
            self._identifier = identifier.get("identifier")
        return read_hello(answers[0], self._identifier, has_standbys=bool(standbys.get("has_standbys")))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = self._clock()
        try:
            yield
        finally:
            self._took += self._clock() - began

    # --- measurements -----------------------------------------------------------------------------

    def _measured(self, session: PostgresSession, hello: Hello) -> PostgresAnswer:
        taken = datetime.now(timezone.utc)
        reader = _MetricReader(
            self._sources,
            self._absent,
            hello,
            self._access.explain,
            clock=self._clock,
            together=self._together,
        )
        with self._timed():
            numbers = reader.read(session)
        numbers = {**numbers, **self._of_agent(session, hello, reader, taken)}
        now = NumbersAt(self._with_lag(numbers, hello), hello.started, hello.uptime or 0.0)
        values, reasons = values_of(SERVER, _not_reset(self._before, now), now, reader.refused)
        self._before = None if hello.uptime is None else now
        databases, of_machine, lost = self._after_values(session, hello)
        self.missing = {
            **self.machine.missing,
            **{row.metric: reader.reason(row.sources, reasons[row.metric]) for row in SERVER},
            **self._databases.reasons,
        }
        return PostgresAnswer(
            reachable=True,
            hello=hello,
            samples=[*(Sample(metric, number, taken) for metric, number in values.items()), *of_machine],
            databases=databases,
            problem="; ".join([*reader.problems(), *self._databases.problems(), *lost]),
            measured=reader.answered,
        )

    def _after_values(
        self, session: PostgresSession, hello: Hello
    ) -> tuple[Mapping[str, Sequence[Sample]] | None, Sequence[Sample], Sequence[str]]:
        """The samples of the databases and of the machine, and their problems.

        A session that is lost here takes none of the values that were read before.
        """
        of_machine: Sequence[Sample] = ()
        problems: list[str] = []
        try:
            self._take_databases(session, hello)
        except psycopg.Error as error:
            problems.append(f"databases: {self._access.explain(error)}")
        try:
            of_machine = self.machine.samples(session)
        except psycopg.Error as error:
            problems.append(f"machine: {self._access.explain(error)}")
        return self._databases.turns.take_samples(), of_machine, problems

    def _of_agent(
        self, session: PostgresSession, hello: Hello, reader: _MetricReader, now: datetime
    ) -> Numbers:
        """The values that no statement reads."""
        days = {
            CERTIFICATE: self._certificate.days(now, session.certificate),
            SUPPORT: days_of_support(hello.number, now.date()),
        }
        reader.note(CERTIFICATE, self._certificate.problem)
        return {path: float(number) for path, number in days.items() if number is not None}

    def _with_lag(self, numbers: Numbers, hello: Hello) -> Numbers:
        """The numbers, with the lag of a standby without its configured delay.

        A standby is at most as late as the time since it had replayed everything. The time since its last
        commit is longer if its primary was idle.
        """
        lag, now = numbers.get(LAG), self._clock()
        if numbers.get(CAUGHT_UP):
            self._caught_up = now
        if lag is None:
            return numbers
        if self._caught_up is not None:
            lag = min(lag, now - self._caught_up)
        return {**numbers, LAG: max(lag - hello.delay, 0.0)}

    # --- databases --------------------------------------------------------------------------------

    def _take_databases(self, session: PostgresSession, hello: Hello) -> None:
        """Measure the databases that are due, and start no statement that could run into the cut.

        Raises: psycopg.Error: the session is lost; earlier samples are kept.
        """
        known = self._databases
        if not known.turns.are_due(self._clock()):
            return
        with session.within(ANSWER_SECONDS):
            known.turns.take(
                self._clock,
                ANSWER_SECONDS - STATEMENT_SECONDS,
                lambda: known.names_in(session.rows(_DATABASES, MOST_DATABASES)),
                lambda name, _: list(self._database(session, name, hello)),
            )

    def _database(self, session: PostgresSession, name: str, hello: Hello) -> Iterator[Sample]:
        questions: list[tuple[Sequence[str], Callable[[], Row]]] = [
            ((SIZE,), lambda: session.row(_SIZE, name))
        ]
        if not hello.in_recovery and name in self._databases.counted:
            questions.append(((DEAD_ROWS, NEED_VACUUM), lambda: self._dead_rows(session, name)))
        for metric in OF_DATABASES:
            self._databases.notes.pop((metric, name), None)
        for metrics, ask in questions:
            taken = datetime.now(timezone.utc)
            try:
                row = ask()
            except psycopg.Error as error:
                if session.is_lost:
                    raise
                why = Why.REFUSED if error.sqlstate == _REFUSED else Why.FAILED
                self._databases.notes.update(
                    {(metric, name): (why, self._access.explain(error)) for metric in metrics}
                )
            else:
                self._databases.reported.update(metrics)
                yield from (Sample(metric, row[metric], taken) for metric in metrics)

    def _dead_rows(self, session: PostgresSession, name: str) -> Row:
        if session.database == name:
            return session.row(DEAD_ROWS_QUERY)
        other = self._access.session(name)
        try:
            with other.within(ANSWER_SECONDS):
                return other.row(DEAD_ROWS_QUERY)
        finally:
            other.close()


class _MetricReader:
    """Asks for the metrics of a round, and records why numbers are missing."""

    def __init__(
        self,
        sources: Sequence[MetricQuery],
        absent: dict[str, dict[str, str]],
        hello: Hello,
        explain: Callable[[Exception], str],
        *,
        clock: Callable[[], float],
        together: bool,
    ) -> None:
        """`absent` has, by section and column, the SQLSTATE of columns that are not asked again.

        With `together`, all answers of a slow server can be lost (`PostgresSession.answers`).
        """
        applying = [query for query in sources if query.applies(hello.number, in_recovery=hello.in_recovery)]
        self._hidden = {query.section for query in applying if query.of_others and not hello.sees_others}
        self._sources = [query for query in applying if query.section not in self._hidden]
        self._absent, self._explain, self._clock, self._together = absent, explain, clock, together
        self._failed: dict[str, str] = {}
        self.answered = False

    @property
    def refused(self) -> frozenset[str]:
        """The sections that the server refuses."""
        refused = {section for section, columns in self._absent.items() if _REFUSED in columns.values()}
        return frozenset(self._hidden | refused)

    def read(self, session: PostgresSession) -> Numbers:
        """Path → value of everything that was answered within ANSWER_SECONDS."""
        end = self._clock() + ANSWER_SECONDS
        asked = [(source, self._columns(source)) for source in self._sources]
        asked = [(source, columns) for source, columns in asked if columns]
        numbers: dict[str, float] = {}
        wrong: list[tuple[MetricQuery, Mapping[str, str]]] = []
        statements = [source.statement(columns) for source, columns in asked]
        answers = self._answers(session, statements, end)
        for (source, columns), row in zip(asked, answers):
            if not isinstance(row, psycopg.Error):
                self._take(numbers, source, row)
            elif _is_wrong(row):
                wrong.append((source, columns))
            else:
                self._failed[source.section] = self._explain(row)
        for source, columns in wrong:
            self._read_columns(session, source, columns, numbers, end)
        return numbers

    def reason(self, sources: Sequence[str], why: Why) -> Why:
        """Why a metric of these paths is missing. A failed statement does not make it absent."""
        failed = any(path.split("/")[0] in self._failed for path in sources)
        return Why.FAILED if why is Why.ABSENT and failed else why

    def note(self, path: str, problem: str) -> None:
        """Record why a number that no statement reads is missing; an empty text records nothing."""
        if problem:
            self._failed[path.split("/", 1)[0]] = problem

    def problems(self) -> Iterator[str]:
        """The log text about missing metrics."""
        if self.refused:
            yield f"refused without {ROLE}: {', '.join(sorted(self.refused))}"
        for section, problem in self._failed.items():
            yield f"{section}: {problem}"

    def _answers(
        self, session: PostgresSession, statements: Sequence[str], end: float
    ) -> Iterator[StatementAnswer]:
        """An answer to each statement; when the session is lost, its error and then that there is none."""
        answers, seconds = 0, end - self._clock()
        if seconds > 0:  # otherwise the attempt would lose the session
            try:
                for answer in session.answers(statements, seconds, together=self._together):
                    answers += 1
                    yield answer
            except psycopg.Error as error:
                answers += 1
                yield error
        for _ in statements[answers:]:
            yield psycopg.OperationalError(f"no answer within {ANSWER_SECONDS:g} s")

    def _columns(self, source: MetricQuery) -> Mapping[str, str]:
        """The columns to ask for."""
        absent = self._absent.setdefault(source.section, {})
        return {name: text for name, text in source.columns.items() if name not in absent}

    def _take(self, numbers: dict[str, float], source: MetricQuery, row: Row) -> None:
        self.answered = True
        numbers.update(
            {f"{source.section}/{name}": value for name, value in row.items() if value is not None}
        )

    def _read_columns(
        self,
        session: PostgresSession,
        source: MetricQuery,
        columns: Mapping[str, str],
        numbers: dict[str, float],
        end: float,
    ) -> None:
        """Ask for each column alone: the server does not know or refuses one of them."""
        statements = [source.statement({name: expression}) for name, expression in columns.items()]
        for name, row in zip(columns, self._answers(session, statements, end)):
            if not isinstance(row, psycopg.Error):
                self._take(numbers, source, row)
            elif _is_wrong(row):
                self._absent[source.section][name] = row.sqlstate or ""
            else:
                self._failed[source.section] = self._explain(row)


@dataclass
class _PostgresDatabases:
    """The databases of a server, and why some of their metrics are missing."""

    turns: DatabaseTurns = field(default_factory=DatabaseTurns)
    counted: frozenset[str] = frozenset()
    """The databases whose dead rows are counted."""
    reported: set[str] = field(default_factory=set)
    notes: dict[tuple[str, str], tuple[Why, str]] = field(default_factory=dict)

    def names_in(self, rows: Sequence[Row]) -> Sequence[str]:
        """The names in a list of databases; forgets other databases."""
        names = [row["name"] for row in rows]
        self.counted = frozenset([row["name"] for row in rows if row["connects"]][:MOST_CONNECTED])
        self.notes = {key: note for key, note in self.notes.items() if key[1] in names}
        self.reported.clear()
        return names

    @property
    def reasons(self) -> Mapping[str, Why]:
        """A metric counts as reported if any database reported it."""
        noted = {metric: why for (metric, _), (why, _) in self.notes.items()}
        return {
            metric: Why.REPORTED if metric in self.reported else noted.get(metric, Why.ABSENT)
            for metric in OF_DATABASES
        }

    def problems(self) -> Iterator[str]:
        """The log text about databases that are not fully measured."""
        for (metric, name), (_, text) in sorted(self.notes.items()):
            yield f"{metric} of database {name}: {text}"


def read_hello(row: Row, identifier: object, *, has_standbys: bool) -> Hello:
    """The server's description, converted to the types of `Hello`. Raises ValueError: no version."""
    version, number, uptime = printable(row.get("version")), row.get("number"), row.get("uptime")
    if version is None or not isinstance(number, int):
        raise ValueError("the server does not report its version")
    is_time = isinstance(uptime, (int, float)) and isfinite(uptime)
    return Hello(
        version=version.split()[0][:50],
        number=number,
        in_recovery=bool(row.get("in_recovery")),
        cluster_name=printable(row.get("cluster_name")) or "",
        # After a clock was set back, the start time can be in the future.
        uptime=max(0.0, float(uptime)) if uptime is not None and is_time else None,
        started=printable(row.get("started")) or "",
        sees_others=bool(row.get("sees_others")),
        identifier=printable(identifier),
        has_standbys=has_standbys,
        delay=float(row.get("delay") or 0) if row.get("in_recovery") else 0.0,
    )


def _not_reset(before: NumbersAt | None, now: NumbersAt) -> NumbersAt | None:
    """The previous sample, without sections with counters that were reset since."""
    if before is None:
        return None
    marks = (
        {path: value for path, value in sample.numbers.items() if path.endswith(f"/{RESET}")}
        for sample in (before, now)
    )
    earlier, later = marks
    anew = {path.split("/")[0] for path in later if earlier.get(path) != later[path]}
    kept = {path: value for path, value in before.numbers.items() if path.split("/")[0] not in anew}
    return replace(before, numbers=kept)


def _is_wrong(error: psycopg.Error) -> bool:
    """Whether the server does not know or refuses the query, so that repeating it is pointless."""
    return (error.sqlstate or "").startswith(_WRONG_STATEMENT)
