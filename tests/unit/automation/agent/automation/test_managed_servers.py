"""How the agent logs in to the servers that it manages."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure

from automation.agent.automation.servers import ManagedServer, ManagedServers
from automation.agent.engine import ServerAddress
from automation.agent.mongodb.connection import MongoAccess
from tests.each import each

ADDRESS = ServerAddress("127.0.0.1", 27017)
KEY = "a2V5IG9uZQ=="

Accesses = list[tuple[str | None, str]]
"""The users of commands, with the names of the commands."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Accesses]:
    """Let servers answer by their kinds: an open one, one with this key, or one that is away."""

    def answering(kind: str) -> Accesses:
        accesses: Accesses = []

        def ask(
            _: ManagedServer, access: MongoAccess, command: Mapping[str, Any], *__: object
        ) -> Mapping[str, Any]:
            user = access.options.get("username")
            accesses.append((user, next(iter(command))))
            if kind == "away":
                raise AutoReconnect("away")
            if kind == "open" and user == "__system":
                raise OperationFailure("no such user", 18)
            if kind == "secured" and user is None:
                raise OperationFailure("not authorized", 13)
            return {"ok": 1}

        monkeypatch.setattr(ManagedServer, "_ask", ask)
        return accesses

    return answering


def test_the_agent_logs_in_as_a_member_with_the_key(asked: Callable[..., Accesses]) -> None:
    accesses = asked("secured")
    server = ManagedServers(()).server(ADDRESS, KEY)
    server.ask({"ping": 1})
    assert accesses == [("__system", "ping")]
    assert (server.refuses_key, len(accesses)) == (False, 1)


def test_a_server_without_a_key_file_is_asked_without_credentials(asked: Callable[..., Accesses]) -> None:
    servers = ManagedServers(())
    accesses = asked("open")
    servers.server(ADDRESS, KEY).ask({"ping": 1})
    servers.server(ADDRESS, KEY).ask({"hello": 1})
    assert accesses == [("__system", "ping"), (None, "ping"), (None, "hello")]
    assert servers.server(ADDRESS, KEY).refuses_key
    with pytest.raises(OperationFailure):
        servers.server(ADDRESS, KEY).ask_proven({"createUser": "app"})
    # After its restart with the key file, it asks for credentials.
    accesses = asked("secured")
    servers.server(ADDRESS, KEY).ask({"ping": 1})
    servers.server(ADDRESS, KEY).ask({"hello": 1})
    assert accesses == [(None, "ping"), ("__system", "ping"), ("__system", "hello")]


def test_a_server_that_has_another_key_and_asks_for_credentials_refuses_questions(
    asked: Callable[..., Accesses], monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_: ManagedServer, access: MongoAccess, *__: object) -> Mapping[str, Any]:
        raise OperationFailure("refused", 18 if "username" in access.options else 13)

    monkeypatch.setattr(ManagedServer, "_ask", ask)
    server = ManagedServers(()).server(ADDRESS, KEY)
    assert server.answer({"ping": 1}) == (None, 13)
    assert server.refuses_key


def test_a_server_that_is_away_does_not_refuse_the_key(asked: Callable[..., Accesses]) -> None:
    asked("away")
    server = ManagedServers(()).server(ADDRESS, KEY)
    assert (server.answer({"ping": 1}), server.refuses_key) == ((None, 0), False)


@each(
    ("text", "user"),
    [
        (f"mongodb://ada:secret@{ADDRESS}/", "ada"),
        (f"mongodb://{ADDRESS}/", "__system"),
        ("mongodb://ada:secret@127.0.0.2:27017/", "__system"),
    ],
)
def test_a_connection_string_with_a_user_counts_first(text: str, user: str) -> None:
    accesses: Accesses = []

    def ask(_: ManagedServer, access: MongoAccess, *__: object) -> Mapping[str, Any]:
        accesses.append((access.options.get("username"), ""))
        return {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ManagedServer, "_ask", ask)
        server = ManagedServers([text]).server(ADDRESS, KEY)
        server.ask({"ping": 1})
        server.ask_proven({"createUser": 1})
    assert [name for name, _ in accesses] == [user, user]


OTHER = ServerAddress("127.0.0.2", 27018)


@each(
    ("text", "key", "user"),
    [
        (f"mongodb://ada:secret@{ADDRESS}/", "", "ada"),
        (f"mongodb://ada:secret@{ADDRESS}/", KEY, "ada"),
        (f"mongodb://ada:secret@{ADDRESS}/?authMechanism=PLAIN&authSource=$external&tls=true", "", None),
        (f"mongodb://ada:secret@{ADDRESS}/ mongodb://eve:secret@{OTHER}/", "", "eve"),
        (f"mongodb://{ADDRESS}/", KEY, "__system"),
        (f"mongodb://{ADDRESS}/", "", None),
    ],
)
def test_another_member_is_asked_as_the_own_server_unless_it_would_get_a_password(
    asked: Callable[..., Accesses], text: str, key: str, user: str | None
) -> None:
    accesses = asked("any")
    ManagedServers(text.split()).member(ADDRESS, key, OTHER).ask({"ping": 1})
    assert accesses == [(user, "ping")]


def test_the_key_is_in_no_text_of_the_access() -> None:
    assert KEY not in repr(ManagedServers(()).server(ADDRESS, KEY).__dict__)
