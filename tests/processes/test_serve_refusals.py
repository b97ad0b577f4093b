"""What `manage.py serve` says when it cannot start: one line, and an exit status that is not zero."""

import os
import socket
from pathlib import Path

import pytest

from tests.integration.embedded.conftest import only_root
from tests.processes.platform import RunningPlatform, assert_one_line, free_port

pytestmark = pytest.mark.processes


def test_a_taken_port(platform: RunningPlatform) -> None:
    with socket.create_server(("127.0.0.1", platform.port)):
        stderr = platform.fail_to_start()
    assert_one_line(stderr, f"127.0.0.1:{platform.port}", "another program uses this port")


def test_an_address_of_another_machine(platform: RunningPlatform) -> None:
    platform.environment["OPSAPI_BIND"] = "192.0.2.1:80"
    assert_one_line(platform.fail_to_start(), "OPSAPI_BIND: cannot listen on 192.0.2.1:80")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPSAPI_BIND", "nonsense", "is not <address>:<port>"),
        ("OPSAPI_WORKERS", "many", "is not a whole number"),
        ("OPSAPI_ACCESS_LIST_EXEMPT", "10.0.0.1/8", "has host bits set"),
        ("OPSAPI_PUBLIC_URL", "http://a/?x=1", "must not have a query"),
        ("DATABASE_URL", "mysql://a/b", "only postgresql:// is supported"),
        ("DATABASE_URL", "foo", "only postgresql:// is supported"),
        ("OPSAPI_BUILD", "abc", "is not 40 hex digits"),
    ],
)
def test_a_malformed_setting(platform: RunningPlatform, name: str, value: str, words: str) -> None:
    platform.environment[name] = value
    assert_one_line(platform.fail_to_start(), f"{name}: ", words)


def test_half_of_what_tls_needs(platform: RunningPlatform) -> None:
    platform.environment["OPSAPI_TLS_CERT"] = "cert.pem"
    assert_one_line(platform.fail_to_start(), "OPSAPI_TLS_CERT and OPSAPI_TLS_KEY: set both or neither")


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


def test_a_command_while_another_server_is_away(platform: RunningPlatform) -> None:
    port = free_port()
    platform.environment["DATABASE_URL"] = f"postgresql://ada:hunter2@127.0.0.1:{port}/ops"
    done = platform.manage("access_list", "list")
    assert (done.returncode, done.stdout) == (1, "")
    assert_one_line(done.stderr, f"DATABASE_URL (127.0.0.1, port {port}) cannot be reached", "refused")
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("command", ["bootstrap", "prepare", "check"])
def test_a_command_with_a_malformed_setting(platform: RunningPlatform, command: str) -> None:
    platform.environment["DATABASE_URL"] = "foo"
    done = platform.manage(command)
    assert done.returncode == 1
    assert_one_line(done.stderr, "DATABASE_URL: only postgresql:// is supported")


def test_a_data_directory_that_is_none(platform: RunningPlatform) -> None:
    platform.data_dir.write_text("a file")
    assert_one_line(platform.fail_to_start(), str(platform.data_dir))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_directory_that_cannot_be_written(platform: RunningPlatform) -> None:
    platform.data_dir.mkdir(mode=0o500)
    assert_one_line(platform.fail_to_start(), str(platform.data_dir), "Permission denied")


@only_root
def test_a_database_directory_of_another_owner(platform: RunningPlatform) -> None:
    home = platform.data_dir / "postgres"
    home.mkdir(parents=True, mode=0o700)
    platform.data_dir.chmod(0o711)
    os.chown(home, 65534, 65534)
    assert_one_line(platform.fail_to_start(), f"{home}: belongs to user id 65534")


@only_root
def test_a_directory_closed_to_the_database(platform: RunningPlatform) -> None:
    Path(platform.directory).chmod(0o700)
    assert_one_line(platform.fail_to_start(), f"cannot enter {platform.directory} (mode 0700)")
