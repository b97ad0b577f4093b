"""What `manage.py` says when it cannot do its work: one line, and an exit status that is not zero.

Each test is another way for an error to the end of the process. Which values of which settings are refused:
`test_environment`, `test_listener`, `test_owners` and `test_without_database`.
"""

import socket

import pytest

from tests.processes.platform import RunningPlatform, assert_one_line, free_port

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


def test_a_database_directory_that_is_a_file(platform: RunningPlatform) -> None:
    platform.data_dir.mkdir(mode=0o711)
    (platform.data_dir / "postgres").touch()
    assert_one_line(platform.fail_to_start(), f"{platform.data_dir / 'postgres'}: cannot be created")
