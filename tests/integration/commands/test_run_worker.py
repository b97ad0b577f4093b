"""A worker stops on a signal, and for no other reason."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.eventually import DEADLINE, eventually
from tests.processes.platform import ROOT

SECONDS = 0.3
_SCRIPT = f"""
import django, signal
django.setup()
from alerting.management.commands.run_worker import _STOPPING, _stop_within
signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
print("waiting", flush=True)
while not _stop_within({SECONDS}):
    pass
"""


@pytest.mark.slow
def test_a_suspended_worker_continues_until_it_is_stopped() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "opsapi.settings"}
    command = [sys.executable, "-c", _SCRIPT]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE) as worker:
        try:
            assert worker.stdout is not None
            assert worker.stdout.readline() == b"waiting\n"
            for _ in range(3):
                _stop_until_after_its_wait(worker.pid)
            assert worker.poll() is None
            worker.terminate()
            assert worker.wait(DEADLINE) == 0
        finally:
            worker.kill()


def _stop_until_after_its_wait(pid: int) -> None:
    """Stopped while it waits, continued when the wait is over by the clock."""
    eventually(lambda: _state(pid) in "SZ")
    os.kill(pid, signal.SIGSTOP)
    eventually(lambda: _state(pid) in "TZ")
    over = time.monotonic() + SECONDS
    eventually(lambda: time.monotonic() > over)
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: _state(pid) in "SZ")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
