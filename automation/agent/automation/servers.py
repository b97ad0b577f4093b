"""Questions and commands to a server of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from bson.errors import InvalidBSON
from pymongo.errors import OperationFailure, PyMongoError

from automation.agent.engine import ServerAddress
from automation.agent.mongodb.connection import MongoAccess, SettingsFault, ask_hello, read

UNAUTHORIZED, NO_LOG_IN = 13, 18
"""Error codes: Unauthorized, AuthenticationFailed."""
NO_COMMAND, NO_REPLICATION, NO_VALID_CONFIG, NOT_INITIATED, UNKNOWN_YET = 59, 76, 93, 94, 258
"""Error codes: CommandNotFound, NoReplicationEnabled, InvalidReplicaSetConfig, NotYetInitialized, and for a
new member UnknownFeatureCompatibilityVersion."""
NO_COLLECTION = 26
"""Error code: NamespaceNotFound."""
COMMAND_SECONDS = 10.0

_SENDS_NO_SECRET = frozenset({"DEFAULT", "SCRAM-SHA-1", "SCRAM-SHA-256", "MONGODB-X509"})
"""Mechanisms of authentication by which a server does not learn a secret."""

NOT_ANSWERED = (PyMongoError, InvalidBSON, SettingsFault, OSError)
"""The errors of a conversation."""


class ManagedServers:
    """The access to managed servers.

    A connection string of the settings with a user counts first. Otherwise the agent logs in with the key of
    the document, as members of a replica set do, or without credentials to a server that refuses the key.
    """

    def __init__(self, connection_strings: Sequence[str]) -> None:
        self._accesses: dict[ServerAddress, MongoAccess] = {}
        for text in connection_strings:
            if not text.startswith("mongodb+srv://"):
                with suppress(ValueError):  # The engine reports it.
                    access = read(text)
                    self._accesses.update(dict.fromkeys(access.seeds, access))
        self._by_key: dict[ServerAddress, tuple[str, MongoAccess]] = {}
        self._open: set[ServerAddress] = set()
        """The servers that refused the key, and answered without credentials."""

    def is_watched(self, address: ServerAddress) -> bool:
        """Whether a connection string names the server."""
        return address in self._accesses

    def server(self, address: ServerAddress, key: str = "") -> ManagedServer:
        """The server at this address. `key`: of its key file; empty if the document states none."""
        return self._of(address, self._accesses.get(address) or MongoAccess((address,), {}), key)

    def _of(self, address: ServerAddress, stated: MongoAccess, key: str) -> ManagedServer:
        if not key:
            return ManagedServer(stated, address)
        return ManagedServer(stated, address, self._with_key(address, stated, key), self._open)

    def member(self, address: ServerAddress, key: str, other: ServerAddress) -> ManagedServer:
        """Another member of the replica set of the server at this address.

        Without a connection string of its own, it is asked as this server is. An access that sends a secret
        is used without its user: only servers of the settings get secrets.
        """
        if other in self._accesses or address not in self._accesses:
            return self.server(other, key)
        options = self._accesses[address].options
        if options.get("authMechanism", "DEFAULT") not in _SENDS_NO_SECRET:
            options = _without_user(options)
        return self._of(other, MongoAccess((other,), options), key)

    def _with_key(self, address: ServerAddress, stated: MongoAccess, key: str) -> MongoAccess:
        known, access = self._by_key.get(address, ("", stated))
        if known != key:
            # Members log in as this user. SCRAM proves that both sides have the key, and does not send it.
            member = {"username": "__system", "password": key, "authSource": "local"}
            options = {**_without_user(stated.options), **member, "authMechanism": "SCRAM-SHA-256"}
            access = MongoAccess((address,), options)
            self._by_key[address] = key, access
            self._open.discard(address)
        return access


class ManagedServer:
    """A server. Each question opens a connection of its own."""

    def __init__(
        self,
        access: MongoAccess,
        address: ServerAddress,
        by_key: MongoAccess | None = None,
        refusing: set[ServerAddress] | None = None,
    ) -> None:
        """`by_key`: the access with the key of the document. `refusing`: servers that refuse their keys."""
        self._access, self._address = access, address
        self._by_key, self._refusing = by_key, set() if refusing is None else refusing
        self._has_proven = False

    def ask(
        self, command: Mapping[str, Any], *, seconds: float = COMMAND_SECONDS, database: str = "admin"
    ) -> Mapping[str, Any]:
        """The answer of a database. Raises: errors of NOT_ANSWERED."""
        if self._by_key is None or self._has_user:
            return self._ask(self._access, command, seconds, database)
        if self._address in self._refusing:
            try:
                return self._ask(self._access, command, seconds, database)
            except OperationFailure as error:
                if error.code != UNAUTHORIZED:
                    raise
            self._refusing.discard(self._address)  # It asks for credentials since its restart.
        try:
            answer = self._ask(self._by_key, command, seconds, database)
        except OperationFailure as error:
            if error.code != NO_LOG_IN:
                raise
        else:
            self._has_proven = True
            return answer
        answer = self._ask(self._access, command, seconds, database)
        self._refusing.add(self._address)
        return answer

    def ask_proven(
        self, command: Mapping[str, Any], *, seconds: float = COMMAND_SECONDS, database: str = "admin"
    ) -> Mapping[str, Any]:
        """As `ask`, of a server that has proven that it knows the credentials: the command has secrets."""
        access = self._access if self._has_user or self._by_key is None else self._by_key
        return self._ask(access, command, seconds, database)

    @property
    def refuses_key(self) -> bool:
        """Whether the server answers, and does not have the key of the document."""
        if self._by_key is None or self._has_proven:
            return False
        try:
            self._ask(self._by_key, {"ping": 1}, COMMAND_SECONDS, "admin")
        except OperationFailure as error:
            return error.code == NO_LOG_IN
        except NOT_ANSWERED:
            return False
        return False

    @property
    def _has_user(self) -> bool:
        return "username" in self._access.options

    def _ask(
        self, access: MongoAccess, command: Mapping[str, Any], seconds: float, database: str
    ) -> Mapping[str, Any]:
        with closing(access.session(self._address, with_credentials=True)) as session:
            return plain(session.command(command, seconds, database))

    def hello(self) -> Mapping[str, Any] | None:
        """Its description of itself, without credentials; None if it does not answer."""
        try:
            with closing(self._access.session(self._address, with_credentials=False)) as session:
                return plain(ask_hello(session.command))
        except NOT_ANSWERED:
            return None

    def answer(
        self, command: Mapping[str, Any], *, database: str = "admin"
    ) -> tuple[Mapping[str, Any] | None, int]:
        """As `ask`; without an answer None, and the code of the error or 0."""
        try:
            return self.ask(command, database=database), 0
        except OperationFailure as error:
            return None, error.code or 0
        except NOT_ANSWERED:
            return None, 0


def _without_user(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options of an access without its user and mechanism."""
    return {
        name: value
        for name, value in options.items()
        if name not in {"username", "password"} and not name.lower().startswith("auth")
    }


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document as dictionaries and lists. Raises: InvalidBSON."""
    return {name: _plain(document[name]) for name in document}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    return [_plain(element) for element in value] if isinstance(value, list) else value
