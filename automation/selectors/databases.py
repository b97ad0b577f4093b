"""Reading the databases of a host."""

from django.db.models import QuerySet

from automation.models import Database, Host


def databases_of(host: Host) -> QuerySet[Database]:
    """Return the databases of a host, by name."""
    return host.databases.order_by("name")


def has_database(host: Host, name: str) -> bool:
    """Return whether the host has a database with this name."""
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    return "\0" not in name and databases_of(host).filter(name=name).exists()
