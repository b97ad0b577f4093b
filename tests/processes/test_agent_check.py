"""What `--check` finds at real servers."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from automation.agent.mongodb.check import mongodb_steps
from automation.agent.postgresql.check import postgresql_steps
from tests.processes.mongod import replica_set
from tests.processes.postgresql import PASSWORD, STRANGER, Server, servers

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def primary() -> Iterator[Server]:
    """A server."""
    with servers(18) as (made, _):
        yield made


def faults(uri: str) -> list[str]:
    """The lines of what fails."""
    return [str(step) for step in postgresql_steps([uri]) if step.fault]


def test_a_role_that_may_measure_is_enough(primary: Server) -> None:
    assert faults(primary.uri()) == []


def test_a_role_without_pg_monitor_is_told(primary: Server) -> None:
    (line,) = faults(primary.uri(STRANGER))
    assert "GRANT pg_monitor" in line


def test_a_wrong_password_is_told_and_not_quoted(primary: Server) -> None:
    (line,) = faults(primary.uri().replace(quote(PASSWORD, safe=""), "wrong-password"))
    assert ": log-in: " in line
    assert "wrong-password" not in line


@pytest.mark.mongod
def test_a_user_with_the_role_for_measuring_is_enough_for_a_replica_set() -> None:
    with replica_set() as members:
        steps = list(mongodb_steps([members.seed]))
    assert [str(step) for step in steps if step.fault] == []
    assert any("replSetGetStatus" in step.tried for step in steps)
    assert any("arbiter" in step.tried for step in steps)
