"""Checks of `--check` for PostgreSQL: polls each server of a connection URI like a round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

from automation.agent.engine import CheckStep, connection_steps
from automation.agent.postgresql.connection import PostgresAccess, read
from automation.agent.postgresql.host import ROLE, PostgresHost
from automation.agent.settings import PREFIX

_OF_POOLER = "unsupported startup parameter"
"""The refusal of pgbouncer, which has the same text in every language."""


def postgresql_steps(uris: Iterable[str], hostname: str = "localhost") -> Iterator[CheckStep]:
    """`hostname` is the name of servers that are reached through a Unix socket."""
    for number, text in enumerate(uris, 1):
        try:
            accesses = read(text, hostname)
        except ValueError as error:
            yield CheckStep(f"{PREFIX}POSTGRESQL: connection URI {number}", str(error))
            continue
        for access in accesses:
            yield from _server(access)


def _server(access: PostgresAccess) -> Iterator[CheckStep]:
    what = f"postgresql {access.address}"
    place = access.parameters.get("hostaddr") or access.address.hostname
    if access.socket_path:
        step = _socket_step(what, access)
        yield step
        if step.fault:
            return
    elif not (yield from connection_steps(what, str(place), access.address.port)):
        return
    with closing(PostgresHost(access)) as host:
        answer = host.poll()
    hello = answer.hello
    if hello is None:
        yield CheckStep(f"{what}: log-in", f"{answer.problem}: {_todo(answer.problem)}")
        return
    kind = "a standby" if hello.in_recovery else "no standby"
    yield CheckStep(f"{what}: log-in, is {kind} of version {hello.version}")
    todo = "" if hello.sees_others else f": GRANT {ROLE} TO {access.parameters.get('user', 'USER')}"
    yield CheckStep(f"{what}: statements", f"{answer.problem}{todo}" if answer.problem else "")
    yield CheckStep(f"{what}: the machine {host.machine.note}")


def _socket_step(what: str, access: PostgresAccess) -> CheckStep:
    tried, error = f"{what}: socket {access.socket_path}", access.socket_fault()
    if error is None:
        return CheckStep(tried)
    todo = (
        "let the user of the agent into the directory, or into the group that unix_socket_group names"
        if isinstance(error, PermissionError)
        else "check that the server runs, its port and its unix_socket_directories; a service with PrivateTmp"
        " does not see the sockets in /tmp"
    )
    return CheckStep(tried, f"cannot be opened ({error.strerror or error}): {todo}")


def _todo(problem: str) -> str:
    """What to do about a refused login; pgbouncer is known by its refusal of a parameter."""
    if _OF_POOLER in problem:
        return (
            "this is pgbouncer, not PostgreSQL: write the host and port of the PostgreSQL server itself into"
            " the URI, because a pool has no state of its own and leads to any server"
        )
    return "check the user, password (percent-encoded), database and sslmode in the URI, and pg_hba.conf"
