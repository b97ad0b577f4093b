"""`manage.py prepare`: prepares the database for this version; `serve` does this before serving."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS, Error, OperationalError, connection, connections

from opsapi.encrypted_columns import encrypted_columns, is_key_lost
from opsapi.logs import first_line
from opsapi.management.database_error import line_of
from opsapi.management.installation_command import InstallationCommand
from opsapi.postgresql.faults import DatabaseFault, database_fault
from opsapi.postgresql.migrations import older_build, unapplied_migrations
from opsapi.postgresql.releases import outdated, remedy, server_version
from opsapi.secret_files import secret_from_file
from opsapi.setup_link import setup_link
from opsapi.sql import fetch_rows
from opsapi.supervisor.keeper import restart_delay

log = logging.getLogger("opsapi.prepare")

# Waits for a database that starts at the same time.
PATIENCE_SECONDS = 10.0
PAUSE = 0.25
TRIES = 5
"""How often a migration that gave way to a request or a worker of the earlier version is tried again."""
WORKER_CONNECTIONS = 9
"""The connections that a worker opens (docs/how-to/deploy.md)."""
# An arbitrary number, the same in every version.
MIGRATION_LOCK = 0x6F707361
# `reserved_connections` exists from PostgreSQL 16. A limit of -1 is no limit, and LEAST ignores NULL.
_CONNECTIONS = """
SELECT least(
    current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
)
"""
FIRST_USER = "Set up the first user and project in a browser: {link}\n"


class Command(InstallationCommand):
    """Waits for the database, checks the installation and migrates, on several machines at once if needed."""

    help = "Wait for the database, check settings and encryption keys, apply the migrations."

    def add_arguments(self, parser: CommandParser) -> None:
        """`serve` keeps the database running, so it tries until it succeeds. It prints a reason itself."""
        parser.add_argument(
            "--keep-trying",
            action="store_true",
            help="start again after a pause if the database fails; write other failures to stdout",
        )

    def execute(self, *args: Any, **options: Any) -> str | None:
        """With `--keep-trying`, stdout gets the reason of a failure, and stderr only an unexpected trace."""
        try:
            return super().execute(*args, **options)
        except Exception as error:
            if not options["keep_trying"]:
                raise
            self.stdout.write(_reason(error))
            if isinstance(error, _EXPECTED):
                sys.exit(1)
            raise

    def handle(self, *_args: Any, **options: Any) -> None:
        """Raises CommandError, one line, if the database cannot be reached; otherwise Django's error."""
        if not (options["keep_trying"] and settings.OPSAPI_EMBEDDED_DATABASE):
            _wait_for_database()
        for failures in count(1):
            try:
                self._prepare()
            except Error as error:
                fault = database_fault(error)
                gave_way = fault is DatabaseFault.GAVE_WAY and failures <= TRIES
                if fault is None or not (options["keep_trying"] or gave_way):
                    raise
                _forget_connection()
                pause = restart_delay(failures)
                log.error("%s (%s), trying again in %g s", fault.sentence, first_line(error), pause)
                time.sleep(pause)
            else:
                return

    def _prepare(self) -> None:
        """Each step can be repeated, and each migration commits completely."""
        with _migration_lock():
            _refuse_older_build()
            _check_encryption_keys()
            _migrate()
        _report_missing_keys()
        _report_outdated_server()
        _report_few_connections()
        if not get_user_model()._default_manager.exists():
            self.stdout.write(FIRST_USER.format(link=setup_link()), ending="")


_EXPECTED = (CommandError, ImproperlyConfigured, Error)


def _reason(error: Exception) -> str:
    if isinstance(error, Error):
        return line_of(error)
    if isinstance(error, _EXPECTED):
        return str(error)
    return f"the preparation of the database failed: {type(error).__name__}: {first_line(error)}"


def _forget_connection() -> None:
    """Close the connection; the next statement opens another connection.

    If a deferred statement of a migration fails, Django does not leave the transaction of the migration. The
    closed connection would then stay in this transaction, and every attempt would fail.
    """
    connection.close()
    if connection.in_atomic_block:
        del connections[DEFAULT_DB_ALIAS]


def _wait_for_database() -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            if time.monotonic() > deadline:
                fault = database_fault(error) or DatabaseFault.UNREACHABLE
                raise CommandError(f"{fault.sentence}: {first_line(error)}") from None
            time.sleep(PAUSE)
        else:
            return


@contextmanager
def _migration_lock() -> Iterator[None]:
    """Held by a separate transaction: a pooler may give each transaction another session."""
    holder = connection.copy()
    holder.set_autocommit(False)
    try:
        with holder.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [MIGRATION_LOCK])
            if cursor.fetchone() != (True,):
                log.info("waiting for another machine to apply the migrations")
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        yield
    finally:
        holder.close()


def _refuse_older_build() -> None:
    if fault := older_build():
        raise CommandError(fault)


def _check_encryption_keys() -> None:
    """Refuse a database whose key is missing, before anything changes; create a key for a new database.

    A new key could not decrypt the existing secrets and would encrypt the next ones.
    """
    file = settings.OPSAPI_ENCRYPTION_KEY_FILE
    if is_key_lost() and not settings.OPSAPI_ENCRYPTION_KEY_LOST:
        if settings.OPSAPI_ENCRYPTION_KEYS:
            fault = f"no key in OPSAPI_ENCRYPTION_KEYS or {file} decrypts the secrets in the database"
        else:
            fault = f"{file} is missing, but the database contains encrypted secrets"
        raise CommandError(f"{fault}: restore the key; if it is lost, see docs/how-to/rotate-keys.md")
    if not settings.OPSAPI_ENCRYPTION_KEYS:
        settings.OPSAPI_ENCRYPTION_KEYS = [secret_from_file(file)]


def _migrate() -> None:
    if number := unapplied_migrations():
        log.info("applying %d migrations", number)
        call_command("migrate", verbosity=0, interactive=False, skip_checks=True)


def _report_missing_keys() -> None:
    """The platform starts anyway: secrets of known keys work, and the missing key may still be found."""
    for column in encrypted_columns():
        if count := column.count_without_key():
            log.error(
                "%s: %d values cannot be decrypted, their key is not in OPSAPI_ENCRYPTION_KEYS", column, count
            )


def _report_outdated_server() -> None:
    """The platform starts anyway: every minor version works."""
    version = server_version()
    if fault := outdated(version):
        log.warning("%s. %s", fault, remedy(version))


def _report_few_connections() -> None:
    """The platform starts anyway: it opens connections when requests need them.

    A transaction pooler shares the connections of PostgreSQL, so its own limit counts, which nobody can ask.
    """
    if settings.OPSAPI_DB_POOLER == "transaction":
        return
    [(accepted,)] = fetch_rows(_CONNECTIONS)
    needed = settings.OPSAPI_WORKERS * settings.OPSAPI_THREADS + WORKER_CONNECTIONS
    if needed > accepted:
        log.warning(
            "web processes and a worker can open %d connections, and PostgreSQL accepts %d: lower"
            " OPSAPI_WORKERS or OPSAPI_THREADS, or raise max_connections and the connection limits of role"
            " and database",
            needed,
            accepted,
        )
