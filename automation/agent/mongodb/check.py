"""Checks of `--check` for MongoDB: each server of a connection string, and the members they name."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator

from pymongo.errors import OperationFailure, PyMongoError

from automation.agent.engine import CheckStep, ServerAddress, connection_steps
from automation.agent.mongodb.connection import (
    ANSWER_SECONDS,
    NOT_FOUND,
    REFUSALS,
    Command,
    Document,
    MongoAccess,
    MongoSession,
    all_of,
    ask_hello,
    read,
    without_secrets,
)
from automation.agent.mongodb.topology import members_of_set
from automation.agent.settings import PREFIX

MOST_SERVERS = 100
"""Maximum number of servers to try per connection string; a replica set has at most 50 members."""

_GRANT = 'db.getSiblingDB("admin").grantRolesToUser(USER, ["clusterMonitor"])'


def mongodb_steps(connection_strings: Iterable[str]) -> Iterator[CheckStep]:
    for number, text in enumerate(connection_strings, 1):
        try:
            access = read(text)
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
        """Try the seeds, then the members of their replica sets, each once."""
        seen: list[ServerAddress] = []
        waiting = list(self._access.seeds)
        while waiting and len(seen) < MOST_SERVERS:
            address = waiting.pop(0)
            if address in seen:
                continue
            seen.append(address)
            hello = yield from self._server(address)
            waiting += [member.address for member in members_of_set(hello, None, None).members]

    def _server(self, address: ServerAddress) -> Generator[CheckStep, None, Document]:
        """Try a server. Returns its answer to `hello`, empty if there is none."""
        what = f"mongodb {address}"
        if not (yield from connection_steps(what, *address)):
            return {}
        hello = yield from self._hello(what, address)
        if hello.get("arbiterOnly"):
            yield CheckStep(f"{what}: arbiter, no more checks")
        elif hello:
            yield from self._asked(what, address, hello)
        return hello

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

    def _asked(self, what: str, address: ServerAddress, hello: Document) -> Iterator[CheckStep]:
        """Log in, and check the permission for each command."""
        try:
            session = self._access.session(address, with_credentials=True)
        except (PyMongoError, OSError, ValueError) as error:
            yield CheckStep(f"{what}: log-in", f"{self._explain(error)}: check the connection string")
            return
        with contextlib.closing(session):
            log_in = self._log_in(what, session)
            yield log_in
            if not log_in.fault:
                for command in all_of(hello):
                    yield self._command(what, session, command)

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
        """The first part of an error, without secrets: pymongo adds time-outs and the topology."""
        text = without_secrets(str(error), self._text) or type(error).__name__
        for rest in (", full error: ", ", Timeout: ", " (configured timeouts: "):
            text = text.partition(rest)[0]
        return text
