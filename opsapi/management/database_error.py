"""What a command prints when the database fails. Imports no ORM: `serve` then starts in half the time."""

from itertools import zip_longest

from django.conf import settings
from django.db import Error, connection

from opsapi.logs import first_line
from opsapi.postgresql.faults import DatabaseFault, database_fault
from opsapi.program import START


def line_of(error: Error) -> str:
    """A database failure for the operator: the cause, and what to do if it is known."""
    fault = database_fault(error)
    if fault is None:
        # The migration command notes which migration failed.
        return ": ".join([*getattr(error, "__notes__", ["the database cannot be used"]), first_line(error)])
    if fault is DatabaseFault.UNREACHABLE:
        return _away(error)
    return f"{fault.sentence}; try again later: {first_line(error)}"


def _away(error: Error) -> str:
    if settings.OPSAPI_EMBEDDED_DATABASE:
        where = settings.OPSAPI_DATA_DIR
        return f"the embedded database in {where} is not running; start it with {START} in another terminal"
    return f"the database server of DATABASE_URL ({_servers()}) cannot be reached: {first_line(error)}"


def _servers() -> str:
    hosts = str(connection.settings_dict["HOST"] or "this machine").split(",")
    ports = str(connection.settings_dict["PORT"] or 5432).split(",")
    named = zip_longest(hosts, ports, fillvalue=ports[0])  # one port is for all hosts
    return "; ".join(f"{host}, port {port}" for host, port in named)
