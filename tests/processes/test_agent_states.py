"""Broken states of real MongoDB servers, and what the agent reports of each."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest

from automation.agent.engine import HostReading
from automation.agent.mongodb.engine import MongoDB
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.processes.certificates import Authority
from tests.processes.mongod import (
    HIDDEN,
    MONITOR,
    PASSWORD,
    PRIMARY,
    ROOT,
    ROOT_PASSWORD,
    Mongod,
    RunningReplicaSet,
    replica_set,
    standalone,
)
from tests.processes.platform import free_port

pytestmark = [pytest.mark.processes, pytest.mark.mongod, pytest.mark.slow]

CREDENTIALS = f"{MONITOR}:{quote(PASSWORD, safe='')}"


@dataclass
class WatchedDeployment:
    """An engine of the agent, which polls all its servers when the test asks it to."""

    text: str
    engine: MongoDB = field(init=False)
    found: Mapping[int, HostReading] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = MongoDB([self.text])

    def round(self) -> Mapping[int, HostReading]:
        """The readings of a round, by port."""
        waiting = list(self.engine.targets())
        while waiting:
            host = waiting.pop(0)
            waiting += self.engine.learn(host, host.poll())
        self.found = {reading.address.port: reading for reading in self.engine.readings()}
        return self.found

    def why(self, port: int) -> set[Why]:
        """The states of the metrics of a server."""
        (states,) = [states for address, states in self.engine.why_missing().items() if address.port == port]
        return set(states.values())

    def value(self, port: int, metric: str) -> float | None:
        """The newest value of a metric of the last round."""
        values = [sample.number for sample in self.found[port].samples if sample.metric == metric]
        return values[-1] if values else None

    def close(self) -> None:
        """End the connections."""
        for host in self.engine.targets():
            host.close()
        self.engine.close()


@pytest.fixture
def watching() -> Iterator[Callable[[str], WatchedDeployment]]:
    """Makes watches."""
    with ExitStack() as stack:
        yield lambda text: stack.enter_context(closing(WatchedDeployment(text)))


@pytest.fixture(scope="module")
def members() -> Iterator[RunningReplicaSet]:
    """A primary and a hidden member."""
    with replica_set([PRIMARY, HIDDEN]) as made:
        yield made


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Of the server with TLS."""
    return Authority(tmp_path_factory.mktemp("authority") / "known")


@pytest.fixture(scope="module")
def encrypted(authority: Authority) -> Iterator[Mongod]:
    """A server that accepts only TLS, with a monitoring user."""
    options = ["--auth", "--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates"]
    options += ["--tlsCertificateKeyFile", str(authority.issue("server", "localhost"))]
    options += ["--tlsCAFile", str(authority.file)]
    reached = {"tls": True, "tlsCAFile": str(authority.file), "tlsAllowInvalidHostnames": True}
    with standalone(*options, client_options=reached) as made:
        with made.client() as client:
            client.admin.command("createUser", ROOT, pwd=ROOT_PASSWORD, roles=["root"])
        with made.client(username=ROOT, password=ROOT_PASSWORD) as client:
            client.admin.command("createUser", MONITOR, pwd=PASSWORD, roles=["clusterMonitor"])
        yield made


def assert_not_measured(watch: WatchedDeployment, port: int, reason: str) -> None:
    """The server is reachable and not measured, and the reason is one of these words without noise."""
    reading = watch.found[port]
    assert reading.reachable
    assert reading.problem is not None
    assert reason in reading.problem
    assert not [noise for noise in ("$clusterTime", "full error", PASSWORD) if noise in reading.problem]
    assert reading.samples == ()
    assert not {Why.REPORTED, Why.WAITS} & watch.why(port)


def test_nothing_is_raised_for_a_healthy_set(
    members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    watch = watching(members.seed)
    for _ in range(2):
        found = watch.round()
        assert sorted(found) == sorted(member.port for member in members.members)
        assert all(reading.reachable and reading.problem is None for reading in found.values())
        assert all(Why.FAILED not in watch.why(port) and Why.REFUSED not in watch.why(port) for port in found)


@pytest.mark.parametrize("state", ["dropped", "password"])
def test_a_log_in_that_is_refused_after_it_worked(
    state: str, members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    with members.admin() as client:
        client.admin.command("createUser", "passing", pwd="before", roles=["clusterMonitor"])
        port = members.primary().port
        watch = watching(f"mongodb://passing:before@127.0.0.1:{port}/")
        assert watch.round()[port].problem is None
        assert Why.REPORTED in watch.why(port)
        if state == "password":
            client.admin.command("updateUser", "passing", pwd="after")
            for host in watch.engine.targets():
                host.close()  # The server keeps connections of a user whose password has changed.
            watch.round()
        client.admin.command("dropUser", "passing")
    if state == "dropped":
        watch.round()
        assert_not_measured(watch, port, "clusterMonitor")
        watch.round()
    assert_not_measured(watch, port, "Authentication failed")
    assert watch.found[port].type_name == "REPLICA_PRIMARY"


def test_a_log_in_that_was_always_refused(
    members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    port = members.hidden.port
    watch = watching(f"mongodb://nobody:nothing@127.0.0.1:{port}/")
    watch.round()
    assert_not_measured(watch, port, "Authentication failed")
    assert watch.found[port].type_name == "REPLICA_SECONDARY"


OWN_SETTINGS = {
    "X.509 with a password": ("tls=true&tlsCAFile={ca}&authMechanism=MONGODB-X509", "X509"),
    "a certificate that is no user": (
        "tls=true&tlsCAFile={ca}&authMechanism=MONGODB-X509&tlsCertificateKeyFile={agent}",
        "",
    ),
    "another mechanism": ("tls=true&tlsCAFile={ca}&authMechanism=GSSAPI", ""),
    "another authority": ("tls=true&tlsCAFile={other}", "CERTIFICATE_VERIFY_FAILED"),
    "no authority": ("tls=true", "CERTIFICATE_VERIFY_FAILED"),
    "a file that was removed": ("tls=true&tlsCAFile={gone}", "tlsCAFile"),
    "a file that is no certificate": ("tls=true&tlsCAFile={text}", ""),
    "no TLS": ("", "tls=true"),
    "another user": ("tls=true&tlsCAFile={ca}&authSource=elsewhere", "Authentication failed"),
}
"""Options of the connection string, and a word of the reason."""


@pytest.mark.parametrize("name", OWN_SETTINGS)
def test_settings_of_the_agent_that_do_not_fit_a_healthy_server(
    name: str,
    encrypted: Mongod,
    authority: Authority,
    tmp_path: Path,
    watching: Callable[[str], WatchedDeployment],
) -> None:
    options, reason = OWN_SETTINGS[name]
    gone, text = tmp_path / "gone.pem", tmp_path / "text.pem"
    for file in (gone, text):
        file.write_bytes(authority.file.read_bytes())
    files = {
        "ca": authority.file,
        "other": Authority(tmp_path / "other", "Another authority").file,
        "gone": gone,
        "text": text,
        "agent": authority.issue("nobody"),
    }
    given = options.format(**{key: quote(str(file), safe="") for key, file in files.items()})
    credentials = CREDENTIALS if "agent" not in options else "CN%3Dnobody"
    watch = watching(f"mongodb://{credentials}@localhost:{encrypted.port}/?{given}")
    gone.unlink()
    text.write_text("no certificate")
    watch.round()
    assert_not_measured(watch, encrypted.port, reason)


def test_settings_for_tls_at_a_server_without_it(watching: Callable[[str], WatchedDeployment]) -> None:
    with standalone() as server:
        watch = watching(f"mongodb://127.0.0.1:{server.port}/?tls=true")
        watch.round()
        assert_not_measured(watch, server.port, "no TLS")
        assert watch.found[server.port].type_name == "NO_DATA"


def test_the_days_until_the_certificate_ends_are_reported(
    encrypted: Mongod, authority: Authority, watching: Callable[[str], WatchedDeployment]
) -> None:
    file = quote(str(authority.file), safe="")
    watch = watching(f"mongodb://{CREDENTIALS}@localhost:{encrypted.port}/?tls=true&tlsCAFile={file}")
    watch.round()
    days = watch.value(encrypted.port, "SERVER_CERTIFICATE_DAYS")
    assert days is not None
    assert 0 < days <= 1
    support = watch.value(encrypted.port, "SERVER_SUPPORT_DAYS")
    assert support is not None
    assert support < 0


def test_a_certificate_file_that_is_removed_after_it_was_read_leaves_nothing_known(
    encrypted: Mongod, authority: Authority, tmp_path: Path, watching: Callable[[str], WatchedDeployment]
) -> None:
    file = tmp_path / "ca.pem"
    file.write_bytes(authority.file.read_bytes())
    text = (
        f"mongodb://{CREDENTIALS}@localhost:{encrypted.port}/?tls=true&tlsCAFile={quote(str(file), safe='')}"
    )
    watch = watching(text)
    assert watch.round()[encrypted.port].problem is None
    file.unlink()
    for host in watch.engine.targets():
        host.close()
    watch.round()
    assert_not_measured(watch, encrypted.port, "tlsCAFile")
    assert watch.found[encrypted.port].type_name == "NO_DATA"


def test_a_server_that_never_answered_is_down_without_a_guessed_type(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    port = free_port()
    (reading,) = watching(f"mongodb://{CREDENTIALS}@127.0.0.1:{port}/?replicaSet=rs0").round().values()
    assert (reading.reachable, reading.type_name, reading.problem) == (False, "NO_DATA", None)


def test_a_seed_that_was_removed_from_its_set_is_recovering(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, PRIMARY]) as members:
        primary = members.primary()
        (other,) = [member for member in members.members if member is not primary]
        watch = watching(f"mongodb://{CREDENTIALS}@{other.address}/")
        assert watch.round()[other.port].type_name == "REPLICA_SECONDARY"
        with members.admin() as client:
            config = dict(client.admin.command("replSetGetConfig")["config"])
            config["version"] += 1
            config["members"] = [row for row in config["members"] if row["host"] == primary.address]
            client.admin.command("replSetReconfig", config)
        eventually(lambda: not other.hello().get("setName"), message="the member knows that it was removed")
        other_set = watching(f"mongodb://{CREDENTIALS}@{other.address}/")
        reading = other_set.round()[other.port]
    assert (reading.reachable, reading.type_name, reading.replica_set) == (True, "RECOVERING", None)


def test_a_member_that_waits_for_its_set_is_recovering(watching: Callable[[str], WatchedDeployment]) -> None:
    with standalone("--replSet", "rs0") as server:
        reading = watching(f"mongodb://{server.address}/").round()[server.port]
    assert (reading.reachable, reading.type_name) == (True, "RECOVERING")


def test_a_primary_that_is_down_when_the_agent_starts_has_no_guessed_type(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, HIDDEN]) as members:
        primary = members.primary()
        primary.signal(signal.SIGKILL)
        found = watching(members.seed).round()
        readings = {
            port: (reading.reachable, reading.type_name, reading.replica_set)
            for port, reading in found.items()
        }
    assert readings == {
        primary.port: (False, "NO_DATA", "rs0"),
        members.hidden.port: (True, "REPLICA_SECONDARY", "rs0"),
    }


def test_members_with_split_horizons_are_reported_once(
    tmp_path: Path,
    authority: Authority,
    watching: Callable[[str], WatchedDeployment],
    caplog: pytest.LogCaptureFixture,
) -> None:
    options = ["--replSet", "rs0", "--tlsMode", "allowTLS", "--tlsAllowConnectionsWithoutCertificates"]
    options += ["--tlsCertificateKeyFile", str(authority.issue("horizon", "localhost"))]
    options += ["--tlsCAFile", str(authority.file)]
    with ExitStack() as stack:
        servers = [stack.enter_context(standalone(*options)) for _ in range(3)]
        config = {
            "_id": "rs0",
            "members": [
                {
                    "_id": number,
                    "host": server.address,
                    "horizons": {"outside": f"localhost:{server.port}"},
                    **(HIDDEN if number == 2 else {}),
                }
                for number, server in enumerate(servers)
            ],
        }
        with servers[0].client() as client:
            client.admin.command("replSetInitiate", config)
        eventually(lambda: all(server.hello().get("secondary") for server in servers[1:]), message="a set")
        tls = f"tls=true&tlsCAFile={quote(str(authority.file), safe='')}"
        outside = watching(f"mongodb://localhost:{servers[0].port}/?{tls}")
        inside = watching(f"mongodb://{servers[0].address}/")
        for _ in range(2):
            from_outside = {str(reading.address) for reading in outside.round().values()}
            from_inside = {str(reading.address) for reading in inside.round().values()}
    assert from_outside == {f"localhost:{server.port}" for server in servers[:2]}
    assert from_inside == {server.address for server in servers}
    assert len([line for line in caplog.messages if "split horizons" in line]) == 1


def test_a_locked_server_is_seen_and_so_is_its_release(
    members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    watch = watching(members.seed)
    port = members.hidden.port
    with members.hidden.client(username=ROOT, password=ROOT_PASSWORD) as client:
        client.admin.command("fsync", lock=True)
        try:
            watch.round()
            assert watch.value(port, "MONGO_FSYNC_LOCKED") == 1
            assert watch.value(members.primary().port, "MONGO_FSYNC_LOCKED") == 0
        finally:
            client.admin.command("fsyncUnlock")
    watch.round()
    assert watch.value(port, "MONGO_FSYNC_LOCKED") == 0


def test_a_member_that_is_delayed_on_purpose_does_not_lag(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, {**HIDDEN, "secondaryDelaySecs": 3600}]) as members:
        with members.admin() as client:
            client.shop.orders.insert_one({"total": 2})
        delayed = members.members[1]
        watch = watching(members.seed)

        def lag() -> tuple[float, float] | None:
            """What the member lags behind, and what is reported of it."""
            watch.round()
            reported = watch.value(delayed.port, "OPLOG_SLAVE_LAG_MASTER_TIME")
            with delayed.client(username=ROOT, password=ROOT_PASSWORD) as client:
                states = {
                    member["stateStr"]: member["optimeDate"]
                    for member in client.admin.command("replSetGetStatus")["members"]
                }
            if states.keys() != {"PRIMARY", "SECONDARY"} or reported is None:
                return None
            behind = (states["PRIMARY"] - states["SECONDARY"]).total_seconds()
            return (behind, reported) if behind > 0 else None

        behind, reported = eventually(lag, message="the delayed member is behind")
        assert 0 < behind < 3600
        assert reported == 0


def test_members_that_cannot_be_reached_by_a_member_are_counted(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, HIDDEN]) as members:
        watch = watching(members.seed)
        primary = members.primary()
        watch.round()
        assert watch.value(primary.port, "MONGO_MEMBERS_UNREACHABLE") == 0
        members.hidden.signal(signal.SIGKILL)

        def counted() -> float | None:
            watch.round()
            return watch.value(primary.port, "MONGO_MEMBERS_UNREACHABLE")

        assert eventually(counted, message="the primary misses the member") == 1
        assert not watch.found[members.hidden.port].reachable


def test_the_window_and_the_headroom_are_reported_once_the_oplog_is_full(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, HIDDEN]) as members:
        watch = watching(members.seed)
        primary, secondary = members.primary(), members.hidden
        watch.round()
        watch.round()
        assert watch.value(primary.port, "OPLOG_MASTER_TIME") is None
        assert watch.value(secondary.port, "OPLOG_MASTER_LAG_TIME_DIFF") is None
        members.fill_oplog()

        def are_reported() -> bool:
            watch.round()
            window = watch.value(primary.port, "OPLOG_MASTER_TIME")
            headroom = watch.value(secondary.port, "OPLOG_MASTER_LAG_TIME_DIFF")
            return window is not None and headroom is not None

        eventually(are_reported, message="window and headroom")
        assert watch.value(secondary.port, "OPLOG_MASTER_TIME") is None
