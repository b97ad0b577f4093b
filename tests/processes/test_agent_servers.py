"""The agent at real MongoDB servers, without a platform: what it measures with which rights."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from automation.agent.engine import ServerAddress
from automation.agent.machine.reader import LocalMachine
from automation.agent.mongodb.check import mongodb_steps
from automation.agent.mongodb.connection import read
from automation.agent.mongodb.host import MongoHost
from automation.agent.mongodb.metrics import METRICS
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.processes.agent import RunningAgent, running
from tests.processes.mongod import MONITOR, PASSWORD, VERSION, RunningReplicaSet, replica_set, standalone
from tests.processes.platform import free_port
from tests.processes.watched import ELSEWHERE, assert_as_recorded, host_of, measured

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

PRIVATE_KEY = "private-key-of-the-agent"
KEYS = {"GROUP_ID": "0123456789abcdef01234567", "PUBLIC_KEY": "ABCDEFGH", "PRIVATE_KEY": PRIVATE_KEY}
WRONG = "1/password$of-nobody"
SECRETS = [
    PRIVATE_KEY,
    *(form for secret in (PASSWORD, WRONG) for form in (secret, quote(secret, safe=""))),
    WRONG[2:],
]


@pytest.fixture(scope="module")
def members() -> Iterator[RunningReplicaSet]:
    """A replica set, and two users with fewer rights than the agent's."""
    with replica_set() as made, made.admin() as client:
        database = client.admin
        status = {"resource": {"cluster": True}, "actions": ["serverStatus"]}
        database.command("createRole", "statusOnly", privileges=[status], roles=[])
        database.command("createUser", "little", pwd="little", roles=["statusOnly"])
        database.command("createUser", "nothing", pwd="nothing", roles=[])
        for name in ("little", "nothing"):
            made.wait_for_user(name, name)
        yield made


def assert_no_secret(*texts: str) -> None:
    """Nothing in them is secret."""
    assert [secret for secret in SECRETS for text in texts if secret in text] == []


@pytest.mark.parametrize("kind", ["primary", "hidden"])
def test_a_member_has_what_its_recording_has(members: RunningReplicaSet, kind: str) -> None:
    host = host_of(members.primary() if kind == "primary" else members.hidden)
    assert_as_recorded(host, kind)
    assert Why.REFUSED not in host.missing.values()
    host.close()


def test_a_server_without_a_set_has_what_its_recording_has() -> None:
    with standalone() as server:
        address = ServerAddress("127.0.0.1", server.port)
        host = MongoHost(address, read(f"mongodb://{server.address}"), str, machine=ELSEWHERE)
        assert_as_recorded(host, "standalone")

        server.signal(signal.SIGKILL)
        assert host.poll().hello is None
        server.start()
        eventually(lambda: host.poll().hello)
        host.close()


def test_an_arbiter_answers_without_credentials(members: RunningReplicaSet) -> None:
    for is_arbiter in (True, False):
        host = host_of(members.arbiter, is_arbiter=is_arbiter)
        answer = host.poll()
        assert answer.hello is not None
        assert answer.hello["arbiterOnly"]
        assert (answer.samples, answer.problem) == ((), "")
        host.close()


@pytest.mark.parametrize(
    ("kind", "user", "absent"),
    [
        ("hidden", MONITOR, set()),
        ("hidden", "little", {"DISK_PARTITION_SPACE_FREE", "DISK_PARTITION_INODES_PERCENT_USED"}),
        ("arbiter", MONITOR, {"DISK_PARTITION_SPACE_FREE", "DISK_PARTITION_INODES_PERCENT_USED"}),
    ],
)
def test_on_the_machine_of_a_server_proc_gives_what_the_server_does_not(
    members: RunningReplicaSet, kind: str, user: str, absent: set[str]
) -> None:
    server = members.hidden if kind == "hidden" else members.arbiter
    password = PASSWORD if user == MONITOR else user
    wanted = {
        "SYSTEM_MEMORY_USED",
        "SYSTEM_CPU_USER",
        "SYSTEM_LOAD_1",
        "DISK_PARTITION_SPACE_FREE",
        "DISK_PARTITION_INODES_PERCENT_USED",
    }
    with closing(host_of(server, user, password, LocalMachine())) as host:
        found: list[str] = []

        def has_all() -> bool:
            found[:] = [sample.metric for sample in host.poll().samples]
            return wanted & set(found) == wanted - absent

        eventually(has_all, message="the machine is measured")
        assert host.machine.note.startswith("is measured")
        assert len(set(found)) == len(found)
        assert {host.missing[metric] for metric in wanted - absent} == {Why.REPORTED}
        assert host.missing.keys() == METRICS


@pytest.mark.parametrize(("user", "password"), [("nobody", "x"), (MONITOR, "a-wrong-password")])
def test_a_server_that_refuses_the_credentials_is_reachable(
    members: RunningReplicaSet, user: str, password: str
) -> None:
    host = host_of(members.hidden, user, password)
    answer = host.poll()
    assert answer.hello is not None
    assert answer.hello["secondary"]
    assert set(host.missing.values()) == {Why.REFUSED}
    assert "Authentication failed" in answer.problem
    host.close()


def test_check_names_the_metrics_refused_to_a_user_without_roles(members: RunningReplicaSet) -> None:
    host = host_of(members.hidden, "nothing", "nothing")
    answer = host.poll()
    assert answer.hello is not None
    assert {metric for metric, why in host.missing.items() if why is not Why.REPORTED} == METRICS
    assert host.missing["CONNECTIONS"] is Why.REFUSED
    assert host.missing["SYSTEM_CPU_USER"] is Why.REFUSED
    assert "serverStatus" in answer.problem
    host.close()


def test_without_the_diagnostic_data_commands_of_their_own_are_asked(members: RunningReplicaSet) -> None:
    host = host_of(members.hidden, "little", "little")
    answer = measured(host)
    assert answer.version == VERSION
    assert host.missing["CONNECTIONS"] is Why.REPORTED
    assert host.missing["MONGO_FSYNC_LOCKED"] is Why.REPORTED
    assert host.missing["OPLOG_SLAVE_LAG_MASTER_TIME"] is Why.REFUSED
    assert host.missing["SYSTEM_CPU_USER"] is Why.REFUSED
    assert host.missing["DB_DATA_SIZE_TOTAL"] is Why.REFUSED
    host.close()


def test_check_finds_a_user_with_the_monitoring_role_enough_for_a_replica_set(
    members: RunningReplicaSet,
) -> None:
    steps = list(mongodb_steps([members.seed]))
    assert [str(step) for step in steps if step.fault] == []
    assert any("replSetGetStatus" in step.tried for step in steps)
    assert any("arbiter" in step.tried for step in steps)


@pytest.mark.parametrize(
    ("password", "reported"),
    [(PASSWORD, "hosts=4 reachable=4"), (WRONG, "is not measured: Authentication failed")],
)
def test_while_the_platform_is_away_reports_wait_and_no_secret_is_reported(
    tmp_path: Path, members: RunningReplicaSet, password: str, reported: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    uri = f"mongodb://{MONITOR}:{quote(password, safe='')}@{members.hidden.address}/"
    agent = RunningAgent(tmp_path, URL=url, MONGODB=uri, **KEYS)
    agent.start()
    spooled = eventually(lambda: list(agent.spool.glob("*.json")))
    assert agent.process is not None
    command = Path(f"/proc/{agent.process.pid}/cmdline").read_text()
    eventually(
        lambda: reported in agent.log and "the platform does not answer" in agent.log, message=reported
    )
    assert_no_secret(agent.log, command, *(path.read_text() for path in spooled))
    assert agent.stop(signal.SIGINT) == 0


@pytest.mark.parametrize(
    ("password", "reported"),
    [
        (quote(WRONG, safe=""), "Authentication failed"),
        # Not encoded it is read as a port and a database, which the driver quotes in its error.
        (WRONG, "connection string 1: is not a connection string"),
    ],
)
def test_check_reports_what_is_wrong_and_no_secret(
    tmp_path: Path, members: RunningReplicaSet, password: str, reported: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    uri = f"mongodb://{MONITOR}:{password}@{members.hidden.address}/"
    done = RunningAgent(tmp_path, URL=url, MONGODB=uri, **KEYS).run("--check")
    assert (done.returncode, reported in done.stdout) == (1, True)
    assert_no_secret(done.stdout, done.stderr)


def test_a_second_agent_in_its_directory_is_refused(tmp_path: Path) -> None:
    away = f"127.0.0.1:{free_port()}"
    agent = RunningAgent(tmp_path, URL=f"http://{away}", POSTGRESQL=f"postgresql://{away}", **KEYS)
    with running(agent):
        eventually(agent.rounds)
        answer = agent.run("--once")
    assert answer.returncode == 1
    assert "another agent uses" in answer.stderr
