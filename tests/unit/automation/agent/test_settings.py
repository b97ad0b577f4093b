"""Settings of the agent: read whole, or refused with a line for each fault."""

import json
import os
import re
import threading
from pathlib import Path

import pytest

from automation.agent.settings import NAMES, SettingsError, read_settings
from automation.labels import RESERVED_NAMES
from tests.documents import ROOT, blocks
from tests.each import each

HOW_TO = ROOT / "docs" / "how-to"
GUIDES = [HOW_TO / "add-an-agent.md", *HOW_TO.glob("watch-*.md")]
GOOD = {
    "OPSAPI_AGENT_URL": "https://ops.example.com/",
    "OPSAPI_AGENT_GROUP_ID": "0123456789abcdef01234567",
    "OPSAPI_AGENT_PUBLIC_KEY": "ABCDEFGH",
    "OPSAPI_AGENT_PRIVATE_KEY": "a-private-key",
    "OPSAPI_AGENT_MONGODB": "mongodb://db1.example.com  mongodb://db2.example.com",
    "HOME": "/home/agent",
    "OPSAPI_AGENT_HOSTNAME": "agent1.example.com",
}


def faults(environment: dict[str, str], config: Path | None = None) -> list[str]:
    """The lines of a refusal."""
    with pytest.raises(SettingsError) as refusal:
        read_settings(environment, config)
    return list(refusal.value.faults)


def test_it_reads_them_from_the_environment() -> None:
    settings = read_settings(GOOD)
    assert settings.url == "https://ops.example.com"
    assert settings.mongodb == ("mongodb://db1.example.com", "mongodb://db2.example.com")
    assert (settings.interval, settings.hostname) == (60, "agent1.example.com")


def test_automation_is_off_and_needs_directories() -> None:
    assert read_settings(GOOD).automation is False
    on = {**GOOD, "OPSAPI_AGENT_AUTOMATION": "on"}
    (line,) = faults(on)
    assert line.startswith("OPSAPI_AGENT_AUTOMATION_DIRS is missing")
    settings = read_settings({**on, "OPSAPI_AGENT_AUTOMATION_DIRS": "/srv/mongodb:/var/lib/mongo"})
    assert settings.automation is True
    assert settings.automation_dirs == (Path("/srv/mongodb"), Path("/var/lib/mongo"))


def test_no_secret_is_in_their_representation() -> None:
    shown = repr(read_settings({**GOOD, "OPSAPI_AGENT_MONGODB": "mongodb://u:hidden@db1"}))
    assert "hidden" not in shown
    assert "a-private-key" not in shown


def test_each_missing_setting_has_a_line() -> None:
    lines = faults({})
    names = ("URL", "GROUP_ID", "PUBLIC_KEY", "PRIVATE_KEY")
    for name, line in zip(names, lines, strict=True):
        assert line.startswith(f"OPSAPI_AGENT_{name} is missing")


@each(
    ("name", "value"),
    [
        ("URL", "ops.example.com"),
        ("URL", "ftp://ops.example.com"),
        ("URL", "https://user:secret-word@ops.example.com"),
        ("URL", "https://ops.example.com/?a=b"),
        ("URL", "https://ops.example.com:0"),
        ("URL", "https://ops.example.com:99999"),
        ("GROUP_ID", "0123456789ABCDEF01234567"),
        ("GROUP_ID", "0123"),
        ("PUBLIC_KEY", "two words"),
        ("PRIVATE_KEY", "secret-word\nX: y"),
        ("INTERVAL", "1"),
        ("INTERVAL", "181"),
        ("INTERVAL", "2.5"),
        ("INTERVAL", "-2"),
        ("UPDATE", "yes"),
        ("AUTOMATION", "yes"),
        ("AUTOMATION_DIRS", "relative/path"),
        ("AUTOMATION_DIRS", "/srv:/"),
        ("SPOOL_DIR", "relative/path"),
        ("HOSTNAME", "under_score"),
    ],
)
def test_it_refuses_a_wrong_value_and_names_the_setting(name: str, value: str) -> None:
    (line,) = faults({**GOOD, f"OPSAPI_AGENT_{name}": value})
    assert line.startswith(f"OPSAPI_AGENT_{name} ")
    assert "secret-word" not in line


@each("interval", ["2", "180"])
def test_the_bounds_of_the_interval_are_allowed(interval: str) -> None:
    assert read_settings({**GOOD, "OPSAPI_AGENT_INTERVAL": interval}).interval == int(interval)


@each(
    ("text", "labels"),
    [
        ("", {}),
        ("env=production", {"env": "production"}),
        ("  env=production\tregion=eu-west-1 ", {"env": "production", "region": "eu-west-1"}),
        ("_a1=x=y= B=é", {"_a1": "x=y=", "B": "é"}),
        (f"{'n' * 63}={'v' * 255}", {"n" * 63: "v" * 255}),
        (" ".join(f"l{number}=x" for number in range(16)), {f"l{number}": "x" for number in range(16)}),
    ],
)
def test_labels_are_pairs_separated_by_blanks(text: str, labels: dict[str, str], tmp_path: Path) -> None:
    assert read_settings({**GOOD, "OPSAPI_AGENT_LABELS": text}).labels == labels
    listed = f"OPSAPI_AGENT_LABELS = {json.dumps(text.split())}"
    assert read_settings(GOOD, config(tmp_path, listed)).labels == labels


def test_without_the_setting_there_are_no_labels() -> None:
    assert read_settings(GOOD).labels == {}


@each(
    ("text", "described"),
    [
        ("env-name=production", "env-name: its name must have 1 to 63"),
        ("1env=production", "1env: its name must have 1 to 63"),
        (f"{'n' * 64}=x", "number 1: its name must have 1 to 63"),
        ("=x", "number 1: its name must have 1 to 63"),
        ("env=x __env=y", "__env: its name must not begin with two underscores"),
        *((f"{name}=x", f"{name}: its name is reserved") for name in RESERVED_NAMES),
        ("env=", "env: its value must have 1 to 255 characters"),
        (f"env={'v' * 256}", "env: its value must have 1 to 255 characters"),
        ("env=a\x01b", "env: its value must not contain control characters"),
        ("env=a\x7fb", "env: its value must not contain control characters"),
        ("env=a\udcffb", "env: its value must not contain control characters"),
        ("env=x env=y", "the label env twice"),
        ("env=x secret-word", "number 2: write NAME=VALUE"),
        ("env=x mongodb://u:secret-word@db1/?a=b", "number 2: its name must have 1 to 63"),
        ("env=x region=secret-word\x01", "region: its value must not contain control characters"),
        (" ".join(f"l{number}=x" for number in range(17)), "17 labels: at most 16"),
        (" ".join(f"l{number}={'ü' * 64}" for number in range(8)), "at most 1024 bytes"),
    ],
)
def test_a_wrong_label_is_named_with_the_reason_and_nothing_secret(text: str, described: str) -> None:
    (line,) = faults({**GOOD, "OPSAPI_AGENT_LABELS": text})
    assert line.startswith("OPSAPI_AGENT_LABELS ")
    assert described in line
    assert line.isprintable()
    assert "secret-word" not in line


@each(
    ("more", "directory"),
    [
        ({"OPSAPI_AGENT_SPOOL_DIR": "/srv/spool", "STATE_DIRECTORY": "/var/lib/a"}, "/srv/spool"),
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/state"}, "/var/lib/a"),
        ({"XDG_STATE_HOME": "/state"}, "/state/opsapi-agent"),
        ({}, str(Path("~/.local/state/opsapi-agent").expanduser())),
    ],
)
def test_the_spool_has_a_directory_of_its_own(more: dict[str, str], directory: str) -> None:
    assert read_settings({**GOOD, **more}).spool_dir == Path(directory)


def config(directory: Path, text: str, mode: int = 0o600) -> Path:
    """A file of settings."""
    path = directory / "agent.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_it_reads_them_from_a_file_and_the_environment_overrides_it(tmp_path: Path) -> None:
    text = 'OPSAPI_AGENT_MONGODB = ["mongodb://a", "mongodb://b"]\nOPSAPI_AGENT_INTERVAL = 30\n'
    path = config(tmp_path, text)
    without = {name: value for name, value in GOOD.items() if name != "OPSAPI_AGENT_MONGODB"}
    assert read_settings(without, path).mongodb == ("mongodb://a", "mongodb://b")
    assert read_settings({**GOOD, "OPSAPI_AGENT_INTERVAL": "20"}, path).interval == 20


@each(
    ("name", "value"),
    [
        ("OPSAPI_AGENT_MONGODB", "["),
        ("OPSAPI_AGENT_MONGODB", '["mongodb://u:secret-word@a", "mongodb://b"]'),
        ("OPSAPI_AGENT_POSTGRESQL", "["),
    ],
)
def test_a_list_of_a_file_that_systemd_passes_as_text_is_refused(name: str, value: str) -> None:
    (line,) = faults({**GOOD, name: value})
    assert line.startswith(f"{name} is a list: ")
    assert "secret-word" not in line


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    (line,) = faults(GOOD, config(tmp_path, "", mode))
    assert "chmod 600" in line


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = config(tmp_path, "")
    os.chown(path, 12345, 12345)
    (line,) = faults(GOOD, path)
    assert "belongs to another user" in line


@pytest.mark.parametrize(
    "text",
    [
        'OPSAPI_AGENT_PRIVATE_KEY = "secret-word',
        "secret-word",
        'OPSAPI_AGENT_URL = "a"\nOPSAPI_AGENT_URL = "b"',
    ],
)
def test_a_file_that_is_no_toml_is_refused_without_quoting_it(tmp_path: Path, text: str) -> None:
    (line,) = faults(GOOD, config(tmp_path, text))
    assert "is not a TOML document" in line
    assert "secret-word" not in line


def test_a_name_in_a_file_that_is_no_setting_is_refused(tmp_path: Path) -> None:
    (line,) = faults(GOOD, config(tmp_path, 'OPSAPI_AGENT_PRIVAT_KEY = "secret-word"'))
    assert "OPSAPI_AGENT_PRIVAT_KEY is not a setting" in line
    assert "secret-word" not in line


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (line,) = faults(GOOD, tmp_path / "nothing.toml")
    assert "cannot be read" in line


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    os.mkfifo(path, 0o600)
    refused = threading.Event()

    def read() -> None:
        with pytest.raises(SettingsError, match="regular file"):
            read_settings(GOOD, path)
        refused.set()

    threading.Thread(target=read, daemon=True).start()
    assert refused.wait(30)


def test_a_file_that_is_too_large_is_refused_with_a_line(tmp_path: Path) -> None:
    (line,) = faults(GOOD, config(tmp_path, "#" * 1_000_001))
    assert "too large" in line


def test_a_value_of_a_wrong_type_is_refused(tmp_path: Path) -> None:
    (line,) = faults(GOOD, config(tmp_path, "OPSAPI_AGENT_INTERVAL = true"))
    assert line.startswith("OPSAPI_AGENT_INTERVAL ")


def test_the_guides_report_every_setting_and_no_other() -> None:
    named = {name for guide in GUIDES for name in re.findall(r"OPSAPI_AGENT_[A-Z_]+", guide.read_text())}
    assert named == NAMES


def test_the_guides_write_settings_that_systemd_also_reads() -> None:
    written = [block.text for guide in GUIDES for block in blocks(guide) if block.language == "toml"]
    lines = "".join(written).splitlines()
    assert [line for line in lines if not re.fullmatch(r'OPSAPI_AGENT_[A-Z_]+="[^"\\$]*"', line)] == []
    assert {line.partition("=")[0] for line in lines} >= {"OPSAPI_AGENT_MONGODB", "OPSAPI_AGENT_POSTGRESQL"}


def test_markers_of_backups_are_files_by_server(tmp_path: Path) -> None:
    text = "db1.example.com:5432=/srv/markers/db1 [2001:db8::1]:27017=/srv/a=b"
    found = read_settings({**GOOD, "OPSAPI_AGENT_BACKUP_MARKERS": text}).backup_markers
    assert {str(address): str(path) for address, path in found.items()} == {
        "db1.example.com:5432": "/srv/markers/db1",
        "[2001:db8::1]:27017": "/srv/a=b",
    }
    assert read_settings(GOOD).backup_markers == {}


@each("text", ["db1=/srv/a", "db1:5432", "db1:5432=srv/a", "=/srv/a", "db1:5432=/a db1:5432=/b"])
def test_a_wrong_marker_is_refused(text: str) -> None:
    (line,) = faults({**GOOD, "OPSAPI_AGENT_BACKUP_MARKERS": text})
    assert line.startswith("OPSAPI_AGENT_BACKUP_MARKERS ")
