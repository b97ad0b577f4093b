"""Broken states of real MongoDB servers, and what the agent reports of each."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from alerting.configs.presets import Preset
from automation.agent.engine import HostReading
from automation.agent.mongodb.engine import MongoDB
from automation.agent.rates import Why
from automation.metrics import Engine
from tests.eventually import eventually
from tests.processes.broken_states import NOT_MEASURED, NOTHING, BrokenState, below, between, exactly, says
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


@dataclass(frozen=True, kw_only=True)
class MongoDBState(BrokenState):
    """A state that a test brings about. `title` names it on the page."""

    engine = Engine.MONGODB

    title: str


def refused(title: str, broken_by: str, problem: str, type_name: str | None = None) -> MongoDBState:
    """A state in which the agent reaches a server and cannot measure it."""
    facts = {**NOT_MEASURED, "problem": says(problem)}
    if type_name:
        facts["type"] = exactly(type_name)
    return MongoDBState(title=title, broken_by=broken_by, facts=facts, raises=[Preset.HOST_NOT_MEASURED])


OWN_SETTINGS = {
    "X.509 with a password": (
        "tls=true&tlsCAFile={ca}&authMechanism=MONGODB-X509",
        "not supported by MONGODB-X509",
    ),
    "a certificate that is no user": (
        "tls=true&tlsCAFile={ca}&authMechanism=MONGODB-X509&tlsCertificateKeyFile={agent}",
        "Could not find user",
    ),
    "another mechanism": ("tls=true&tlsCAFile={ca}&authMechanism=GSSAPI", "GSSAPI"),
    "another authority": ("tls=true&tlsCAFile={other}", "certificate verify failed"),
    "no authority": ("tls=true", "certificate verify failed"),
    "a file that was removed": ("tls=true&tlsCAFile={gone}", "the file of tlsCAFile cannot be read"),
    "a file that is no certificate": ("tls=true&tlsCAFile={text}", "no certificate"),
    "no TLS": ("", "the server accepts only TLS: add tls=true"),
    "another user": ("tls=true&tlsCAFile={ca}&authSource=elsewhere", "Authentication failed"),
}
"""Options of the connection string, and a word of the reason."""

FILES = {name: f"{name}.pem" for name in ("ca", "other", "gone", "text", "agent")}
OF_SETTINGS = "test_settings_of_the_agent_that_do_not_fit_a_healthy_server"
STATES: Mapping[str, MongoDBState] = {
    "test_nothing_is_raised_for_a_healthy_set": MongoDBState(title="healthy replica set"),
    "test_a_log_in_that_is_refused_after_it_worked[dropped]": refused(
        "dropped user", "`dropUser` of the user of the agent", "Authentication failed", "REPLICA_PRIMARY"
    ),
    "test_a_log_in_that_is_refused_after_it_worked[password]": refused(
        "changed password",
        "`updateUser` with another `pwd`, and new connections",
        "Authentication failed",
        "REPLICA_PRIMARY",
    ),
    "test_a_log_in_that_was_always_refused": refused(
        "unknown user",
        "a user in the settings of the agent that the server does not have",
        "Authentication failed",
        "REPLICA_SECONDARY",
    ),
    **{
        f"{OF_SETTINGS}[{name}]": refused(
            f"settings: {name}",
            f"`{options.format_map(FILES)}`" if options else "a connection string without `tls`",
            reason,
        )
        for name, (options, reason) in OWN_SETTINGS.items()
    },
    "test_settings_for_tls_at_a_server_without_it": refused(
        "settings: TLS", "`tls=true`, and a server without TLS", "the server accepts no TLS", "NO_DATA"
    ),
    "test_a_certificate_file_that_is_removed_after_it_was_read_leaves_nothing_known": refused(
        "removed authority",
        "the file of `tlsCAFile` is removed while the agent runs, and new connections",
        "the file of tlsCAFile cannot be read",
        "NO_DATA",
    ),
    "test_the_days_until_certificate_and_support_end_are_reported": MongoDBState(
        title="old certificate and version",
        broken_by="MongoDB 6.0, and a `--tlsCertificateKeyFile` that is valid for a day",
        facts={"problem": NOTHING, "SERVER_CERTIFICATE_DAYS": between(0, 1), "SERVER_SUPPORT_DAYS": below(0)},
        raises=[Preset.CERTIFICATE, Preset.VERSION_SUPPORT],
    ),
    "test_a_server_that_never_answered_is_down_without_a_guessed_type": MongoDBState(
        title="server that never answered",
        broken_by="no server at the address of the seed, `replicaSet=rs0`",
        facts={"reachable": exactly(False), "type": exactly("NO_DATA"), "problem": NOTHING},
        raises=[Preset.HOST_DOWN, Preset.NO_PRIMARY, Preset.UNHEALTHY_MEMBERS],
    ),
    "test_a_seed_that_was_removed_from_its_set_is_recovering": MongoDBState(
        title="removed member",
        broken_by="`replSetReconfig` without the member that is the seed",
        facts={"reachable": exactly(True), "type": exactly("RECOVERING"), "set": exactly(False)},
        raises=[Preset.HOST_RECOVERING],
    ),
    "test_a_member_that_waits_for_its_set_is_recovering": MongoDBState(
        title="member without a set",
        broken_by="`--replSet rs0` without `replSetInitiate`",
        facts={"reachable": exactly(True), "type": exactly("RECOVERING")},
        raises=[Preset.HOST_RECOVERING],
    ),
    "test_a_primary_that_is_down_when_the_agent_starts_has_no_guessed_type": MongoDBState(
        title="dead primary at the start",
        broken_by="`kill -KILL` of the primary, before the agent starts",
        facts={"reachable": exactly(False), "type": exactly("NO_DATA"), "set": exactly(True)},
        raises=[Preset.HOST_DOWN, Preset.NO_PRIMARY, Preset.UNHEALTHY_MEMBERS],
    ),
    "test_members_with_split_horizons_are_reported_once": MongoDBState(
        title="split horizons",
        broken_by="`horizons` in the configuration, and a seed with the outer name",
        facts={"reachable": exactly(True), "problem": NOTHING},
        shown="each member is reported once, by its outer name; the log of the agent says that it does not "
        "look for hidden members",
    ),
    "test_a_locked_server_is_seen_and_so_is_its_release": MongoDBState(
        title="locked server",
        broken_by="`db.fsyncLock()`",
        facts={"MONGO_FSYNC_LOCKED": exactly(1)},
        raises=[Preset.FSYNC_LOCKED],
    ),
    "test_a_member_that_is_delayed_on_purpose_does_not_lag": MongoDBState(
        title="delayed member",
        broken_by="`secondaryDelaySecs: 3600`, and a write",
        facts={"OPLOG_SLAVE_LAG_MASTER_TIME": exactly(0)},
        shown="the delay is intended and is subtracted from the lag",
    ),
    "test_members_that_cannot_be_reached_by_a_member_are_counted": MongoDBState(
        title="dead member",
        broken_by="`kill -KILL` of a secondary",
        facts={"MONGO_MEMBERS_UNREACHABLE": exactly(1)},
        raises=[Preset.HOST_DOWN, Preset.UNHEALTHY_MEMBERS, Preset.MEMBERS_UNREACHABLE],
    ),
    "test_the_window_and_the_headroom_are_reported_once_the_oplog_is_full": MongoDBState(
        title="short oplog",
        broken_by="writes that fill an oplog of 64 MB within a minute",
        facts={"OPLOG_MASTER_LAG_TIME_DIFF": below(3600)},
        raises=[Preset.OPLOG_WINDOW, Preset.OPLOG_HEADROOM],
    ),
}
"""By test: the state that it brings about, the facts of a server of it, and the presets that open."""


@dataclass
class WatchedDeployment:
    """An engine of the agent, which polls all its servers when the test asks it to."""

    text: str
    state: MongoDBState
    engine: MongoDB = field(init=False)
    found: Mapping[int, HostReading] = field(default_factory=dict)
    rounds: list[Sequence[HostReading]] = field(default_factory=list)
    is_compared: bool = False

    def __post_init__(self) -> None:
        self.engine = MongoDB([self.text])

    def round(self) -> Mapping[int, HostReading]:
        """The readings of a round, by port."""
        waiting = list(self.engine.targets())
        while waiting:
            host = waiting.pop(0)
            waiting += self.engine.learn(host, host.poll())
        self.rounds.append(self.engine.readings())
        self.found = {reading.address.port: reading for reading in self.rounds[-1]}
        return self.found

    def compare(self, port: int) -> None:
        """Compare what was reported of a server with the state, and the presets that the rounds raise."""
        self.is_compared = True
        reading = self.found[port]
        facts: Mapping[str, Any] = {
            "reachable": reading.reachable,
            "type": reading.type_name,
            "set": reading.replica_set is not None,
            "problem": reading.problem,
            "reported": {sample.metric for sample in reading.samples} | {Why.REPORTED} & self.why(port),
            **{sample.metric: sample.number for sample in reading.samples},
        }
        assert self.state.unmet(facts) == []
        assert self.state.unexpected(self.rounds) == set()

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
def watching(request: pytest.FixtureRequest) -> Iterator[Callable[[str], WatchedDeployment]]:
    """Makes watches. The test compares at least one of them with its row of the states."""
    state, made = STATES[request.node.name], list[WatchedDeployment]()
    with ExitStack() as stack:

        def watch(text: str) -> WatchedDeployment:
            made.append(stack.enter_context(closing(WatchedDeployment(text, state))))
            return made[-1]

        yield watch
    assert any(watch.is_compared for watch in made)


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


def role_of(server: Mongod) -> str:
    """The field of `hello` that says the role of a member; empty without a role."""
    hello = server.hello()
    return next((role for role in ("isWritablePrimary", "secondary") if hello.get(role)), "")


def assert_not_measured(watch: WatchedDeployment, port: int, reason: str) -> None:
    """The server is reachable and not measured, and the reason is one of these words without noise."""
    reading = watch.found[port]
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
    watch.compare(members.primary().port)


@pytest.mark.parametrize("change", ["dropped", "password"])
def test_a_log_in_that_is_refused_after_it_worked(
    change: str, members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    with members.admin() as client:
        client.admin.command("createUser", "passing", pwd="before", roles=["clusterMonitor"])
        port = members.primary().port
        watch = watching(f"mongodb://passing:before@127.0.0.1:{port}/")
        assert watch.round()[port].problem is None
        assert Why.REPORTED in watch.why(port)
        if change == "password":
            client.admin.command("updateUser", "passing", pwd="after")
            for host in watch.engine.targets():
                host.close()  # The server keeps connections of a user whose password has changed.
            watch.round()
        client.admin.command("dropUser", "passing")
    if change == "dropped":
        watch.round()
        assert_not_measured(watch, port, "clusterMonitor")
        watch.round()
    assert_not_measured(watch, port, "Authentication failed")
    watch.compare(port)


def test_a_log_in_that_was_always_refused(
    members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    port = members.hidden.port
    watch = watching(f"mongodb://nobody:nothing@127.0.0.1:{port}/")
    watch.round()
    assert_not_measured(watch, port, "Authentication failed")
    watch.compare(port)


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
    watch.compare(encrypted.port)


def test_settings_for_tls_at_a_server_without_it(watching: Callable[[str], WatchedDeployment]) -> None:
    with standalone() as server:
        watch = watching(f"mongodb://127.0.0.1:{server.port}/?tls=true")
        watch.round()
        assert_not_measured(watch, server.port, "no TLS")
        watch.compare(server.port)


def test_the_days_until_certificate_and_support_end_are_reported(
    encrypted: Mongod, authority: Authority, watching: Callable[[str], WatchedDeployment]
) -> None:
    file = quote(str(authority.file), safe="")
    watch = watching(f"mongodb://{CREDENTIALS}@localhost:{encrypted.port}/?tls=true&tlsCAFile={file}")
    watch.round()
    watch.compare(encrypted.port)


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
    watch.compare(encrypted.port)


def test_a_server_that_never_answered_is_down_without_a_guessed_type(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    port = free_port()
    watch = watching(f"mongodb://{CREDENTIALS}@127.0.0.1:{port}/?replicaSet=rs0")
    assert list(watch.round()) == [port]
    watch.compare(port)


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
        other_set.round()
    other_set.compare(other.port)


def test_a_member_that_waits_for_its_set_is_recovering(watching: Callable[[str], WatchedDeployment]) -> None:
    with standalone("--replSet", "rs0") as server:
        watch = watching(f"mongodb://{server.address}/")
        watch.round()
    watch.compare(server.port)


def test_a_primary_that_is_down_when_the_agent_starts_has_no_guessed_type(
    watching: Callable[[str], WatchedDeployment],
) -> None:
    with replica_set([PRIMARY, HIDDEN]) as members:
        primary = members.primary()
        primary.signal(signal.SIGKILL)
        watch = watching(members.seed)
        found = watch.round()
        readings = {
            port: (reading.reachable, reading.type_name, reading.replica_set)
            for port, reading in found.items()
        }
    assert readings == {
        primary.port: (False, "NO_DATA", "rs0"),
        members.hidden.port: (True, "REPLICA_SECONDARY", "rs0"),
    }
    watch.compare(primary.port)


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
        roles = ["isWritablePrimary", "secondary", "secondary"]
        eventually(lambda: sorted(map(role_of, servers)) == roles, message="a set with a primary")
        tls = f"tls=true&tlsCAFile={quote(str(authority.file), safe='')}"
        outside = watching(f"mongodb://localhost:{servers[0].port}/?{tls}")
        inside = watching(f"mongodb://{servers[0].address}/")
        for _ in range(2):
            from_outside = {str(reading.address) for reading in outside.round().values()}
            from_inside = {str(reading.address) for reading in inside.round().values()}
    assert from_outside == {f"localhost:{server.port}" for server in servers[:2]}
    assert from_inside == {server.address for server in servers}
    assert len([line for line in caplog.messages if "split horizons" in line]) == 1
    outside.compare(servers[0].port)


def test_a_locked_server_is_seen_and_so_is_its_release(
    members: RunningReplicaSet, watching: Callable[[str], WatchedDeployment]
) -> None:
    watch = watching(members.seed)
    port = members.hidden.port
    with members.hidden.client(username=ROOT, password=ROOT_PASSWORD) as client:
        client.admin.command("fsync", lock=True)
        try:
            watch.round()
            watch.compare(port)
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
        watch.compare(delayed.port)


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
        watch.compare(primary.port)


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
        watch.compare(secondary.port)
