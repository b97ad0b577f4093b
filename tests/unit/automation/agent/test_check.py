"""`--check`: a line for each step, what is wrong in it, and no secret."""

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from automation.agent.__main__ import main
from automation.agent.central import WITHHELD
from automation.agent.check import check
from automation.agent.settings import Settings, SettingsError
from tests.unit.automation.agent.stand_ins import mongod, platform

PROJECT = "0123456789abcdef01234567"
PRIVATE = "private-key-of-the-agent"
PASSWORD = "password-of-the-user"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine has."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a database and a platform that are not there."""
    return Settings(
        url=f"http://127.0.0.1:{_unused_port()}",
        group_id=PROJECT,
        public_key="public",
        private_key=PRIVATE,
        postgresql=(),
        mongodb=[f"mongodb://127.0.0.1:{_unused_port()}"],
        labels={},
        backup_markers={},
        interval=60,
        spool_dir=tmp_path,
        hostname="agent1",
        update=True,
        automation=False,
        automation_dirs=(),
    )


def _unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def lines_of(settings: Settings) -> tuple[bool, list[str]]:
    """Whether everything works, and what is written."""
    lines: list[str] = []
    works = check(lambda: settings, None, lines.append)
    assert all(line.startswith(("ok      ", "FAILED  ")) for line in lines)
    assert PRIVATE not in str(lines)
    assert PASSWORD not in str(lines)
    return works, lines


def failed(lines: list[str]) -> list[str]:
    """The lines of what fails."""
    return [line for line in lines if line.startswith("FAILED")]


def test_everything_works_and_an_empty_report_is_all_that_is_sent(settings: Settings) -> None:
    with mongod() as port, platform(400) as (url, bodies):
        works, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    assert (works, failed(lines)) == (True, [])
    asked = [line.rpartition(": ")[2] for line in lines if f"mongodb 127.0.0.1:{port}: " in line]
    assert asked == [
        "name 127.0.0.1 is 127.0.0.1",
        f"port {port} of 127.0.0.1",
        "hello, without TLS",
        "no log-in, because the connection string has no user",
        "getDiagnosticData",
        "serverStatus",
        "currentOp",
        "listDatabases",
        "dbStats",
        "the server does not describe its process",
    ]
    assert bodies == [b"", b"{}"]
    assert list(settings.spool_dir.iterdir()) == []


def test_what_is_not_there_fails_and_the_rest_is_still_tried(settings: Settings) -> None:
    works, lines = lines_of(settings)
    assert not works
    database, ours = failed(lines)
    assert "mongodb 127.0.0.1" in database
    assert "platform: port" in ours
    assert lines[-1] == f"ok      spool: {settings.spool_dir}"


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        ("serverStatus", 13, "clusterMonitor"),
        ("getDiagnosticData", 13, "clusterMonitor"),
        ("listDatabases", 13, "clusterMonitor"),
        ("dbStats", 13, "clusterMonitor"),
        ("dbStats", 8000, "no dbStats for you"),
    ],
)
def test_a_command_that_is_refused(command: str, code: int, shown: str, settings: Settings) -> None:
    with mongod({command: code}) as port, platform(400) as (url, _):
        works, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    (line,) = failed(lines)
    assert (works, f": {command}: " in line, shown in line) == (False, True, True)


def test_a_command_that_the_server_does_not_know_is_no_fault(settings: Settings) -> None:
    with mongod({"getDiagnosticData": 59}) as port, platform(400) as (url, _):
        works, _ = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    assert works


def test_a_log_in_that_is_refused_ends_with_this_server(settings: Settings) -> None:
    with mongod({"saslStart": 18}) as port, platform(400) as (url, _):
        text = f"mongodb://monitor:{PASSWORD}@127.0.0.1:{port}/"
        works, lines = lines_of(replace(settings, url=url, mongodb=[text]))
    (line,) = failed(lines)
    assert (works, ": log-in: " in line, "authSource" in line) == (False, True, True)
    assert "dbStats" not in str(lines)


def test_members_that_a_server_names_are_tried_too(settings: Settings) -> None:
    gone = f"127.0.0.1:{_unused_port()}"
    with mongod(setName="rs", hosts=[gone]) as port, platform(400) as (url, _):
        _, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    (line,) = failed(lines)
    assert f"mongodb {gone}: " in line
    assert any(line.endswith("replSetGetStatus") for line in lines)


def test_a_router_is_asked_for_its_shards(settings: Settings) -> None:
    with mongod({"listShards": 13}, msg="isdbgrid") as port, platform(400) as (url, _):
        _, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    (line,) = failed(lines)
    assert ": listShards: " in line


@pytest.mark.slow
def test_a_server_without_tls_is_distinguished_from_one_that_is_not_there(settings: Settings) -> None:
    with mongod() as port, platform(400) as (url, _):
        text = f"mongodb://127.0.0.1:{port}/?tls=true"
        _, lines = lines_of(replace(settings, url=url, mongodb=[text]))
    (line,) = failed(lines)
    assert ": TLS and hello: " in line


@pytest.mark.parametrize(
    ("status", "code", "step", "todo"),
    [
        (401, "UNAUTHORIZED", "platform: key public", "PRIVATE_KEY"),
        (403, "USER_UNAUTHORIZED", "platform: role", "GROUP_AGENT"),
        (403, "IP_ADDRESS_NOT_ON_ACCESS_LIST", "platform: role", "access list"),
        (404, "GROUP_NOT_FOUND", "platform: role", "GROUP_ID"),
        (429, "RATE_LIMITED", "platform: role", "minute"),
        (503, "UNAVAILABLE", "platform: role", "As told"),
    ],
)
def test_what_the_platform_refuses(status: int, code: str, step: str, todo: str, settings: Settings) -> None:
    with mongod() as port, platform(status, code) as (url, _):
        works, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    (line,) = failed(lines)
    assert (works, step in line, todo in line) == (False, True, True)


@pytest.mark.parametrize("withheld", [0, 2])
def test_strings_that_the_key_does_not_get_are_said_and_no_fault(withheld: int, settings: Settings) -> None:
    given = {"version": "1", **({"withheldCount": withheld} if withheld else {})}
    with mongod() as port, platform(400, settings=given) as (url, _):
        works, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    assert works
    assert any(WITHHELD in line for line in lines) is bool(withheld)


@pytest.mark.parametrize(("code", "works"), [("HOSTNAME_NOT_OF_KEY", False), ("USER_UNAUTHORIZED", True)])
def test_a_key_for_another_machine(code: str, works: bool, settings: Settings) -> None:
    with mongod() as port, platform(400, automation=code) as (url, _):
        worked, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    assert worked is works
    assert any("agent1" in line and "OPSAPI_AGENT_HOSTNAME" in line for line in failed(lines)) is not works


@pytest.mark.parametrize(("ahead", "fits"), [(0, True), (-290, True), (-310, False), (310, False)])
def test_the_clock(ahead: float, fits: bool, settings: Settings) -> None:
    with mongod() as port, platform(400, ahead=ahead) as (url, _):
        works, lines = lines_of(replace(settings, url=url, mongodb=[f"mongodb://127.0.0.1:{port}"]))
    assert works is fits
    assert any(": clocks: " in line for line in failed(lines)) is not fits


def test_a_connection_string_that_cannot_be_read(settings: Settings) -> None:
    _, lines = lines_of(replace(settings, mongodb=[f"mongodb://user:{PASSWORD}@/?x=%zz"]))
    assert "connection string 1" in failed(lines)[0]


def test_a_postgresql_that_is_not_there(settings: Settings) -> None:
    port = _unused_port()
    uri = f"postgresql://monitor:{PASSWORD}@127.0.0.1:{port}/postgres"
    with platform(400) as (url, _):
        works, lines = lines_of(replace(settings, url=url, mongodb=[], postgresql=[uri, "not a URI"]))
    unreached, unread = failed(lines)
    assert (works, f"postgresql 127.0.0.1:{port}: port" in unreached) == (False, True)
    assert "connection URI 2" in unread


def test_postgresql_without_psycopg(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "automation.agent.postgresql.check", None)
    with platform(400) as (url, _):
        _, lines = lines_of(replace(settings, url=url, mongodb=[], postgresql=["postgresql://db1/"]))
    (line,) = failed(lines)
    assert "psycopg" in line


def test_a_directory_for_the_spool_is_not_created(settings: Settings) -> None:
    directory = settings.spool_dir / "a" / "b"
    _, lines = lines_of(replace(settings, spool_dir=directory))
    assert lines[-1] == f"ok      spool: {directory} will be created"
    assert not directory.parent.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_spool_that_cannot_be_written(settings: Settings) -> None:
    settings.spool_dir.chmod(0o500)
    _, lines = lines_of(settings)
    assert "SPOOL_DIR" in failed(lines)[-1]


def test_a_spool_that_other_users_may_open(settings: Settings) -> None:
    settings.spool_dir.chmod(0o750)
    works, lines = lines_of(settings)
    assert not works
    assert lines[-1].endswith(f"it is open to other users (mode 750): chmod 700 {settings.spool_dir}")


def test_a_spool_that_is_a_file(settings: Settings) -> None:
    path = settings.spool_dir / "file"
    path.touch()
    _, lines = lines_of(replace(settings, spool_dir=path))
    assert "SPOOL_DIR" in failed(lines)[-1]


def test_the_labels_are_shown_if_there_are_any(settings: Settings) -> None:
    _, lines = lines_of(replace(settings, labels={"env": "production", "region": "eu-west-1"}))
    assert lines[-2] == "ok      labels of all hosts: env=production region=eu-west-1"
    assert not any("labels of" in line for line in lines_of(settings)[1])


def test_directories_of_the_automation_are_checked(settings: Settings, tmp_path: Path) -> None:
    there, missing = tmp_path / "there", tmp_path / "missing"
    there.mkdir()
    _, lines = lines_of(replace(settings, automation=True, automation_dirs=(there, missing)))
    assert f"ok      automation: {there}" in lines
    assert any(line.startswith(f"FAILED  automation: {missing}") for line in lines)
    there.chmod(0o777)
    _, lines = lines_of(replace(settings, automation=True, automation_dirs=(there,)))
    assert any(line.startswith(f"FAILED  automation: {there}") for line in lines)


def test_each_fault_of_the_settings_is_a_line() -> None:
    def read() -> Settings:
        raise SettingsError(["one is missing", "another is wrong"])

    lines: list[str] = []
    assert check(read, Path("/etc/agent.toml"), lines.append) is False
    assert [line.rpartition(": ")[2] for line in lines] == ["one is missing", "another is wrong"]


@pytest.fixture
def environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings as the program reads them."""
    values = {
        "URL": settings.url,
        "GROUP_ID": settings.group_id,
        "PUBLIC_KEY": settings.public_key,
        "PRIVATE_KEY": settings.private_key,
        "MONGODB": settings.mongodb[0],
        "SPOOL_DIR": str(settings.spool_dir),
    }
    for name, value in values.items():
        monkeypatch.setenv(f"OPSAPI_AGENT_{name}", value)


@pytest.mark.usefixtures("environment")
def test_the_program_ends_with_1_when_something_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert (printed[0], len(failed(printed))) == ("ok      settings: the environment", 2)


@pytest.mark.usefixtures("environment")
def test_the_program_ends_with_0_when_all_works(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with mongod() as port, platform(400) as (url, _):
        monkeypatch.setenv("OPSAPI_AGENT_URL", url)
        monkeypatch.setenv("OPSAPI_AGENT_MONGODB", f"mongodb://127.0.0.1:{port}")
        assert main(["--check"]) == 0
    assert failed(capsys.readouterr().out.splitlines()) == []
