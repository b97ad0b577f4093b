"""The system user that runs PostgreSQL for root is created once, also by starts at the same time."""

import fcntl
import os
import pwd
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opsapi.embedded import owner
from opsapi.embedded.owner import Owner, server_owner

CREATED = Owner(owner.SYSTEM_USER, 994, 993)


@pytest.fixture(autouse=True)
def accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another directory of accounts, for root."""
    monkeypatch.setattr(owner, "ACCOUNTS", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: "/usr/sbin/useradd")
    return tmp_path


def found_at_look(number: int) -> Callable[[str], pwd.struct_passwd]:
    """A look-up of the user, who is there from this look on."""
    looks = iter(range(1, 10))

    def getpwnam(name: str) -> pwd.struct_passwd:
        if next(looks) < number:
            raise KeyError(name)
        return pwd.struct_passwd((name, "x", CREATED.uid, CREATED.gid, "", "/", "/bin/false"))

    return getpwnam


def test_only_a_process_at_a_time_creates_it(accounts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []

    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        other = os.open(accounts, os.O_RDONLY)
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.append(True)
        finally:
            os.close(other)
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(pwd, "getpwnam", found_at_look(3))
    assert server_owner() == CREATED
    assert held == [True]


def test_it_stays_as_another_process_has_created_it_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        raise AssertionError("useradd would replace its user id")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(pwd, "getpwnam", found_at_look(2))
    assert server_owner() == CREATED
