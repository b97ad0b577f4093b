"""`--check` of MongoDB servers: each server of a connection string, and the members that they name."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator

from pymongo.errors import OperationFailure, PyMongoError

from automation.agent.engine import CheckStep, ServerAddress, connection_steps
from automation.agent.faults import shown
from automation.agent.mongodb.connection import (
    ANSWER_SECONDS,
    NOT_FOUND,
    REFUSALS,
    STATUS,
    Command,
    Document,
    MongoAccess,
    MongoSession,
    all_of,
    ask_hello,
    reason_of,
)
from automation.agent.mongodb.connection import (
    read as read_connection_string,
)
from automation.agent.mongodb.host import MongoHost
from automation.agent.mongodb.machine import IN_PROC
from automation.agent.mongodb.topology import NAMES_ALLOWED, NamedServers, members_of_set
from automation.agent.settings import PREFIX

MOST_SERVERS = 100
"""Maximum number of servers to try per connection string; a replica set has at most 50 members."""

_GRANT = 'db.getSiblingDB("admin").grantRolesToUser(USER, ["clusterMonitor"])'


def mongodb_steps(connection_strings: Iterable[str]) -> Iterator[CheckStep]:
    for number, text in enumerate(connection_strings, 1):
        try:
            access = read_connection_string(text)
        except ValueError as error:
            yield CheckStep(f"{PREFIX}MONGODB: connection string {number}", str(error))
            continue
        yield from _Deployment(text, access).steps()


class _Deployment:
    """The servers of a connection string."""

    def __init__(self, text: str, access: MongoAccess) -> None:
        self._text, self._access = text, access
        options = {name.lower(): value for name, value in access.options.items()}
        self._is_tls = bool(options.get("tls"))
        self._has_user = "username" in options or "authmechanism" in options

    def steps(self) -> Iterator[CheckStep]:
        """Try the seeds, then the members of their replica sets, hidden members too, each once."""
        seen: list[ServerAddress] = []
        waiting = list(self._access.seeds)
        while waiting and len(seen) < MOST_SERVERS:
            address = waiting.pop(0)
            if address in seen:
                continue
            seen.append(address)
            named = yield from self._server(address)
            waiting += [member.address for member in named.members]

    def _server(self, address: ServerAddress) -> Generator[CheckStep, None, NamedServers]:
        """Try a server. Returns the servers it names."""
        what = f"mongodb {address}"
        if not (yield from connection_steps(what, *address)):
            return NamedServers()
        hello = yield from self._hello(what, address)
        status = None
        if hello.get("arbiterOnly"):
            yield CheckStep(f"{what}: arbiter, no more checks")
        elif hello:
            status = yield from self._asked(what, address, hello)
        if hello:
            yield from self._polled(what, address, is_arbiter=bool(hello.get("arbiterOnly")))
        named = members_of_set(hello, status, None)
        if named.has_other_names:
            names = "members have other names for clients (split horizons)"
            yield CheckStep(f"{what}: {names}, so hidden members are not found")
        for text in named.unreadable:
            yield CheckStep(f"{what}: member {shown(text)}", f"is not reported: {NAMES_ALLOWED}")
        return named

    def _polled(self, what: str, address: ServerAddress, *, is_arbiter: bool) -> Iterator[CheckStep]:
        """Poll the server as a round does: what is known of its machine and of its certificate."""
        with contextlib.closing(
            MongoHost(address, self._access, self._explain, is_arbiter=is_arbiter)
        ) as host:
            answer = host.poll()
        if not answer.is_measured:  # Another step says why.
            return
        yield CheckStep(f"{what}: {IN_PROC} {host.machine.note}")
        if host.certificate.problem:
            yield CheckStep(f"{what}: the end of its certificate", host.certificate.problem)

    def _hello(self, what: str, address: ServerAddress) -> Generator[CheckStep, None, Document]:
        """Connect without credentials, so that a connection problem does not look like a log-in problem."""
        tried = f"{what}: TLS and hello" if self._is_tls else f"{what}: hello, without TLS"
        try:
            session = self._access.session(address, with_credentials=False)
            with contextlib.closing(session):
                hello = ask_hello(session.command)
        except (PyMongoError, OSError, ValueError) as error:
            yield CheckStep(tried, f"{self._explain(error)}: {self._todo(error)}")
            return {}
        yield CheckStep(tried)
        return hello

    def _todo(self, error: Exception) -> str:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            if "mismatch" in str(error):
                return (
                    "use the server name of the certificate, or give the server a certificate for this name"
                )
            return "set tlsCAFile in the connection string to the certificate file of the CA"
        if self._is_tls:
            return "check that the server accepts TLS, and check the tls options of the connection string"
        return "check that a MongoDB server listens on this port; if it requires TLS, add tls=true"

    def _asked(
        self, what: str, address: ServerAddress, hello: Document
    ) -> Generator[CheckStep, None, Document | None]:
        """Log in, and check the permission for each command. Returns the status of the replica set."""
        try:
            session = self._access.session(address, with_credentials=True)
        except (PyMongoError, OSError, ValueError) as error:
            yield CheckStep(f"{what}: log-in", f"{self._explain(error)}: check the connection string")
            return None
        with contextlib.closing(session):
            log_in = self._log_in(what, session)
            yield log_in
            if log_in.fault:
                return None
            for command in all_of(hello):
                yield self._command(what, session, command)
            if not hello.get("setName"):
                return None
            with contextlib.suppress(PyMongoError):
                return session.command(STATUS.command, ANSWER_SECONDS)
        return None

    def _log_in(self, what: str, session: MongoSession) -> CheckStep:
        if not self._has_user:
            return CheckStep(f"{what}: no log-in, because the connection string has no user")
        tried = f"{what}: log-in"
        try:
            session.command({"ping": 1}, ANSWER_SECONDS)
        except OperationFailure as error:
            todo = "check the user, the password (percent-encoded) and authSource in the connection string"
            return CheckStep(tried, f"{self._explain(error)}: {todo}")
        except PyMongoError as error:
            return CheckStep(tried, f"{self._explain(error)}: try again")
        return CheckStep(tried)

    def _command(self, what: str, session: MongoSession, asked: Command) -> CheckStep:
        tried = f"{what}: {next(iter(asked.command))}"
        try:
            session.command(asked.command, ANSWER_SECONDS, asked.database)
        except OperationFailure as error:
            if error.code == NOT_FOUND:
                return CheckStep(f"{tried} is not supported by this server, skipped")
            todo = (
                _GRANT
                if self._has_user
                else ("add a user with the role clusterMonitor to the connection string")
            )
            refused = error.code in REFUSALS
            return CheckStep(tried, f"{self._explain(error)}{f': {todo}' if refused else ''}")
        except PyMongoError as error:
            return CheckStep(tried, f"{self._explain(error)}: try again")
        return CheckStep(tried)

    def _explain(self, error: Exception) -> str:
        return reason_of(error, self._text)
