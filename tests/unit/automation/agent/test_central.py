"""Settings from the platform: settings of the machine win, others apply, and wrong values have no effect."""

import logging
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from automation.agent.central import FILE, NOTHING, PLATFORM, CentralSource, merged, read_central
from automation.agent.check import check
from automation.agent.client import PlatformAnswer, Unreachable
from automation.agent.engines import Engines
from automation.agent.settings import Settings, SettingsError, read_settings
from tests.each import each
from tests.unit.automation.agent.stand_ins import platform

OWN = {
    "OPSAPI_AGENT_URL": "https://ops.example.com",
    "OPSAPI_AGENT_GROUP_ID": "0123456789abcdef01234567",
    "OPSAPI_AGENT_PUBLIC_KEY": "ABCDEFGH",
    "OPSAPI_AGENT_PRIVATE_KEY": "a-private-key",
    "OPSAPI_AGENT_HOSTNAME": "agent1.example.com",
    "HOME": "/home/agent",
}
SENT: Mapping[str, Any] = {
    "version": "1",
    "mongodb": ["mongodb://u:hidden@db1", "mongodb://db2"],
    "postgresql": ["postgresql://u:hidden@db3"],
    "intervalSeconds": 20,
    "labels": {"env": "a value"},
}


class StandInClient:
    """A platform that gives these answers in turn, and raises answers that are errors."""

    def __init__(self, *answers: PlatformAnswer | Exception) -> None:
        self.answers = list(answers)
        self.versions: list[str] = []

    def settings(self, version: str = "") -> PlatformAnswer:
        """The next answer."""
        self.versions.append(version)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def answered(status: int = 200, **document: Any) -> PlatformAnswer:
    """An answer."""
    return PlatformAnswer(status, document, None)


def own(directory: Path, **named: str) -> Settings:
    """The settings of a machine."""
    more = {f"OPSAPI_AGENT_{name}": value for name, value in named.items()}
    return read_settings({**OWN, "OPSAPI_AGENT_SPOOL_DIR": str(directory), **more})


def source(directory: Path, *answers: PlatformAnswer | Exception) -> tuple[CentralSource, StandInClient]:
    """A source, and the platform that it asks."""
    client: Any = StandInClient(*answers)
    return CentralSource(client, own(directory)), client


@pytest.fixture
def engines() -> Iterator[Any]:
    """Makes engines, which are closed when the test ends."""
    with ExitStack() as stack:

        def made(settings: Settings) -> Engines:
            found = Engines(settings)
            stack.callback(found.close)
            return found

        yield made


class TestMerging:
    """Each setting has one source."""

    def test_the_platform_gives_what_the_machine_does_not_name(self, tmp_path: Path) -> None:
        found = merged(own(tmp_path), read_central(SENT))
        assert (found.mongodb, found.postgresql) == (tuple(SENT["mongodb"]), tuple(SENT["postgresql"]))
        assert (found.interval, found.labels) == (20, {"env": "a value"})
        assert {name for name, place in found.sources.items() if place == PLATFORM} == {
            *("mongodb", "postgresql", "interval", "labels")
        }

    @each(
        ("name", "value"),
        [
            ("MONGODB", "mongodb://own"),
            ("POSTGRESQL", "postgresql://own"),
            ("INTERVAL", "60"),
            ("LABELS", "a=b"),
        ],
    )
    def test_what_the_machine_names_wins_and_only_that(self, tmp_path: Path, name: str, value: str) -> None:
        machine = own(tmp_path, **{name: value})
        found = merged(machine, read_central(SENT))
        field = name.lower()
        assert getattr(found, field) == getattr(machine, field)
        assert found.sources[field] == "the environment"
        assert sum(place == PLATFORM for place in found.sources.values()) == 3

    @each("document", [{}, {"version": "0", "mongodb": [], "postgresql": []}])
    def test_an_empty_answer_means_nothing(self, tmp_path: Path, document: Mapping[str, Any]) -> None:
        machine = own(tmp_path, MONGODB="mongodb://own")
        assert merged(machine, read_central(document)) == machine

    @each(
        "changes",
        [
            {"mongodb": ["two words hidden", "mongodb://db2"]},
            {"mongodb": [1, "mongodb://db2"]},
            {"mongodb": "hidden"},
            {"intervalSeconds": 1},
            {"intervalSeconds": True},
            {"intervalSeconds": "20"},
            {"labels": {"__name": "hidden"}},
            {"labels": {"a": 1}},
            {"labels": ["hidden"]},
        ],
    )
    def test_a_wrong_value_is_ignored_alone_and_not_quoted(self, changes: Mapping[str, Any]) -> None:
        found = read_central({**SENT, **changes})
        (fault,) = found.faults
        assert "hidden" not in fault
        assert found.postgresql == tuple(SENT["postgresql"])
        if isinstance(changes.get("mongodb"), list):
            assert found.mongodb == ("mongodb://db2",)

    def test_no_secret_is_in_their_representation(self) -> None:
        assert "hidden" not in repr(read_central(SENT))


class TestSource:
    """It asks by version, and stores what it gets."""

    def test_newer_settings_are_stored_for_this_user_alone_and_read_at_the_next_start(
        self, tmp_path: Path
    ) -> None:
        first, _ = source(tmp_path, answered(**SENT))
        first.refresh()
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
        second, client = source(tmp_path, Unreachable("away"), answered(304))
        second.refresh()
        assert (second.current, bool(second.failure)) == (first.current, True)
        second.refresh()
        assert (second.current, second.failure) == (first.current, "")
        assert client.versions == ["1", "1"]

    def test_stored_settings_of_another_project_are_not_used(self, tmp_path: Path) -> None:
        first, _ = source(tmp_path, answered(**SENT))
        first.refresh()
        client: Any = StandInClient()
        other = own(tmp_path, GROUP_ID="f" * 24)
        assert CentralSource(client, other).current == NOTHING

    @each(
        "octets",
        [
            b"",
            b"[]",
            b"null",
            b'{"of": 1}',
            b"\xff",
            b'{"of": "https://ops.example.com 0123456789abcdef01234567", "settings": []}',
        ],
    )
    def test_a_damaged_file_counts_as_none(self, octets: bytes, tmp_path: Path) -> None:
        (tmp_path / FILE).write_bytes(octets)
        found, _ = source(tmp_path)
        assert found.current == NOTHING

    def test_a_platform_without_the_endpoint_is_fine(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        found, _ = source(tmp_path, answered(404, errorCode="RESOURCE_NOT_FOUND"))
        found.refresh()
        assert (found.current, found.failure) == (NOTHING, "")
        assert caplog.records == []

    @each(
        ("status", "code"),
        [(403, "USER_UNAUTHORIZED"), (404, "GROUP_NOT_FOUND"), (503, "SERVICE_UNAVAILABLE"), (200, "")],
    )
    def test_after_any_other_answer_the_settings_stay(self, status: int, code: str) -> None:
        client: Any = StandInClient(answered(**SENT), answered(status, errorCode=code))
        found = CentralSource(client, own(Path("/nowhere")))
        found.refresh()
        found.refresh()
        assert found.current == read_central(SENT)
        assert found.failure
        assert found.seconds < 100

    def test_a_failure_is_logged_once_and_no_line_has_a_secret(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO)
        away = Unreachable("away")
        found, _ = source(tmp_path, away, away, answered(**SENT))
        for _ in range(3):
            found.refresh()
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
        assert "hidden" not in caplog.text

    def test_a_disk_that_cannot_be_written_is_logged(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        client: Any = StandInClient(answered(**SENT))
        found = CentralSource(client, own(tmp_path / "missing"))
        found.refresh()
        assert found.current == read_central(SENT)
        assert [record.levelname for record in caplog.records] == ["ERROR"]


class TestEngines:
    """They are built again when their connection strings change."""

    def test_an_engine_whose_servers_stay_is_kept(self, tmp_path: Path, engines: Any) -> None:
        settings = merged(own(tmp_path), read_central(SENT))
        found = engines(settings)
        mongodb, postgresql = found.all
        assert found.change(merged(own(tmp_path), read_central({**SENT, "intervalSeconds": 5}))) is False
        assert found.change(merged(own(tmp_path), read_central({**SENT, "mongodb": ["mongodb://db9"]})))
        assert found.all[0] is not mongodb
        assert found.all[1] is postgresql
        assert found.change(own(tmp_path))
        assert found.all == []

    def test_a_wrong_string_of_the_platform_is_logged_and_the_others_are_watched(
        self, tmp_path: Path, engines: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        wrong = ["mongodb://db1", "mongodb://u:hid/den@db2", "mongodb://db3"]
        found = engines(merged(own(tmp_path), read_central({"version": "1", "mongodb": wrong})))
        assert [str(target.address) for target in found.all[0].targets()] == ["db1:27017", "db3:27017"]
        (record,) = caplog.records
        assert "connection string 2 " in record.getMessage()
        assert "hid" not in record.getMessage()

    def test_a_server_that_a_second_uri_of_the_platform_names_again_is_watched_once(
        self, tmp_path: Path, engines: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        twice = ["postgresql://db1", "postgresql://db1/other", "postgresql://db2"]
        found = engines(merged(own(tmp_path), read_central({"version": "1", "postgresql": twice})))
        assert [target.address.hostname for target in found.all[0].targets()] == ["db1", "db2"]
        assert "connection URI 2 " in caplog.text

    def test_a_managed_server_is_watched_although_its_user_may_not_exist_yet(
        self, tmp_path: Path, engines: Any
    ) -> None:
        settings, managed = own(tmp_path, MONGODB="mongodb://u:p@db1"), ("mongodb://u:p@db2",)
        found = engines(settings)
        assert found.change(settings, managed)
        targets = found.all[0].targets()
        assert [(target.address.hostname, target._access.is_optional) for target in targets] == [
            ("db1", False),
            ("db2", True),
        ]
        assert not found.change(settings, managed)
        assert found.change(own(tmp_path), managed)
        assert [target.address.hostname for target in found.all[0].targets()] == ["db2"]
        assert found.change(own(tmp_path))
        assert found.all == []

    def test_a_wrong_string_of_the_machine_is_refused(self, tmp_path: Path, engines: Any) -> None:
        with pytest.raises(SettingsError):
            engines(own(tmp_path, MONGODB="mongodb://u:hid/den@db1"))


class TestCheck:
    """`--check` says where each setting comes from."""

    def test_each_setting_has_its_source(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("no_proxy", "*")
        with platform(400, settings={"version": "1", "intervalSeconds": 20}) as (url, _):
            lines: list[str] = []
            check(lambda: own(tmp_path, URL=url, LABELS="a=b"), None, lines.append)
        names = {
            source: set(given.split(", "))
            for source, given in (
                line.removeprefix("ok      settings from ").split(": ")
                for line in lines
                if line.startswith("ok      settings from ")
            )
        }
        assert names["the platform"] == {"OPSAPI_AGENT_INTERVAL"}
        assert "OPSAPI_AGENT_LABELS" in names["the environment"]
        assert "OPSAPI_AGENT_MONGODB" in names["the default"]
        assert [line for line in lines if line.startswith("FAILED  databases")]

    def test_an_offered_version_has_a_line_and_is_no_fault(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("no_proxy", "*")
        offer = {"version": "2.0", "sha256": "0" * 64, "size": 1}
        with platform(400, settings={"version": "1", "agentFile": offer}) as (url, _):
            lines: list[str] = []
            check(lambda: own(tmp_path, URL=url), None, lines.append)
        [line] = [line for line in lines if "version 2.0" in line]
        assert line.startswith("ok ")
        assert "not a single file" in line
        assert not (tmp_path / FILE).exists()
