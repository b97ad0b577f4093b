"""A real PostgreSQL cluster: three machines under Patroni with synchronous replication, and ways to reach it.

Debian's programs: postgresql-15, patroni, etcd-server, haproxy and pgbouncer.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import requests

from opsapi.embedded.owner import server_owner
from opsapi.libc import dying_with_parent
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.networks import HERE, Machine

PASSWORD = "a-password"
_ETCD, _PORT, _REST, _PROXY, _POOLER = 2379, 5432, 8008, 5000, 6432
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
_STREAMS = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
_RETRY_SECONDS = 3 if LONG else 4
"""A primary whose etcd does not answer for so long steps down; the shortest lease allows no more."""
_LOOK_SECONDS = 0.05
_WATCHER_SECONDS = 2
_HAPROXY = """
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
listen primary
    bind {here}:{proxy}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fastinter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
"""
_PGBOUNCER = """
[databases]
ops = host={here} port={proxy}
[pgbouncer]
listen_addr = {here}
listen_port = {pooler}
auth_type = plain
auth_file = {directory}/users.txt
pool_mode = {mode}
max_client_conn = 400
default_pool_size = 60
server_login_retry = 1
tcp_user_timeout = 8000
tcp_keepidle = 5
tcp_keepintvl = 2
tcp_keepcnt = 3
"""


class Node:
    """A machine with PostgreSQL and its Patroni."""

    def __init__(self, number: int, directory: Path, lease: int) -> None:
        """`lease` is Patroni's `ttl`, in seconds: a primary that does not answer for so long is replaced."""
        self.machine = Machine(number)
        self.name, self.address = f"node{number}", self.machine.address
        home = directory / self.name
        home.mkdir()
        self._config, self._log = home / "patroni.json", home / "log.txt"
        self._config.write_text(json.dumps(self._settings(home, lease)))
        self._log.touch()
        owner = server_owner()
        if owner.is_lent:
            for path in (home, self._config):
                os.chown(path, owner.uid, owner.gid)

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL. The first node creates the cluster, the others copy it."""
        with self._log.open("ab") as log:
            self.machine.start(["/usr/bin/patroni", str(self._config)], environment=_ENVIRONMENT, log=log)

    @property
    def log(self) -> str:
        """What Patroni and PostgreSQL wrote."""
        return self._log.read_text()

    def ask(self, statement: str) -> Any:
        """One value from the server; None while it does not answer."""
        with suppress(psycopg.Error), self.connect("postgres") as connection:
            row = connection.execute(statement).fetchone()
            return row[0] if row else None
        return None

    def is_primary(self) -> bool:
        """Whether it accepts writes."""
        return self.ask("SELECT NOT pg_is_in_recovery()") is True

    def connect(self, database: str) -> "psycopg.Connection[Any]":
        """A connection of the superuser."""
        return psycopg.connect(
            host=self.address,
            port=_PORT,
            user="postgres",
            password=PASSWORD,
            dbname=database,
            autocommit=True,
            connect_timeout=_WATCHER_SECONDS,
            tcp_user_timeout=_WATCHER_SECONDS * 1000,
        )

    def _settings(self, home: Path, lease: int) -> dict[str, Any]:
        superuser = {"username": "postgres", "password": PASSWORD}
        return {
            "scope": "ops",
            "name": self.name,
            "restapi": {"listen": f"{self.address}:{_REST}", "connect_address": f"{self.address}:{_REST}"},
            "etcd3": {"host": f"{HERE}:{_ETCD}"},
            "bootstrap": _bootstrap(lease),
            "postgresql": {
                "listen": f"{self.address}:{_PORT}",
                "connect_address": f"{self.address}:{_PORT}",
                "data_dir": str(home / "data"),
                "bin_dir": "/usr/lib/postgresql/15/bin",
                "pgpass": str(home / "pgpass"),
                "authentication": {"superuser": superuser, "replication": superuser, "rewind": superuser},
                "pg_hba": [
                    "local all all trust",
                    "host all all all scram-sha-256",
                    "host replication all all scram-sha-256",
                ],
                "parameters": {"unix_socket_directories": str(home)},
            },
        }


def _bootstrap(lease: int) -> dict[str, Any]:
    """The settings of the cluster, which its first node stores."""
    parameters = {
        "max_connections": 100,
        "shared_buffers": "32MB",
        "dynamic_shared_memory_type": "mmap",
        "wal_keep_size": "256MB",
        "lc_messages": "C",
    }
    return {
        "dcs": {
            "ttl": lease,
            "loop_wait": 1,
            "retry_timeout": _RETRY_SECONDS,
            "synchronous_mode": True,
            "postgresql": {"use_pg_rewind": True, "parameters": parameters},
        },
        "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
    }


class PatroniCluster:
    """Three nodes, and the database `ops` in them."""

    def __init__(self, directory: Path, nodes: Sequence[Node]) -> None:
        self.directory, self.nodes = directory, nodes

    @property
    def url(self) -> str:
        """All nodes: clients look for the primary."""
        servers = ",".join(f"{node.address}:{_PORT}" for node in self.nodes)
        return f"postgresql://ops:{PASSWORD}@{servers}/ops?target_session_attrs=read-write"

    def primary(self) -> Node | None:
        """The node that accepts writes; None while there is none."""
        return next((node for node in self.nodes if node.is_primary()), None)

    def wait_primary(self) -> Node:
        """The node that accepts writes."""
        return eventually(self.primary, message="a primary")

    def wait_synchronous(self, standbys: int) -> Node:
        """The primary, once so many standbys follow it and a commit waits for one of them."""

        def found() -> Node | None:
            primary = self.primary()
            if primary is None or (primary.ask(_STREAMS) or 0) < standbys:
                return None
            # Patroni names the standby in its state, too: only then it may be promoted.
            return primary if _get(primary, "/cluster").get("sync") else None

        return eventually(found, message="a synchronous standby")

    def switch_over(self, primary: Node) -> None:
        """Ask Patroni for another primary."""
        answer = requests.post(
            f"http://{primary.address}:{_REST}/switchover", json={"leader": primary.name}, timeout=60
        )
        assert answer.status_code == 200, answer.text

    @contextmanager
    def proxied(self) -> Iterator[str]:
        """A URL of haproxy, which leads to the primary."""
        lines = [f"    server {node.name} {node.address}:{_PORT} check port {_REST}" for node in self.nodes]
        config = self.directory / "haproxy.cfg"
        config.write_text(_HAPROXY.format(here=HERE, proxy=_PROXY) + "\n".join(lines) + "\n")
        with _program(["/usr/sbin/haproxy", "-db", "-f", str(config)], self.directory / "haproxy.log"):
            url = f"postgresql://ops:{PASSWORD}@{HERE}:{_PROXY}/ops"
            eventually(lambda: _accepts(url), message="haproxy finds the primary")
            yield url

    @contextmanager
    def pooled(self, mode: str) -> Iterator[str]:
        """A URL of pgbouncer in front of haproxy."""
        (self.directory / "users.txt").write_text(f'"ops" "{PASSWORD}"\n')
        config = self.directory / "pgbouncer.ini"
        settings = {"here": HERE, "proxy": _PROXY, "pooler": _POOLER, "directory": self.directory}
        config.write_text(_PGBOUNCER.format(mode=mode, **settings))
        command = ["/usr/sbin/pgbouncer", str(config)]
        with self.proxied(), _program(command, self.directory / "pgbouncer.log"):
            url = f"postgresql://ops:{PASSWORD}@{HERE}:{_POOLER}/ops"
            eventually(lambda: _accepts(url), message="pgbouncer")
            yield url


class PromotionWatch:
    """Notes when another node than the old primary accepts writes."""

    def __init__(self, cluster: PatroniCluster, old: Node) -> None:
        self.promoted: float | None = None
        """The time of `time.monotonic`."""
        self._others = [node for node in cluster.nodes if node is not old]
        self._ended = threading.Event()

    @contextmanager
    def running(self) -> Iterator["PromotionWatch"]:
        """Until the block ends."""
        threads = [threading.Thread(target=self._watch, args=(node,)) for node in self._others]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _watch(self, node: Node) -> None:
        while self.promoted is None and not self._ended.wait(_LOOK_SECONDS):
            with suppress(psycopg.Error), node.connect("postgres") as connection:
                while not self._ended.wait(_LOOK_SECONDS):
                    if connection.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,):
                        self.promoted = self.promoted or time.monotonic()
                        return


@contextmanager
def cluster(lease: int) -> Iterator[PatroniCluster]:
    """A cluster whose standbys exist before the database `ops` does. It needs an `own_network`."""
    directory = Path(tempfile.mkdtemp(prefix="opsapi-patroni-"))
    owner = server_owner()
    if owner.is_lent:
        os.chown(directory, owner.uid, owner.gid)
    etcd = [
        "/usr/bin/etcd",
        *("--data-dir", str(directory / "etcd"), "--log-level", "error"),
        *(
            "--listen-client-urls",
            f"http://{HERE}:{_ETCD}",
            "--advertise-client-urls",
            f"http://{HERE}:{_ETCD}",
        ),
    ]
    nodes: list[Node] = []
    try:
        with _program(etcd, directory / "etcd.log"):
            nodes += [Node(number, directory, lease) for number in (1, 2, 3)]
            for node in nodes:
                node.start()
            made = PatroniCluster(directory, nodes)
            primary = made.wait_synchronous(standbys=len(nodes) - 1)
            with primary.connect("postgres") as connection:
                connection.execute(f"CREATE ROLE ops LOGIN PASSWORD '{PASSWORD}'")
                connection.execute("CREATE DATABASE ops OWNER ops")
            yield made
    except BaseException:
        for node in nodes:
            print(f"--- {node.name} ---\n{node.log[-3000:]}")  # noqa: T201 - pytest shows it with the failure
        raise
    finally:
        for node in nodes:
            node.machine.end()
        shutil.rmtree(directory)


def _get(node: Node, path: str) -> dict[str, Any]:
    try:
        answer = requests.get(f"http://{node.address}:{_REST}{path}", timeout=_WATCHER_SECONDS)
        found: dict[str, Any] = answer.json()
    except requests.RequestException:
        return {}
    roles = {member.get("role") for member in found.get("members", [])}
    return {**found, "sync": "sync_standby" in roles}


def _accepts(url: str) -> bool:
    with suppress(psycopg.Error), psycopg.connect(url, connect_timeout=_WATCHER_SECONDS) as connection:
        return connection.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,)
    return False


@contextmanager
def _program(command: Sequence[str], log: Path) -> Iterator[None]:
    """A program on the tests' own machine, as the user of the servers."""
    owner: Any = server_owner()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd="/",
            env=_ENVIRONMENT,
            stdout=output,
            stderr=output,
            preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 it calls nothing that takes a lock
            **({"user": owner.uid, "group": owner.gid, "extra_groups": []} if owner.is_lent else {}),
        )
    try:
        yield
    except BaseException:
        print(f"--- {command[0]} ---\n{log.read_text()[-3000:]}")  # noqa: T201 - pytest shows it with the failure
        raise
    finally:
        process.kill()
        process.wait()
