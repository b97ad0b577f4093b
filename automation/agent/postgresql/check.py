"""Checks of `--check` for PostgreSQL: polls each server of a connection URI like a round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

from automation.agent.postgresql.connection import Access, read
from automation.agent.postgresql.host import ROLE, Host
from automation.agent.settings import PREFIX
from automation.agent.steps import Step, reach


def postgresql_steps(uris: Iterable[str]) -> Iterator[Step]:
    """Try the servers of all connection URIs."""
    for number, text in enumerate(uris, 1):
        try:
            found = read(text)
        except ValueError as error:
            yield Step(f"{PREFIX}POSTGRESQL: connection URI {number}", str(error))
            continue
        for access in found:
            yield from _server(access)


def _server(access: Access) -> Iterator[Step]:
    what = f"postgresql {access.address}"
    place = access.parameters.get("hostaddr") or access.address.hostname
    if not (yield from reach(what, str(place), access.address.port)):
        return
    with closing(Host(access)) as host:
        answer = host.poll()
    hello = answer.hello
    if hello is None:
        todo = "check the user, password (percent-encoded), database and sslmode in the URI, and pg_hba.conf"
        yield Step(f"{what}: log-in", f"{answer.problem}: {todo}")
        return
    kind = "a standby" if hello.in_recovery else "no standby"
    yield Step(f"{what}: log-in, is {kind} of version {hello.version}")
    todo = "" if hello.sees_others else f": GRANT {ROLE} TO {access.parameters.get('user', 'USER')}"
    yield Step(f"{what}: statements", f"{answer.problem}{todo}" if answer.problem else "")
