"""Versions: the last released version, run as the units of `deploy/` run it, and a clone to be released."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests

from opsapi import VERSION
from tests.eventually import eventually
from tests.processes.platform import ROOT

RELEASED = "049523ace210482ccc105f2e513b1430921405d1"
"""The commit of the version that people upgrade from."""
STOP_SECONDS = 120.0
TAG = f"v{VERSION}"
"""Of the present version."""
_PERSON = ("-c", "user.name=A Maintainer", "-c", "user.email=maintainer@example.com")


def released_code(directory: Path) -> Path:
    """Its files, in a directory.

    A source archive and a shallow clone have no history: the test is skipped there. In a whole clone without
    the commit it fails.
    """
    if not (ROOT / ".git").exists() or (ROOT / ".git/shallow").exists():
        pytest.skip("the released version needs the whole history (git fetch --unshallow)")
    archive = directory / "released.tar"
    command = ["git", "-C", str(ROOT), "archive", "--output", str(archive), RELEASED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code = directory / "released"
    code.mkdir()
    subprocess.run(["tar", "-xf", str(archive), "-C", str(code)], check=True)
    return code


def tagged_clone(directory: Path) -> Path:
    """Clone the present version into the new directory, with a commit and a tag to be released.

    A source archive has no history: the test is skipped there.
    """
    if not (ROOT / ".git").exists():
        pytest.skip("a source archive has no history to clone")
    subprocess.run(["git", "clone", "--quiet", "--no-local", ROOT, directory], check=True)
    changes = directory / "CHANGELOG.md"
    released = changes.read_text().replace(f"## {VERSION} — unreleased", f"## {VERSION} — 2026-01-02")
    changes.write_text(released)
    git(directory, *_PERSON, "commit", "--quiet", "--allow-empty", "--all", "--message", f"Release {VERSION}")
    git(directory, "tag", TAG)
    return directory


def git(directory: Path, *arguments: str) -> None:
    """Run git in a clone; it has to succeed."""
    subprocess.run(["git", "-C", directory, *arguments], check=True, capture_output=True)


class CodeVersion:
    """Code of the platform, at an installation that other versions use at the same time."""

    def __init__(self, code: Path, environment: Mapping[str, str], port: int) -> None:
        """`environment` names the installation; web processes listen at `port`."""
        self.code = code
        self.address = f"http://127.0.0.1:{port}"
        self._environment = {**environment, "OPSAPI_BIND": f"127.0.0.1:{port}"}

    def manage(self, *arguments: str) -> str:
        """What a command writes to stdout; it has to succeed."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=self.code, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    @contextmanager
    def web(self) -> Iterator[ExitStack]:
        """Web processes that answer, until the block ends or its value is closed."""
        command = ("-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf", "opsapi.wsgi")
        with ExitStack() as stack:
            stack.enter_context(self._running(*command))
            eventually(self._answers, message="the web processes answer")
            yield stack

    @contextmanager
    def worker(self) -> Iterator[None]:
        """A worker, until the block ends."""
        with self._running("manage.py", "run_worker"):
            yield

    def migrations(self) -> dict[str, dict[str, bytes]]:
        """Its migrations by app and name."""
        found: dict[str, dict[str, bytes]] = {}
        for path in self.code.glob("*/migrations/0*.py"):
            found.setdefault(path.parent.parent.name, {})[path.stem] = path.read_bytes()
        return found

    def _answers(self) -> bool:
        try:
            return requests.get(f"{self.address}/health/live", timeout=60).status_code == 200
        except requests.ConnectionError:
            return False

    @contextmanager
    def _running(self, *arguments: str) -> Iterator[None]:
        with subprocess.Popen(
            [sys.executable, *arguments], cwd=self.code, env=self._environment, stderr=subprocess.DEVNULL
        ) as process:
            try:
                yield
            finally:
                process.terminate()
                status = process.wait(STOP_SECONDS)
        assert status == 0
