"""One embedded PostgreSQL for a whole test run, in an environment of the run's own.

The process the developer started owns it; workers of pytest-xdist inherit its place through the
environment, and pytest-django gives each of them a database of its own in it.

Tests that need a program the machine may lack are left out unless OPSAPI_TEST_REQUIRE names it; then its
absence fails them.
"""

import gc
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

from opsapi.call_stack import with_room
from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.program import importing
from opsapi.secret_files import secret_from_file
from tests.shared import first_alone

MARK = "OPSAPI_TEST_DATA_DIR"
MEMORY = Path("/dev/shm")  # noqa: S108 - the run makes a directory of its own there
MEMORY_BYTES = 6 * 1024**3
"""A run with all optional programs takes less than half of it."""
# A developer may have set these, and OPSAPI_*, for a real installation: the run must not touch that one.
FOREIGN = ("DATABASE_URL", "SECRET_KEY", "EMAIL_URL", "PGHOSTADDR", "PGOPTIONS", "PGSERVICE")
REQUIRE = "OPSAPI_TEST_REQUIRE"
PROGRAMS = frozenset(
    {"chromium", "container", "mongod", "patroni", "postgresql", "prometheus", "nginx", "systemd"}
)
"""Programs that tests are marked with."""

SLOW = (
    "tests/processes/test_first_hour.py",
    "tests/simulation/automation/test_fleet_plans.py",  # computes while the next tests wait for servers
    "tests/processes/automation/",
    "tests/processes/test_container.py",
    "tests/processes/test_agent_patroni.py",
    "tests/processes/test_failovers.py",
    "tests/processes/running/test_killed_workers.py",
    "tests/processes/running/",
    "tests/processes/test_faults.py",
    "tests/processes/test_upgrade.py",
    "tests/processes/test_how_to.py",
    "tests/processes/test_wheel.py",
    "tests/processes/test_serve.py",
    "tests/simulation/",
    "tests/browser/",
    "tests/processes/",
    "tests/integration/embedded/",
    "tests/hostile/",
)
"""The files and directories of slow tests, about the slowest first: they begin in this order."""

TOGETHER = "tests/processes/running/"
"""The tests of this directory share a platform, so one process runs all of them."""

SLOW_TESTS, NOT_SLOW_TESTS = "slow", "not slow"
"""The values of -m in `make test-slow` and `make test`."""
_SLOW_MARK = "mark.slow"
ROOT = Path(__file__).resolve().parent.parent

SUMMARY = "summary"
"""A test records a property of this name; the end of the run shows its value."""

data_dir_key = pytest.StashKey[Path]()


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Sets the environment. Being a wrapper it comes before pytest-django, which loads the settings here."""
    if MARK not in os.environ:
        data_dir = _make_data_dir()
        early_config.stash[data_dir_key] = data_dir
        early_config.add_cleanup(lambda: shutil.rmtree(data_dir))
        _set_environment(data_dir)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Starts the server, before pytest-xdist starts its workers; it stops when the run ends in any way."""
    data_dir = session.config.stash.get(data_dir_key, None)
    if data_dir is None or session.config.option.collectonly:
        return
    # A cancelled run cleans up as an interrupted one does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _log_to(data_dir / "postgres.log")
    server = Server(Layout(data_dir), durable=False)
    session.config.add_cleanup(server.stop)
    try:
        server.start()
        server.wait_ready()
    except EmbeddedDatabaseError as error:
        pytest.exit(f"the database of the tests: {error}", returncode=3)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test for `make test` or `make test-slow`, because their import takes long."""
    marks, is_slow = config.option.markexpr, is_slow_path(collection_path)
    if marks == NOT_SLOW_TESTS and is_slow:
        return True
    is_file = collection_path.name.startswith("test_")
    if marks == SLOW_TESTS and is_file and not is_slow and not has_slow_marks(collection_path):
        return True
    return None


def is_slow_path(path: Path) -> bool:
    """Whether all tests of a file or directory are slow."""
    if not path.is_relative_to(ROOT):
        return False
    name = path.relative_to(ROOT).as_posix()
    return _turn_of(f"{name}/" if path.is_dir() else name) < len(SLOW)


def has_slow_marks(path: Path) -> bool:
    """Whether some tests of another file can be slow."""
    return _SLOW_MARK in path.read_text()


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> object:
    """Run everything with room on the call stack: a run then takes a fifth less processor time."""
    others = config.pluginmanager.subset_hook_caller("pytest_cmdline_main", [sys.modules[__name__]])
    return with_room(others)(config=config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """In each process of the run; garbage collections of the tests are rare, and pass over all test modules.

    In a new checkout the first worker compiles the modules for all: that takes longer than their import.
    """
    with first_alone("collection") if "PYTEST_XDIST_WORKER" in os.environ else nullcontext(), importing():
        collected = yield
    # With Python's own thresholds garbage collection takes a twentieth of the CPU time of most tests.
    gc.set_threshold(20_000, 20, 20)
    return collected


class Scheduling(LoadFileScheduling):
    """Give each process whole files, as `--dist loadfile` does. The directory `TOGETHER` counts as a file."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER if nodeid.startswith(TOGETHER) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """Use ours instead of that of `--dist loadfile`."""
    return Scheduling(config, log) if config.option.dist == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow tests first, and mark them before pytest selects tests by their marks.

    Skip tests that need a program which OPSAPI_TEST_REQUIRE does not name, and say so.
    """
    items.sort(key=_turn)  # stable: tests with the same turn keep their order
    for item in items:
        if _turn(item) < len(SLOW):
            item.add_marker(pytest.mark.slow)
        elif item.get_closest_marker("slow") and not has_slow_marks(item.path):
            raise pytest.UsageError(f"{item.nodeid}: its file must have the words {_SLOW_MARK}")
    required = frozenset(os.environ.get(REQUIRE, "").replace(",", " ").split())
    if unknown := required - PROGRAMS:
        raise pytest.UsageError(f"{REQUIRE}: no test needs {', '.join(sorted(unknown))}")
    for item in items:
        for name in (PROGRAMS - required) & {marker.name for marker in item.iter_markers()}:
            item.add_marker(pytest.mark.skip(reason=f"needs {name}; {REQUIRE}={name} runs it"))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Workers of pytest-xdist send these lines with each test's report."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    for report in reports:
        if getattr(report, "when", None) == "call":
            for name, line in report.user_properties:
                if name == SUMMARY:
                    terminalreporter.write_line(line)


def _turn(item: pytest.Item) -> int:
    """The turn of its file. If a slow file came last, one worker would run it while the others are idle."""
    return _turn_of(item.nodeid)


def _turn_of(name: str) -> int:
    found = (turn for turn, start in enumerate(SLOW) if name.startswith(start))
    return next(found, len(SLOW))


def _make_data_dir() -> Path:
    data_dir = Path(tempfile.mkdtemp(prefix="opsapi-test-", dir=MEMORY if has_memory() else None))
    # For root the server runs as another user, who must get through.
    data_dir.chmod(0o711 if os.geteuid() == 0 else 0o700)
    return data_dir


def has_memory() -> bool:
    """Whether the run can keep its files in memory: a copy of a database costs a tenth of the CPU time."""
    try:
        found = os.statvfs(MEMORY)
        available = re.search(r"(?m)^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text())
    except OSError:
        return False
    # Tests install programs and build container images in their directories.
    is_restricted = found.f_flag & (os.ST_NOEXEC | os.ST_NODEV | os.ST_RDONLY)
    memory = int(available[1]) * 1024 if available else 0
    return not is_restricted and min(memory, found.f_bavail * found.f_frsize) >= MEMORY_BYTES


def _set_environment(data_dir: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not _is_foreign(name)}
    # Tests start hundreds of processes: without bytecode each of them compiles the whole project first.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False  # a run of one process keeps its compiled test modules, too
    os.environ.clear()
    os.environ.update(kept)
    secret_from_file(data_dir / "encryption_key")  # as `manage.py prepare` does
    temporary = data_dir / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    tempfile.tempdir = str(temporary)
    os.environ.update({MARK: str(data_dir), "OPSAPI_DATA_DIR": str(data_dir), "OPSAPI_ENV_FILE": os.devnull})
    os.environ["TMPDIR"] = str(temporary)


def _is_foreign(name: str) -> bool:
    return name in FOREIGN or (name.startswith("OPSAPI_") and not name.startswith("OPSAPI_TEST_"))


def _log_to(path: Path) -> None:
    """The server's own lines would turn up in tests that look at the log."""
    handler = logging.FileHandler(path, delay=True)
    for name in ("postgres", "opsapi.embedded"):
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.propagate = False
