"""`deploy/` as it is shipped, put up on this machine: its settings, its units' commands, its nginx."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.deployment import ENVIRONMENT, HOME, NGINX, PYTHON, environment, read_unit
from tests.documents import DEPLOY, blocks
from tests.eventually import eventually
from tests.processes.certificates import make_certificate
from tests.processes.platform import AS_INSTALLED, ROOT, free_port

NAME = "ops.example.com"
GUIDE = ROOT / "docs" / "how-to" / "deploy.md"
STOP_SECONDS = 120.0
_WRAPPER = """\
{user}daemon off;
pid {home}/nginx.pid;
error_log stderr;
{connections}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    include {home}/site.conf;
}}
"""


class Deployed:
    """The machine `ops.example.com`: nginx on two ports, and what the units start behind it."""

    def __init__(self, directory: Path, database_url: str, *, rsa_bits: int | None = None) -> None:
        """Everything it writes is below `directory`. `rsa_bits`: of the key of its certificate."""
        self.directory = directory
        self.web_port, self.plain_port, self.port = free_port(), free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.certificate, self._key = make_certificate(directory, NAME, rsa_bits=rsa_bits)
        self._environment = {
            **_bare_environment(),
            "PYTHONPATH": str(AS_INSTALLED),
            "OPSAPI_ENV_FILE": str(self._settings(database_url)),
        }

    def start_unit(self, name: str) -> subprocess.Popen[bytes]:
        """What a unit runs, with what it is given; its log in a file of its name."""
        words = [sys.executable if word == PYTHON else word for word in read_unit(DEPLOY / name).command]
        with self.log_of(name).open("ab") as log:
            return subprocess.Popen(words, cwd=ROOT, env=self._environment, stdout=log, stderr=log)

    @staticmethod
    def reload(name: str, process: subprocess.Popen[bytes]) -> None:
        """Run the command of a unit that reloads its process, as systemd does."""
        command = read_unit(DEPLOY / name).value("Service", "ExecReload")
        subprocess.run(shlex.split(command.replace("$MAINPID", str(process.pid))), check=True)

    def log_of(self, name: str) -> Path:
        """Where a unit's log is."""
        return self.directory / f"{name}.log"

    @contextmanager
    def running(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """A unit, until the block ends."""
        process = self.start_unit(name)
        try:
            yield process
        finally:
            _end(process)

    @contextmanager
    def nginx(self) -> Iterator[None]:
        """nginx with the shipped file, at the ports and with the certificate of this run."""
        conf = self.directory / "nginx.conf"
        user = "user root root;\n" if os.geteuid() == 0 else ""
        connections = nginx_block("worker_connections")
        conf.write_text(_WRAPPER.format(user=user, home=self.directory, connections=connections))
        (self.directory / "site.conf").write_text(_replaced(NGINX, self._nginx_places()))
        with self.log_of("nginx").open("wb") as log:
            process = subprocess.Popen(["nginx", "-p", str(self.directory), "-c", str(conf)], stderr=log)
        try:
            pid = self.directory / "nginx.pid"
            eventually(lambda: pid.exists() or process.poll() is not None, message="nginx")
            assert process.poll() is None, self.log_of("nginx").read_text()
            yield
        finally:
            _end(process)

    def _settings(self, database_url: str) -> Path:
        shipped = environment()
        places = {
            shipped["DATABASE_URL"]: database_url,
            "\nSECRET_KEY=\n": f"\nSECRET_KEY={'s' * 64}\n",
            "\nOPSAPI_ENCRYPTION_KEYS=\n": f"\nOPSAPI_ENCRYPTION_KEYS={'e' * 64}\n",
            "OPSAPI_BIND=127.0.0.1:8000": f"OPSAPI_BIND=127.0.0.1:{self.web_port}",
            "=/var/lib/opsapi": f"={self.directory}/state",
        }
        path = self.directory / "opsapi.env"
        path.write_text(_replaced(ENVIRONMENT, places))
        return path

    def _nginx_places(self) -> dict[str, str]:
        return {
            "server 127.0.0.1:8000 ": f"server 127.0.0.1:{self.web_port} ",
            "listen 80;": f"listen 127.0.0.1:{self.plain_port};",
            "listen [::]:80;": "",
            "listen 443 ssl http2 ": f"listen 127.0.0.1:{self.port} ssl http2 ",
            "listen [::]:443 ssl http2 backlog=4096 sndbuf=256k;": "",
            f"/etc/nginx/tls/{NAME}.crt": str(self.certificate),
            f"/etc/nginx/tls/{NAME}.key": str(self._key),
        }


def nginx_block(directive: str) -> str:
    """The lines that the guide has for nginx and that contain the directive."""
    found = (block.text for block in blocks(GUIDE) if block.language == "nginx")
    (lines,) = (text for text in found if directive in text)
    return lines


def _bare_environment() -> dict[str, str]:
    """What systemd gives a unit, nearly: the settings come from the file alone."""
    kept = ("PATH", "LANG", "HOME")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _replaced(path: Path, places: Mapping[str, str]) -> str:
    text = path.read_text()
    for there, here in places.items():
        assert there in text, f"{path.name}: {there}"
        text = text.replace(there, here)
    assert HOME not in text
    return text


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
