"""What errors of the database mean for callers, by SQLSTATE and by the text of a refused connection."""

from types import SimpleNamespace
from typing import Any

import psycopg
from django.db import (
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from psycopg import errors

from opsapi.postgresql.faults import DatabaseFault, database_fault, is_transient, refuses_writes
from tests.each import each

REFUSED = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '


class UnloggedOnStandby(errors.FeatureNotSupported):
    """What a standby of any version, in any language, answers to a statement that reads an unlogged table."""

    diag: Any = SimpleNamespace(source_function="get_relation_info")


def caused_by(error: Error, cause: psycopg.Error) -> Error:
    """The error as Django raises it."""
    error.__cause__ = cause
    return error


@each(
    ("error", "fault"),
    [
        (caused_by(OperationalError(), errors.DiskFull()), DatabaseFault.DISK_FULL),
        (caused_by(OperationalError(), errors.TooManyConnections()), DatabaseFault.TOO_MANY_CONNECTIONS),
        (caused_by(InternalError(), errors.ReadOnlySqlTransaction()), DatabaseFault.READ_ONLY),
        (caused_by(OperationalError(), errors.CannotConnectNow()), DatabaseFault.STARTING),
        (caused_by(OperationalError(), errors.QueryCanceled()), DatabaseFault.TOO_SLOW),
        (caused_by(OperationalError(), errors.SerializationFailure()), DatabaseFault.GAVE_WAY),
        (caused_by(OperationalError(), errors.DeadlockDetected()), DatabaseFault.GAVE_WAY),
        (caused_by(OperationalError(), errors.AdminShutdown()), DatabaseFault.UNREACHABLE),
        (OperationalError(REFUSED + "Connection refused"), DatabaseFault.UNREACHABLE),
        (InterfaceError("the connection is closed"), DatabaseFault.UNREACHABLE),
        (
            OperationalError(REFUSED + "FATAL:  sorry, too many clients already"),
            DatabaseFault.TOO_MANY_CONNECTIONS,
        ),
        (
            OperationalError(REFUSED + "FATAL:  remaining connection slots are reserved for roles with …"),
            DatabaseFault.TOO_MANY_CONNECTIONS,
        ),
        (
            OperationalError(REFUSED + "FATAL:  no more connections allowed (max_client_conn)"),
            DatabaseFault.TOO_MANY_CONNECTIONS,
        ),
        (OperationalError(REFUSED + "FATAL:  the database system is starting up"), DatabaseFault.STARTING),
        (
            OperationalError(REFUSED + "FATAL:  the database system is in recovery mode"),
            DatabaseFault.STARTING,
        ),
        (OperationalError(REFUSED + "session is read-only"), DatabaseFault.READ_ONLY),
        (OperationalError(REFUSED + "server is in hot standby mode"), DatabaseFault.STANDBY),
        (caused_by(NotSupportedError(), UnloggedOnStandby()), DatabaseFault.STANDBY),
        (caused_by(NotSupportedError(), errors.FeatureNotSupported()), None),
        (caused_by(IntegrityError(), errors.UniqueViolation()), None),
        (caused_by(ProgrammingError("too many connections"), errors.UndefinedTable()), None),
        (ValueError("too many connections"), None),
        (None, None),
    ],
)
def test_errors_are_mapped_to_faults(error: Exception | None, fault: DatabaseFault | None) -> None:
    assert database_fault(error) is fault


@each(
    ("cause", "refuses"),
    [
        (errors.ReadOnlySqlTransaction(), True),
        (UnloggedOnStandby(), True),
        (errors.FeatureNotSupported(), False),
        (errors.AdminShutdown(), False),
    ],
)
def test_a_read_only_server_may_be_replaced_by_another(cause: psycopg.Error, refuses: bool) -> None:
    assert refuses_writes(cause) is refuses
    assert is_transient(caused_by(InternalError(), cause)) is (refuses or cause.sqlstate == "57P01")
