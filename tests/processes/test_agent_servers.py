"""The agent at real MongoDB servers, without a platform: what it measures with which rights."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from automation.agent.addresses import Address
from automation.agent.mongodb.connection import read
from automation.agent.mongodb.host import Answer, Host
from automation.agent.mongodb.metrics import SERVER
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.processes.agent import Agent
from tests.processes.mongod import MONITOR, PASSWORD, Mongod, ReplicaSet, replica_set, standalone
from tests.processes.platform import free_port
from tests.unit.automation.agent.recorded import recording

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

KEYS = {"GROUP_ID": "0123456789abcdef01234567", "PUBLIC_KEY": "ABCDEFGH", "PRIVATE_KEY": "not-a-secret"}
_SLOW = {"DB_DATA_SIZE_TOTAL", "DB_STORAGE_TOTAL"}


@pytest.fixture(scope="module")
def members() -> Iterator[ReplicaSet]:
    """A replica set, and two users with fewer rights than the agent's."""
    with replica_set() as made, made.admin() as client:
        database = client.admin
        status = {"resource": {"cluster": True}, "actions": ["serverStatus"]}
        database.command("createRole", "statusOnly", privileges=[status], roles=[])
        database.command("createUser", "little", pwd="little", roles=["statusOnly"])
        database.command("createUser", "nothing", pwd="nothing", roles=[])
        yield made


def host_of(server: Mongod, user: str = MONITOR, password: str = PASSWORD, **more: Any) -> Host:
    """A host that is asked as this user."""
    access = read(f"mongodb://{server.address}/")
    options: Mapping[str, Any] = {"username": user, "password": password}
    access = type(access)(access.seeds, options)
    return Host(Address("127.0.0.1", server.port), access, str, **more)


def measured(host: Host) -> Answer:
    """Its answer once there is a pair of polls: the server takes its numbers each second."""

    def has_rates() -> Answer | None:
        answer = host.poll()
        return answer if host.missing.get("NETWORK_NUM_REQUESTS") is Why.REPORTED else None

    answer = eventually(has_rates, message="rates")
    assert answer is not None
    return answer


def assert_absent(host: Host, kind: str) -> None:
    """It has what its recording has, once the server took all of its numbers for the first time."""
    _, recorded = recording(kind).values()
    absent = {metric for metric, why in recorded.items() if why is Why.ABSENT} - _SLOW

    def as_recorded() -> bool:
        measured(host)
        return {metric for metric, why in host.missing.items() if why is Why.ABSENT} == absent

    eventually(as_recorded, message=f"{kind} as it was recorded")


@pytest.mark.parametrize("kind", ["primary", "hidden"])
def test_a_member_has_what_its_recording_has(members: ReplicaSet, kind: str) -> None:
    host = host_of(members.primary() if kind == "primary" else members.hidden)
    assert_absent(host, kind)
    assert Why.REFUSED not in host.missing.values()
    host.close()


def test_a_server_without_a_set_has_what_its_recording_has() -> None:
    with standalone() as server:
        host = Host(Address("127.0.0.1", server.port), read(f"mongodb://{server.address}"), str)
        assert_absent(host, "standalone")

        server.signal(signal.SIGKILL)
        assert host.poll().hello is None
        server.start()
        eventually(lambda: host.poll().hello)
        host.close()


def test_an_arbiter_answers_without_credentials(members: ReplicaSet) -> None:
    for is_arbiter in (True, False):
        host = host_of(members.arbiter, is_arbiter=is_arbiter)
        answer = host.poll()
        assert answer.hello is not None
        assert answer.hello["arbiterOnly"]
        assert (answer.samples, answer.problem) == ((), "")
        host.close()


@pytest.mark.parametrize(("user", "password"), [("nobody", "x"), (MONITOR, "a-wrong-password")])
def test_a_server_that_refuses_the_credentials_is_reachable(
    members: ReplicaSet, user: str, password: str
) -> None:
    host = host_of(members.hidden, user, password)
    answer = host.poll()
    assert answer.hello is not None
    assert answer.hello["secondary"]
    assert set(host.missing.values()) == {Why.REFUSED}
    assert "Authentication failed" in answer.problem
    host.close()


def test_a_user_without_roles_is_told_which_metrics_are_refused(members: ReplicaSet) -> None:
    host = host_of(members.hidden, "nothing", "nothing")
    answer = host.poll()
    assert answer.hello is not None
    assert {row.metric for row in SERVER} == {
        metric for metric, why in host.missing.items() if why is not Why.REPORTED
    }
    assert host.missing["CONNECTIONS"] is Why.REFUSED
    assert host.missing["SYSTEM_CPU_USER"] is Why.REFUSED
    assert "serverStatus" in answer.problem
    host.close()


def test_without_the_diagnostic_data_commands_of_their_own_are_asked(members: ReplicaSet) -> None:
    host = host_of(members.hidden, "little", "little")
    answer = measured(host)
    assert answer.version == "6.0.5"
    assert host.missing["CONNECTIONS"] is Why.REPORTED
    assert host.missing["OPLOG_MASTER_TIME"] is Why.REPORTED
    assert host.missing["OPLOG_SLAVE_LAG_MASTER_TIME"] is Why.REFUSED
    assert host.missing["SYSTEM_CPU_USER"] is Why.REFUSED
    assert host.missing["DB_DATA_SIZE_TOTAL"] is Why.REFUSED
    host.close()


def test_once_spools_what_it_cannot_send_and_says_so(tmp_path: Path, members: ReplicaSet) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    agent = Agent(tmp_path, URL=url, MONGODB=members.seed, **KEYS)
    agent.start()
    eventually(lambda: agent.spool.exists() and list(agent.spool.glob("*.json")))
    assert agent.stop(signal.SIGINT) == 0
    (line, *_) = agent.rounds()
    assert "hosts=4 reachable=4" in line
    assert "does not answer" in agent.log
    assert PASSWORD not in agent.log
