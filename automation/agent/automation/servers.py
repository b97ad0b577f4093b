"""Questions and commands to a server of this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from bson.errors import InvalidBSON
from pymongo.errors import OperationFailure, PyMongoError

from automation.agent.engine import ServerAddress
from automation.agent.mongodb.connection import MongoAccess, SettingsFault, ask_hello, read

NO_COMMAND, NO_REPLICATION, NO_VALID_CONFIG, NOT_INITIATED, UNKNOWN_YET = 59, 76, 93, 94, 258
"""Error codes: CommandNotFound, NoReplicationEnabled, InvalidReplicaSetConfig, NotYetInitialized, and for a
new member UnknownFeatureCompatibilityVersion."""
NO_COLLECTION = 26
"""Error code: NamespaceNotFound."""
COMMAND_SECONDS = 10.0

NOT_ANSWERED = (PyMongoError, InvalidBSON, SettingsFault, OSError)
"""The errors of a conversation."""


class ManagedServers:
    """The access to managed servers: as connection strings of the settings say, or without credentials."""

    def __init__(self, connection_strings: Sequence[str]) -> None:
        self._accesses: dict[ServerAddress, MongoAccess] = {}
        for text in connection_strings:
            if not text.startswith("mongodb+srv://"):
                with suppress(ValueError):  # The engine reports it.
                    access = read(text)
                    self._accesses.update(dict.fromkeys(access.seeds, access))

    def is_watched(self, address: ServerAddress) -> bool:
        """Whether a connection string names the server."""
        return address in self._accesses

    def server(self, address: ServerAddress) -> ManagedServer:
        """The server at this address."""
        return ManagedServer(self._accesses.get(address) or MongoAccess((address,), {}), address)


class ManagedServer:
    """A server. Each question opens a connection of its own."""

    def __init__(self, access: MongoAccess, address: ServerAddress) -> None:
        self._access, self._address = access, address

    def ask(
        self, command: Mapping[str, Any], *, seconds: float = COMMAND_SECONDS, database: str = "admin"
    ) -> Mapping[str, Any]:
        """The answer of a database. Raises: errors of NOT_ANSWERED."""
        with closing(self._access.session(self._address, with_credentials=True)) as session:
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


def plain(document: Mapping[str, Any]) -> dict[str, Any]:
    """The whole document as dictionaries and lists. Raises: InvalidBSON."""
    return {name: _plain(document[name]) for name in document}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain(value)
    return [_plain(element) for element in value] if isinstance(value, list) else value
