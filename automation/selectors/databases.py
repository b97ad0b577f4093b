"""Reading the databases of a host."""

from django.db.models import QuerySet

from automation.models import Database, Host


def databases_of(host: Host) -> QuerySet[Database]:
    """The databases of a host, by name."""
    return host.databases.order_by("name")


def has_database(host: Host, name: str) -> bool:
    """Whether the host has a database of that name."""
    # PostgreSQL refuses a NUL, and no name holds one.
    return "\0" not in name and databases_of(host).filter(name=name).exists()
