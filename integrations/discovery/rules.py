"""Service discovery: what a scraper learns about the hosts of a project. Pure.

Contract 2.12, decisions 8 "discovery".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from automation.addresses import Address
from opsapi.api.principal import Group
from opsapi.wire_json import JsonObject


@dataclass(frozen=True, slots=True)
class Process:
    """A database process of the project; the scraper asks an exporter on its host.

    `labels` are the labels from its agent.
    """

    address: Address
    cluster_name: str | None = None
    replica_set_name: str | None = None
    labels: Mapping[str, str] | None = None


def target_groups(processes: Iterable[Process], *, group: Group, exporter_port: int) -> list[JsonObject]:
    """One object per process, by target and then by the process's own port.

    Scrapers reject keys other than `targets` and `labels`, and labels that are not strings.
    """

    def target(process: Process) -> str:
        return str(Address(process.address.hostname, exporter_port))

    ordered = sorted(processes, key=lambda known: (target(known), known.address.port))
    return [{"targets": [target(process)], "labels": _labels(process, group)} for process in ordered]


def _labels(process: Process, group: Group) -> dict[str, str]:
    computed = {
        "group_id": group.id,
        "group_name": group.name,
        "org_id": group.org_id,
        "process_port": str(process.address.port),
        "cl_name": process.cluster_name,
        "rs_nm": process.replica_set_name,
    }
    known = {name: value for name, value in computed.items() if value}
    # A label of the host never replaces or adds a computed label, whatever was stored.
    own = {name: value for name, value in (process.labels or {}).items() if name not in computed}
    return {**known, **own}
