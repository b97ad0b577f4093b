"""What is measured: the real server on a filled database, the bare limit next to it, a receiver."""

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import requests

from tests.benchmarks.bare import TOTAL_VARIABLE
from tests.benchmarks.client import Address
from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.signer import SigningKey
from tests.benchmarks.size import Filled, Pace, Size
from tests.eventually import eventually
from tests.plugin import FOREIGN
from tests.processes.certificates import make_certificate
from tests.processes.platform import ROOT, RunningPlatform, free_port, installation
from tests.receivers import HttpReceiver

HOST = "127.0.0.1"
_STOP_SECONDS = 15.0
ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "opsapi.settings",
    "OPSAPI_ENV_FILE": os.devnull,
    "OPSAPI_OUTBOUND_ALLOW": "127.0.0.0/8",
    "OPSAPI_WORKERS": "2",
    "OPSAPI_THREADS": "8",
}


@dataclass(frozen=True)
class BenchmarkScene:
    """Everything a row needs."""

    platform: RunningPlatform
    bare_port: int
    bare_pid: int
    receiver: HttpReceiver
    secure_receiver: HttpReceiver
    filled: Filled
    size: Size
    pace: Pace

    @property
    def address(self) -> Address:
        """Of the platform."""
        return HOST, self.platform.port

    @property
    def bare_address(self) -> Address:
        """Of the bare limit."""
        return HOST, self.bare_port

    @property
    def reader(self) -> SigningKey:
        """May read the measured project."""
        return SigningKey(*self.filled.reader)

    @property
    def agent(self) -> SigningKey:
        """May report for the project of the reports."""
        return SigningKey(*self.filled.agent)

    @property
    def fleet_agent(self) -> SigningKey:
        """May report for the project of the fleet."""
        return SigningKey(*self.filled.fleet_agent)

    @property
    def labelled_admin(self) -> SigningKey:
        """May create windows in the project of hosts with labels."""
        return SigningKey(*self.filled.labelled_admin)


@contextmanager
def scene(size: Size, pace: Pace) -> Iterator[BenchmarkScene]:
    """Starts everything, and leaves nothing behind."""
    forget_foreign_settings()
    with (
        TemporaryDirectory() as directory,
        HttpReceiver(keeps_alive=True).running() as receiver,
        _secure_receiver(Path(directory)) as (secure_receiver, certificate),
        installation(**ENVIRONMENT, OPSAPI_OUTBOUND_CA_FILE=str(certificate)) as platform,
    ):
        platform.start()
        filled = _fill(platform, size, receiver.url(), secure_receiver.url())
        with _bare(platform, size, filled) as (port, pid):
            yield BenchmarkScene(platform, port, pid, receiver, secure_receiver, filled, size, pace)
        platform.stop()


@contextmanager
def _secure_receiver(directory: Path) -> Iterator[tuple[HttpReceiver, Path]]:
    """A receiver over TLS and the certificate that the platform has to trust."""
    certificate, key = make_certificate(directory)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HttpReceiver(context, keeps_alive=True).running() as receiver:
        yield receiver, certificate


def forget_foreign_settings() -> None:
    """A developer may have set these for a real installation: the benchmark must not touch that one."""
    for name in [name for name in os.environ if name in FOREIGN or name.startswith("OPSAPI_")]:
        del os.environ[name]


def _fill(platform: RunningPlatform, size: Size, *receivers: str) -> Filled:
    return Filled(**run_in_own_process(platform, "fill", json.dumps(asdict(size)), *receivers))


@contextmanager
def _bare(platform: RunningPlatform, size: Size, filled: Filled) -> Iterator[tuple[int, int]]:
    """The bare limit behind the platform's gunicorn configuration; gives its port and process id."""
    port = free_port()
    environment = {
        **platform.environment,
        "OPSAPI_BIND": f"{HOST}:{port}",
        TOTAL_VARIABLE: str(size.alerts),
    }
    command = [sys.executable, "-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf"]
    command.append("tests.benchmarks.bare:application")
    with (platform.directory / "bare.txt").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stderr=log)
    try:
        url = f"http://{HOST}:{port}/api/public/v1.0/groups/{filled.group_id}/alerts"
        eventually(lambda: _answers(url), message="the bare server answers")
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)


def _answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=30).ok
    except requests.ConnectionError:
        return False
