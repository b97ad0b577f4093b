"""The processes that a scraper discovers."""

from automation.addresses import Address
from automation.hosts.store import hosts_of
from integrations.discovery.rules import Process


def processes_of(group_id: str) -> list[Process]:
    """The database processes of a project's hosts, for scrapers."""
    named = ("hostname", "port", "cluster_name", "replica_set_name", "labels")
    rows = hosts_of(group_id).order_by().values_list(*named)
    return [Process(Address(hostname, port), *known) for hostname, port, *known in rows]
