"""A data directory of PostgreSQL 15 becomes a data directory of the installed version, or stays as it is."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded import cluster as cluster_module
from opsapi.embedded import upgrade as upgrade_module
from opsapi.embedded.cluster import client_failure, find_binaries
from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.embedded.upgrade import finish_upgrade, upgrade
from tests.each import each
from tests.hostile.budget import LONG
from tests.integration.embedded import killed_upgrade
from tests.integration.embedded.conftest import MakeServer, only_root
from tests.integration.embedded.killed_upgrade import STEPS
from tests.integration.embedded.sql import ask, run_sql
from tests.processes.disk import Disk
from tests.processes.platform import ROOT
from tests.shared import made_once

OLD = 15
OLD_PROGRAMS = Path(f"/usr/lib/postgresql/{OLD}/bin")
# PostgreSQL 15 has no locales of its own.
_INITDB = ("--username=postgres", "--auth=peer", "--encoding=UTF8", "--locale=C", "--no-instructions")
_FILLED = """
CREATE TABLE host (id bigserial PRIMARY KEY, name text NOT NULL, labels jsonb) PARTITION BY RANGE (id);
CREATE TABLE host_1 PARTITION OF host FOR VALUES FROM (0) TO (1000);
CREATE UNIQUE INDEX host_name ON host (lower(name), id);
INSERT INTO host (name, labels) SELECT 'db' || n, '{"env": "production"}' FROM generate_series(1, 100) AS n;
"""

KILLS = (
    list(product(STEPS, (True, False)))
    if LONG
    else [("start 1", True), ("rename 1", False), ("rename 2", False)]
)
"""When an upgrade is killed, and whether alone or with its servers and programs."""

pytestmark = pytest.mark.postgresql


@pytest.fixture
def old(parent: Path, make_server: MakeServer) -> Layout:
    """A filled database of the old version, whose server is stopped."""
    layout = Layout(parent / "var")
    layout.data_dir.mkdir(mode=0o711)
    template = Layout(made_once("embedded_old", _fill) / "var").home
    subprocess.run(["cp", "-a", str(template), str(layout.home)], check=True)
    return layout


@pytest.fixture
def small_disk(parent: Path) -> Iterator[Disk]:
    """A file system that the test fills."""
    disk = Disk(parent / "small")
    disk.path.mkdir(mode=0o711)
    disk.mount()
    yield disk
    disk.unmount()


def _fill(directory: Path) -> None:
    layout = Layout(directory / "var")
    server = Server(layout, durable=False, binaries=OLD_PROGRAMS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cluster_module, "INITDB", _INITDB)
        server.start()
        server.wait_ready()
    run_sql(layout, _FILLED)
    server.stop()


def _content(layout: Layout) -> tuple[int, int]:
    return (
        ask(layout, "SELECT count(*) FROM host WHERE labels ->> 'env' = 'production'"),
        ask(layout, "SELECT nextval('host_id_seq')"),
    )


def test_the_installed_version_serves_everything_and_the_old_files_are_kept(
    old: Layout, make_server: MakeServer, settings: Settings
) -> None:
    server, kept = make_server(old.data_dir), old.home / f"data.{OLD}"
    with pytest.raises(EmbeddedDatabaseError, match=f"PostgreSQL {OLD}.* upgrade_database"):
        server.check()
    settings.OPSAPI_EMBEDDED_DATABASE, settings.OPSAPI_DATA_DIR = True, old.data_dir
    call_command("upgrade_database")
    assert (kept / "PG_VERSION").read_text() == f"{OLD}\n"
    assert not (old.data_dir / "upgrade").exists()
    server.start()
    server.wait_ready()
    assert _content(old) == (100, 101)
    assert ask(old, "SELECT reltuples FROM pg_class WHERE relname = 'host_1'") == 100


@pytest.mark.slow
@pytest.mark.parametrize(("step", "is_alone"), KILLS)
def test_an_upgrade_that_is_killed_is_repeated_or_finished_by_the_next_start(
    old: Layout, make_server: MakeServer, step: str, is_alone: bool
) -> None:
    command = [sys.executable, "-m", killed_upgrade.__name__, str(old.data_dir), step]
    killed = subprocess.run([*command, *(["alone"] if is_alone else [])], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    server = make_server(old.data_dir)
    if STEPS.index(step) < STEPS.index("rename 2"):
        # A start would otherwise create an empty database.
        words = "interrupted.* upgrade_database" if step == "rename 1" else "upgrade_database"
        with pytest.raises(EmbeddedDatabaseError, match=words):
            server.start()
        finish_upgrade(old)
        assert (old.data_dir / "upgrade").exists()
        upgrade(old, durable=False)
    elif is_alone and step == "rename 2":
        upgrade(old, durable=False)
    else:
        finish_upgrade(old)
    assert sorted(path.name for path in old.home.glob("data*")) == ["data", f"data.{OLD}"]
    assert not (old.data_dir / "upgrade").exists()
    server.start()
    server.wait_ready()
    assert _content(old) == (100, 101)


def test_a_dump_that_fails_leaves_the_old_files_as_they_are(
    old: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(upgrade_module, "ENVIRONMENT", {"PGOPTIONS": "-c nonsense=1"})
        with pytest.raises(EmbeddedDatabaseError, match=r"pg_dump failed: .*nonsense"):
            upgrade(old, durable=False)
    assert sorted(path.name for path in old.home.iterdir()) == ["data"]
    assert (old.cluster / "PG_VERSION").read_text() == f"{OLD}\n"


@pytest.mark.slow
@pytest.mark.parametrize("step", ["start", "initdb", "pg_restore", "vacuumdb"])
def test_a_full_disk_leaves_the_old_files_as_they_are_and_is_named(
    small_disk: Disk, old: Layout, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    layout = Layout(small_disk.path / "var")
    layout.data_dir.mkdir(mode=0o711)
    subprocess.run(["cp", "-a", str(old.home), str(layout.home)], check=True)

    def client(program: Path, *arguments: str, environment: Mapping[str, str]) -> str | None:
        if program.name == step:
            small_disk.fill()
        return client_failure(program, *arguments, environment=environment)

    with monkeypatch.context() as patched:
        patched.setattr(upgrade_module, "client_failure", client)
        if step in {"start", "initdb"}:
            small_disk.fill(leave=20 if step == "initdb" else 0)
        with pytest.raises(EmbeddedDatabaseError, match="No space left"):
            upgrade(layout, durable=False)
    small_disk.free()
    assert [path.name for path in layout.home.iterdir()] == ["data"]
    assert [path.name for path in layout.data_dir.iterdir()] == ["postgres"]
    assert (layout.cluster / "PG_VERSION").read_text() == f"{OLD}\n"
    if step == "pg_restore":
        upgrade(layout, durable=False)
        assert (layout.home / f"data.{OLD}").exists()


@each("wrong", ["missing", "of another version", "broken"])
def test_programs_of_another_version_than_the_old_are_refused(
    old: Layout, settings: Settings, parent: Path, wrong: str
) -> None:
    directory = find_binaries() if wrong == "of another version" else parent / wrong
    if wrong == "broken":
        directory.mkdir()
        for name in ("postgres", "pg_dump"):
            (directory / name).write_text("#!/bin/sh\necho a library is missing\n")
            (directory / name).chmod(0o755)
    settings.OPSAPI_EMBEDDED_DATABASE, settings.OPSAPI_DATA_DIR = True, old.data_dir
    with pytest.raises(CommandError, match=str(directory)):
        call_command("upgrade_database", old_programs=directory)
    assert not (old.data_dir / "upgrade").exists()


@only_root
def test_root_does_not_write_where_another_user_could_replace_files(old: Layout) -> None:
    old.data_dir.chmod(0o777)
    with pytest.raises(EmbeddedDatabaseError, match=str(old.data_dir)):
        upgrade(old, durable=False)


def test_files_that_an_earlier_upgrade_kept_are_not_replaced(old: Layout) -> None:
    kept = old.home / f"data.{OLD}"
    kept.mkdir()
    with pytest.raises(EmbeddedDatabaseError, match=str(kept)):
        upgrade(old, durable=False)
    assert not list(kept.iterdir())


def test_files_of_the_installed_version_are_not_upgraded(server: Server) -> None:
    with pytest.raises(EmbeddedDatabaseError, match="nothing to upgrade"):
        upgrade(server.layout, durable=False)
    assert sorted(path.name for path in server.layout.home.iterdir()) == ["data"]


def test_a_database_of_the_operator_is_left_alone(settings: Settings) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE = False
    with pytest.raises(CommandError, match="DATABASE_URL"):
        call_command("upgrade_database")
