"""`backup` and `restore`: what is refused, each in one line that says why."""

import hashlib
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from accesslist.models import Project
from alerting.models import NotificationSetting
from opsapi import backups
from opsapi.backups import DUMP, MANIFEST, Manifest, back_up, checked_dump, read_backup
from opsapi.embedded.layout import Layout
from opsapi.encryption import decrypt, sign
from opsapi.management.commands import restore as restoring
from opsapi.secret_files import make_private_directory
from opsapi.supervisor import platform
from tests.each import each
from tests.factories.alerting import make_config
from tests.integration.embedded.sql import run_sql
from tests.shared import run_directory

NOW = datetime(2099, 11, 21, tzinfo=UTC)
pytestmark = pytest.mark.django_db


@pytest.fixture
def saved(project: Project, tmp_path: Path) -> Path:
    """A backup of a database with a secret."""
    make_config(project)
    directory = tmp_path / "backup"
    call_command("backup", str(directory))
    return directory


def manifest_of(directory: Path) -> dict[str, Any]:
    """The manifest as a file, without its signature."""
    fields: dict[str, Any] = json.loads((directory / MANIFEST).read_text())
    return {name: value for name, value in fields.items() if name != "signature"}


def change(directory: Path, **values: Any) -> None:
    """Write other values into the manifest; somebody who has no key keeps its signature."""
    manifest = directory / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **values}))


def sign_again(directory: Path, **values: Any) -> None:
    """Write other values into the manifest, and sign it with the newest key."""
    fields = {**manifest_of(directory), **values}
    octets = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    key_id, hmac_hex = sign(octets)
    change(directory, **fields, signature={"key_id": key_id, "hmac_sha256": hmac_hex})


def remove_signature(directory: Path) -> None:
    """Make it a backup of an earlier version, which had no signature."""
    (directory / MANIFEST).write_text(json.dumps({**manifest_of(directory), "format": 1}))


def replace_dump(directory: Path, octets: bytes) -> None:
    """Put another dump into the backup, with its checksum in the manifest, as somebody without a key can."""
    (directory / DUMP).write_bytes(octets)
    change(directory, sha256=hashlib.sha256(octets).hexdigest(), size=len(octets))


def test_the_manifest_describes_the_dump(saved: Path) -> None:
    manifest = Manifest(**manifest_of(saved))
    assert manifest.size == (saved / DUMP).stat().st_size
    assert {"sessions.0001_initial", "events.0001_initial"} <= {*manifest.migrations}
    assert [path.stat().st_mode & 0o777 for path in sorted(saved.iterdir())] == [0o600, 0o600]


def test_a_directory_with_files_is_left_alone(saved: Path) -> None:
    before = (saved / MANIFEST).read_bytes()
    with pytest.raises(CommandError, match="is not empty"):
        call_command("backup", str(saved))
    assert (saved / MANIFEST).read_bytes() == before


def test_a_backup_without_pg_dump_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_server_version", lambda: 99)
    with pytest.raises(CommandError, match="pg_dump 99 or newer is not installed"):
        call_command("backup", str(tmp_path / "backup"))
    assert not (tmp_path / "backup" / MANIFEST).exists()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda directory: (directory / MANIFEST).unlink(), "it has no manifest.json"),
        (lambda directory: (directory / MANIFEST).write_text("[]"), "is not the manifest of a backup"),
        (lambda directory: (directory / DUMP).unlink(), "No such file"),
        (lambda directory: (directory / DUMP).write_bytes(b"PGDMP"), "is damaged"),
        (lambda directory: sign_again(directory, format=3, more=1), "format 3"),
        (lambda directory: sign_again(directory, pg_dump="18"), "is not the manifest of a backup"),
        (lambda directory: sign_again(directory, key_ids=[{}]), "is not the manifest of a backup"),
        (lambda directory: change(directory, signature="none"), "is not the manifest of a backup"),
        (
            lambda directory: sign_again(directory, migrations=["events.0001_initial", "events.9999_later"]),
            "events.9999_later",
        ),
        (
            lambda directory: sign_again(directory, key_ids=["00000000"]),
            "an encryption key of the backup is missing",
        ),
        (lambda directory: None, "the database is not empty"),
    ],
)
def test_a_backup_that_cannot_be_restored_is_refused(
    saved: Path, settings: Settings, spoil: Callable[[Path], object], words: str
) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE = False  # the server of the tests runs already
    spoil(saved)
    with pytest.raises(CommandError, match=words):
        call_command("restore", str(saved))


class TestSignatures:
    """Only an encryption key of the installation makes a backup that is restored without a flag."""

    @pytest.fixture(autouse=True)
    def _restores(self, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep the dumps that would be restored."""
        settings.OPSAPI_EMBEDDED_DATABASE = False
        self.ran: list[bytes] = []
        monkeypatch.setattr(restoring, "restore", lambda dump, _: self.ran.append(dump.read()))

    def refusal(self, saved: Path, *options: str) -> str:
        with pytest.raises(CommandError) as refused:
            call_command("restore", str(saved), *options)
        assert self.ran == []
        return str(refused.value)

    def test_a_backup_of_the_installation_is_accepted(self, saved: Path) -> None:
        call_command("restore", str(saved))
        assert self.ran == [(saved / DUMP).read_bytes()]

    def test_a_changed_manifest_is_refused_with_the_flag_too(self, saved: Path) -> None:
        change(saved, created="2030-01-01T00:00:00Z")
        assert "its signature is wrong" in self.refusal(saved)
        assert "its signature is wrong" in self.refusal(saved, "--unverified")

    def test_a_replaced_dump_with_the_right_checksum_is_refused(self, saved: Path) -> None:
        replace_dump(saved, b"PGDMP of somebody else")
        assert "its signature is wrong" in self.refusal(saved)

    def test_a_signature_of_another_manifest_is_refused(self, saved: Path, tmp_path: Path) -> None:
        call_command("backup", str(tmp_path / "other"))
        other = json.loads((tmp_path / "other" / MANIFEST).read_text())["signature"]
        change(saved, signature=other, created="2030-01-01T00:00:00Z")
        assert "its signature is wrong" in self.refusal(saved)

    def test_the_layout_of_the_file_does_not_matter(self, saved: Path) -> None:
        fields = json.loads((saved / MANIFEST).read_text())
        (saved / MANIFEST).write_text(json.dumps(dict(reversed(fields.items())), indent=8))
        call_command("restore", str(saved))
        assert self.ran

    def test_a_backup_of_another_installation_needs_the_flag(self, saved: Path, settings: Settings) -> None:
        sign_again(saved, key_ids=[])
        settings.OPSAPI_ENCRYPTION_KEYS = ["another key " * 4]
        refusal = self.refusal(saved)
        assert "is not configured" in refusal
        assert "CVE-2026-116314" in refusal, "the refusal says what the flag risks"
        call_command("restore", str(saved), "--unverified")
        assert self.ran

    def test_a_backup_without_a_signature_needs_the_flag(self, saved: Path) -> None:
        remove_signature(saved)
        refusal = self.refusal(saved)
        assert "has no signature" in refusal
        assert "--unverified" in refusal
        call_command("restore", str(saved), "--unverified")
        assert self.ran

    def test_removing_the_signature_does_not_help(self, saved: Path) -> None:
        replace_dump(saved, b"PGDMP of somebody else")
        remove_signature(saved)
        assert "has no signature" in self.refusal(saved)

    def test_the_flag_does_not_accept_a_damaged_dump(self, saved: Path) -> None:
        remove_signature(saved)
        (saved / DUMP).write_bytes(b"PGDMP")
        assert "is damaged" in self.refusal(saved, "--unverified")

    def test_backups_from_before_and_after_a_rotation_are_accepted(
        self, saved: Path, tmp_path: Path, settings: Settings
    ) -> None:
        [old] = settings.OPSAPI_ENCRYPTION_KEYS
        settings.OPSAPI_ENCRYPTION_KEYS = ["a new key " * 4, old]
        later = tmp_path / "later"
        call_command("backup", str(later))
        for directory in (saved, later):
            call_command("restore", str(directory))
        assert len(self.ran) == 2
        settings.OPSAPI_ENCRYPTION_KEYS = [old]
        self.ran.clear()
        assert "is not configured" in self.refusal(later)

    def test_the_dump_that_was_checked_is_restored(self, saved: Path) -> None:
        """Not a dump that is put in its place between check and restore."""
        before = (saved / DUMP).read_bytes()
        with checked_dump(saved, read_backup(saved)) as dump:
            (saved / DUMP).write_bytes(b"PGDMP of somebody else")
            assert dump.read() == before


def test_a_backup_needs_an_encryption_key(tmp_path: Path, settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = []
    with pytest.raises(CommandError, match="is missing"):
        call_command("backup", str(tmp_path / "backup"))
    assert not (tmp_path / "backup").exists()


@pytest.fixture
def embedded(settings: Settings, tmp_path: Path) -> Path:
    """The data directory of an installation with an embedded database, which was never started."""
    settings.OPSAPI_EMBEDDED_DATABASE, settings.OPSAPI_DATA_DIR = True, tmp_path / "var"
    return tmp_path / "var"


def test_a_restore_without_the_keys_makes_nothing(saved: Path, embedded: Path) -> None:
    sign_again(saved, key_ids=["00000000"])
    with pytest.raises(CommandError, match="an encryption key of the backup is missing"):
        call_command("restore", str(saved))
    assert not embedded.exists()


def test_a_restore_into_a_running_platform_is_refused(
    saved: Path, embedded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "PATIENCE_SECONDS", 0.0)
    make_private_directory(embedded)
    lock = platform.DirectoryLock(embedded)
    lock.acquire()
    with pytest.raises(CommandError, match=f"is in use by a running platform, process {os.getpid()}$"):
        call_command("restore", str(saved))
    lock.release()


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_restored_into_a_database_of_another_server(
    project: Project, saved: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_EMBEDDED_DATABASE = False
    name = f"{connection.settings_dict['NAME']}_restored"
    run_sql(Layout(run_directory()), f"CREATE DATABASE {name}")
    with monkeypatch.context() as patch:
        connection.close()
        patch.setitem(connection.settings_dict, "NAME", name)
        call_command("restore", str(saved))
        assert list(Project.objects.all()) == [project]
        [setting] = NotificationSetting.objects.all()
        assert "a webhook secret" in decrypt(setting.secrets or "", owner=setting.id)
        connection.close()
    run_sql(Layout(run_directory()), f"DROP DATABASE {name}")


def test_a_failed_backup_leaves_the_directory_empty_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", "no_such_database")
    with pytest.raises(CommandError, match="pg_dump failed"):
        call_command("backup", str(tmp_path / "backup"))
    monkeypatch.undo()
    call_command("backup", str(tmp_path / "backup"))
    assert (tmp_path / "backup" / MANIFEST).exists()


def test_a_directory_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(CommandError, match="other users can write to it"):
        call_command("backup", str(tmp_path))


def test_a_transaction_pooler_is_refused(saved: Path, tmp_path: Path, settings: Settings) -> None:
    settings.OPSAPI_DB_POOLER, settings.OPSAPI_EMBEDDED_DATABASE = "transaction", False
    for command, directory in (("backup", tmp_path / "other"), ("restore", saved)):
        with pytest.raises(CommandError, match="transaction pooler"):
            call_command(command, str(directory))


def test_options_of_the_database_url_are_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {"target_session_attrs": "standby"})
    with pytest.raises(CommandError, match="pg_dump failed"):
        call_command("backup", str(tmp_path / "backup"))


@each(
    "options",
    [
        {"options": "-c no_such_setting=1"},
        {"requirepeer": "nobody-of-this-name"},
        {"sslpassword": "hunter2"},
    ],
)
def test_no_option_of_the_database_url_is_dropped(
    options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backups, "_database_described", lambda: {"migrations": [], "key_ids": []})
    monkeypatch.setattr(backups, "_server_version", lambda: 18)
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", options)
    with pytest.raises(CommandError) as refusal:
        call_command("backup", str(tmp_path / next(iter(options))))
    assert "hunter2" not in str(refusal.value)


def test_a_directory_that_cannot_be_written_is_named() -> None:
    with pytest.raises(backups.BackupError, match="/proc/backup"):
        back_up(Path("/proc/backup"), now=NOW)
