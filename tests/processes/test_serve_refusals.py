"""What `manage.py` says when it cannot do its work: one line, and an exit status that is not zero.

Each test is another way for an error to the end of the process. Which values of which settings are refused:
`test_environment`, `test_listener`, `test_owners` and `test_without_database`.
"""

import socket
import subprocess
import sys

import pytest

from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from tests.integration.embedded.sql import run_sql
from tests.processes.platform import ROOT, RunningPlatform, assert_one_line, free_port

pytestmark = pytest.mark.processes


def test_a_taken_port(platform: RunningPlatform) -> None:
    with socket.create_server(("127.0.0.1", platform.port)):
        stderr = platform.fail_to_start()
    assert_one_line(stderr, f"127.0.0.1:{platform.port}", "another program uses this port")


def test_a_malformed_setting(platform: RunningPlatform) -> None:
    platform.environment["DATABASE_URL"] = "foo"
    refused = platform.manage("prepare")
    assert refused.returncode == 1
    for stderr in (platform.fail_to_start(), refused.stderr):
        assert_one_line(stderr, "DATABASE_URL: only postgresql:// is supported")


def test_a_certificate_that_is_not_there(platform: RunningPlatform) -> None:
    platform.environment |= {"OPSAPI_TLS_CERT": "/nowhere/c.pem", "OPSAPI_TLS_KEY": "/nowhere/k.pem"}
    assert_one_line(platform.fail_to_start(), "OPSAPI_TLS_CERT and OPSAPI_TLS_KEY: cannot be used")


def test_a_database_that_cannot_be_reached(platform: RunningPlatform) -> None:
    platform.environment["DATABASE_URL"] = f"postgresql://ada:hunter2@127.0.0.1:{free_port()}/ops"
    stderr = platform.fail_to_start()
    assert_one_line(stderr, "the database cannot be reached", "Connection refused")
    assert "hunter2" not in stderr


def test_a_command_while_the_platform_does_not_run(platform: RunningPlatform) -> None:
    done = platform.manage("bootstrap", "ada")
    assert (done.returncode, done.stdout) == (1, "")
    assert_one_line(done.stderr, f"the embedded database in {platform.data_dir} is not running", "make run")


def test_a_migration_that_fails_is_the_last_line_below_what_the_database_logs(
    prepared: RunningPlatform,
) -> None:
    layout = Layout(prepared.data_dir)
    server = Server(layout)
    server.start()
    try:
        server.wait_ready()
        run_sql(layout, "DELETE FROM django_migrations WHERE app = 'sessions'")
    finally:
        server.stop()
    lines = prepared.fail_to_start().splitlines()
    assert any("database system is shut down" in line for line in lines[:-1])
    assert "migration sessions.0001_initial failed" in lines[-1]
    assert "already exists" in lines[-1]
    assert not any("Traceback" in line for line in lines)
    assert prepared.output == ""


_OF_MAKE = frozenset({"MAKELEVEL", "MAKEFLAGS", "MFLAGS"})


def test_make_adds_one_line_of_its_own(platform: RunningPlatform) -> None:
    """`make run`: only make can leave out the line that names the failed target."""
    # The tests may run below make, whose variables would make this make its child.
    outside = {name: value for name, value in platform.environment.items() if name not in _OF_MAKE}
    environment = {**outside, "OPSAPI_WORKERS": "many"}
    command = ["make", "--no-print-directory", "-o", "install", "-C", str(ROOT), "run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    reason, added = done.stderr.splitlines()
    assert "OPSAPI_WORKERS: 'many'" in reason
    assert added.startswith("make: ***")


def test_the_web_processes_of_a_unit_name_a_wrong_setting_last(platform: RunningPlatform) -> None:
    """As opsapi-web.service starts them."""
    environment = {**platform.environment, "OPSAPI_WORKERS": "many"}
    command = [sys.executable, "-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf", "opsapi.wsgi"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert_one_line(done.stderr, "OPSAPI_WORKERS: 'many'")


def test_the_web_processes_of_a_unit_name_a_wrong_certificate_last(platform: RunningPlatform) -> None:
    missing = {"OPSAPI_TLS_CERT": "/nowhere/c.pem", "OPSAPI_TLS_KEY": "/nowhere/k.pem"}
    environment = {**platform.environment, **missing, "OPSAPI_ENCRYPTION_KEYS": "e" * 64}
    command = [sys.executable, "-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf", "opsapi.wsgi"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert_one_line(done.stderr, "OPSAPI_TLS_CERT and OPSAPI_TLS_KEY: cannot be used")


def test_a_database_directory_that_is_a_file(platform: RunningPlatform) -> None:
    platform.data_dir.mkdir(mode=0o711)
    (platform.data_dir / "postgres").touch()
    assert_one_line(platform.fail_to_start(), f"{platform.data_dir / 'postgres'}: cannot be created")
