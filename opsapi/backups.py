"""A backup: a directory with a dump of the database and a manifest that describes and proves it.

The dump is of PostgreSQL's own `pg_dump`. The encryption keys are not part of a backup: whoever has both can
read every secret. The manifest has the checksum of the dump, and an HMAC with a key derived from the newest
encryption key: only somebody with an encryption key of the installation can write or change a backup that
`restore` accepts.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import orjson
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from opsapi import VERSION
from opsapi.clock import wire_time
from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.cluster import client_failure, find_binaries
from opsapi.encrypted_columns import used_key_ids
from opsapi.encryption import is_signed, known_key_ids, newest_key, sign
from opsapi.postgresql.migrations import applied_migrations, known_migrations
from opsapi.postgresql.releases import server_version

DUMP = "database.dump"
MANIFEST = "manifest.json"
_VERSION = re.compile(r"\(PostgreSQL\) (\d+)(?:\.(\d+))?")
_FORMAT = 2
_UNSIGNED_FORMAT = 1
"""The format of earlier versions, whose manifests have no signature."""
_SIGNATURE = "signature"
_FIELDS = {
    "format": int,
    "created": str,
    "version": str,
    "pg_dump": int,
    "migrations": list,
    "key_ids": list,
    "sha256": str,
    "size": int,
}
UNVERIFIED = "--unverified"
RISK = (
    "whoever wrote or changed it can run programs as your user during the restore (pg_restore executes code"
    " of manipulated dumps, CVE-2026-116314) and can put users, keys and secrets of their choice into the"
    " restored installation"
)


class BackupError(Exception):
    """The backup cannot be written or restored; the message is one line for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup contains.

    `pg_dump` is the major version of the program that wrote the dump. `migrations` are the applied migrations
    as `<app>.<name>`. `key_ids` name the encryption keys of the secrets and reveal nothing about the keys.
    `sha256` and `size`, in bytes, are of the dump.
    """

    format: int
    created: str
    version: str
    pg_dump: int
    migrations: Sequence[str]
    key_ids: Sequence[str]
    sha256: str
    size: int


def back_up(directory: Path, *, now: datetime) -> Manifest:
    """Write a backup to a new or empty directory; the platform can run meanwhile.

    The manifest is written last, so a directory without a manifest is not a backup.

    Raises:
        BackupError: the directory is not empty or others can write to it, or pg_dump failed.
        ImproperlyConfigured: there is no encryption key to sign the manifest with.
    """
    _refuse_pooler()
    newest_key()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise BackupError(f"{directory}: other users can write to it")
        if any(directory.iterdir()):
            raise BackupError(f"{directory}: is not empty")
        described = _database_described()
        program, version = _program("pg_dump", at_least=_server_version())
        dump = directory / DUMP
        dump.touch(mode=0o600, exist_ok=False)
        try:
            _run(program, "--format=custom", f"--file={dump}")
        except BaseException:
            dump.unlink()  # so that the next attempt finds the directory empty
            raise
        manifest = Manifest(
            format=_FORMAT,
            created=wire_time(now),
            version=VERSION,
            pg_dump=version,
            sha256=_sha256(dump),
            size=dump.stat().st_size,
            **described,
        )
        fields = asdict(manifest)
        key_id, hmac_hex = sign(_signed_octets(fields))
        signed = {**fields, _SIGNATURE: {"key_id": key_id, "hmac_sha256": hmac_hex}}
        _write_last(directory / MANIFEST, orjson.dumps(signed, option=orjson.OPT_INDENT_2) + b"\n")
    except OSError as error:
        raise BackupError(f"{error.filename or directory}: {error.strerror}") from None
    return manifest


def read_backup(directory: Path, *, verified: bool = True) -> Manifest:
    """Return the manifest of a backup that this version can restore with the configured encryption keys.

    `verified`: accept only backups that one of these keys signed. The dump is not read.

    Raises: BackupError: it is no backup, is not signed, is of a newer version, or keys are missing.
    """
    manifest = _read_manifest(directory, verified=verified)
    if newer := sorted(set(manifest.migrations) - set(known_migrations())):
        raise BackupError(
            f"the backup is from version {manifest.version}, and version {VERSION} does not know"
            f" its migration {newer[0]}: install version {manifest.version} or newer"
        )
    if set(manifest.key_ids) - set(known_key_ids()):
        raise BackupError(f"an encryption key of the backup is missing: {_put_the_key_back()}")
    return manifest


def checked_dump(directory: Path, manifest: Manifest) -> IO[bytes]:
    """Return a copy of the dump, after its checksum was compared with the manifest.

    The copy has no name, so not even the owner of the storage of the backup can change it after the check.

    Raises: BackupError: the dump cannot be read or is damaged, or the data directory has no room for a copy.
    """
    path = directory / DUMP
    try:
        with ExitStack() as unchecked:
            copy = unchecked.enter_context(tempfile.TemporaryFile(dir=settings.OPSAPI_DATA_DIR))
            with path.open("rb") as dump:
                shutil.copyfileobj(dump, copy)
            copy.seek(0)
            if hashlib.file_digest(copy, "sha256").hexdigest() != manifest.sha256:
                raise BackupError(f"{path}: is damaged, its SHA-256 differs from {MANIFEST}")
            copy.seek(0)
            unchecked.pop_all()
            return copy
    except OSError as error:
        raise BackupError(f"{error.filename or settings.OPSAPI_DATA_DIR}: {error.strerror}") from None


def restore(dump: IO[bytes], manifest: Manifest) -> None:
    """Restore the dump of `checked_dump` into an empty database, completely or not at all.

    Raises: BackupError: the database has tables, or pg_restore failed.
    """
    _refuse_pooler()
    with connection.cursor() as cursor:
        if connection.introspection.table_names(cursor):
            raise BackupError("the database is not empty: restore into a new installation")
    connection.close()
    program, _ = _program("pg_restore", at_least=manifest.pg_dump)
    _run(program, "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction", read=dump)


def _refuse_pooler() -> None:
    """The programs change settings of their session, and the pooler would pass this session on to others."""
    if settings.OPSAPI_DB_POOLER == "transaction":
        raise BackupError(
            "a transaction pooler cannot be used: set DATABASE_URL to the database server itself and"
            " OPSAPI_DB_POOLER to none for this command"
        )


def _server_version() -> int:
    return server_version() // 10_000


def _database_described() -> Mapping[str, Any]:
    return {
        "migrations": [*applied_migrations()],
        "key_ids": sorted(used_key_ids()),
    }


def _read_manifest(directory: Path, *, verified: bool) -> Manifest:
    path = directory / MANIFEST
    try:
        fields = orjson.loads(path.read_bytes())
        if fields["format"] not in (_FORMAT, _UNSIGNED_FORMAT):
            raise BackupError(
                f"{path}: has format {fields['format']}; version {VERSION} reads format {_FORMAT}"
            )
        signed = fields.pop(_SIGNATURE, None)
        key_id, hmac_hex = (str(signed["key_id"]), str(signed["hmac_sha256"])) if signed else ("", "")
        manifest = _manifest_of(fields)
    except FileNotFoundError:
        raise BackupError(f"{directory}: is not a complete backup: it has no {MANIFEST}") from None
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupError(f"{path}: is not the manifest of a backup") from None
    if key_id in known_key_ids():
        if not is_signed(_signed_octets(fields), key_id=key_id, hmac_hex=hmac_hex):
            raise BackupError(f"{path}: was changed after the backup, its signature is wrong")
    elif verified:
        raise BackupError(f"{path}: {_unproven(key_id)}. {UNVERIFIED} restores it anyway; {RISK}")
    return manifest


def _manifest_of(fields: Mapping[str, Any]) -> Manifest:
    """The manifest of a file that somebody else may have written. Raises ValueError, TypeError."""
    words = [*fields["migrations"], *fields["key_ids"]]
    types = {name: type(value) for name, value in fields.items()}
    if types != _FIELDS or not all(isinstance(word, str) for word in words):
        raise ValueError("the fields have other names or types")
    return Manifest(**fields)


def _unproven(key_id: str) -> str:
    if not key_id:
        return "has no signature: an earlier version wrote it, or somebody removed the signature"
    return (
        f"was signed with the encryption key {key_id}, which is not configured:"
        f" if it is your backup, {_put_the_key_back()}"
    )


def _put_the_key_back() -> str:
    return f"put the backed-up key into {settings.OPSAPI_ENCRYPTION_KEY_FILE}, or into OPSAPI_ENCRYPTION_KEYS"


def _signed_octets(fields: Mapping[str, Any]) -> bytes:
    """The fields of a manifest as the signature covers them, whatever the layout of the file is."""
    return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)


def _run(program: Path, *options: str, read: IO[bytes] | None = None) -> None:
    """Run a program of PostgreSQL against the database of the settings; no password is in its arguments."""
    named, variables = _connection_parts()
    environment = {**os.environ, **variables}
    if fault := client_failure(program, f"--dbname={named}", *options, environment=environment, read=read):
        raise BackupError(fault)


def _connection_parts() -> tuple[str, Mapping[str, str]]:
    """The connection of the settings: as a connection string, and as libpq's variables, which hide passwords.

    Raises: BackupError: a secret has no variable, and arguments are visible to all users of the machine.
    """
    given = connection.get_connection_params()
    options = [
        (option.keyword.decode(), option)
        for option in Conninfo.get_defaults()
        if option.keyword != b"client_encoding"
    ]
    named, variables = {}, {}
    for name, option in options:
        if name not in given:
            continue
        if name == "dbname" or (option.envvar is None and not option.dispchar):
            named[name] = given[name]
        elif option.envvar is None:
            raise BackupError(f"DATABASE_URL: {name} cannot be passed to PostgreSQL's programs safely")
        else:
            variables[option.envvar.decode()] = str(given[name])
    return make_conninfo(**named), variables


def _program(name: str, at_least: int) -> tuple[Path, int]:
    """Return the installed program of PostgreSQL with the oldest fitting major version, and this version.

    A program cannot dump a newer server or read the dump of a newer program, and an older server may not
    accept what a newer program writes. Of one major version, the newest minor version counts.
    """
    candidates: list[tuple[int, int, Path]] = []
    paths = [Path(path)] if (path := shutil.which(name)) else []
    with suppress(EmbeddedDatabaseError):
        paths.append(find_binaries(settings.OPSAPI_POSTGRESQL_BIN) / name)
    for program in paths:
        try:
            done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 a program of PostgreSQL
        except OSError:
            continue  # it is missing or cannot be run
        if version := _VERSION.search(done.stdout):
            candidates.append((int(version[1]), -int(version[2] or 0), program))
    fitting = sorted(candidate for candidate in candidates if candidate[0] >= at_least)
    if not fitting:
        raise BackupError(
            f"{name} {at_least} or newer is not installed: install PostgreSQL's client programs"
        )
    return fitting[0][2], fitting[0][0]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write_last(path: Path, octets: bytes) -> None:
    draft = path.with_suffix(".draft")
    draft.touch(mode=0o600)
    with draft.open("wb") as file:
        file.write(octets)
        file.flush()
        os.fsync(file.fileno())
    draft.rename(path)
