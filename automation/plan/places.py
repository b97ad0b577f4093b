"""Addresses of processes: which no plan can carry out, and which the document before has. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from automation.addresses import Address
from automation.sections import (
    Section,
    machine_key,
    machine_keys,
    process_addresses,
    process_host,
    process_name,
    process_port,
    text,
)
from opsapi.hostnames import host_and_port

Key = tuple[str, int]


def place_faults(processes: Iterable[Section]) -> Mapping[str, str]:
    """Return why processes cannot be carried out, by name: the first fault of each.

    Processes with a common name of their machine, a host name or an alias, must have the same host name.
    """
    at: dict[Key, list[str]] = defaultdict(list)
    on: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for process in processes:
        if text(process, "hostname") is None:  # Published processes have a hostname.
            continue
        name, machine = process_name(process), machine_key(process_host(process))
        for key in machine_keys(process):
            at[key, process_port(process)].append(name)
            on[key][machine].append(name)
    faults: dict[str, str] = {}
    for (key, port), names in at.items():
        if len(names) > 1:
            what = f"{names[0]} and {names[1]} have the same address, {host_and_port(key, port)}"
            faults |= dict.fromkeys(names, what)
    for key, machines in on.items():
        if len(machines) > 1:
            first, second, *_ = machines.values()
            what = (
                f"{key} is a hostname or alias of {first[0]} and {second[0]}, which have other hostnames, so "
                "the agents of two machines would carry out the same process"
            )
            for name in chain.from_iterable(machines.values()):
                faults.setdefault(name, what)
    return faults


@dataclass(frozen=True)
class KnownPlaces:
    """The addresses of processes, now and in the document before.

    `now`: the addresses of the document. `moved`: the addresses before of processes that run there as far as
    reports say, because only their port or another name of their machine has changed. `removed`: the
    processes that the document has no more, by their addresses. `renamed`: names for processes of the
    document before, where their names do not stay: the name of the process that has the address now, or the
    address.
    """

    now: frozenset[Key]
    moved: Mapping[str, Sequence[Key]]
    removed: Mapping[Key, str]
    renamed: Mapping[str, str]

    def name_at(self, address: Address) -> str | None:
        """The name of a process at an address that the document does not have; None if it has the process."""
        is_known = address.key in self.now or any(address.key in keys for keys in self.moved.values())
        return None if is_known else self.removed.get(address.key, str(address))


def known_places(
    now: Mapping[str, Section], before: Mapping[str, Section], reported: Container[str]
) -> KnownPlaces:
    """Find the processes of the document before, by their names, in the document and in the reports.

    `reported`: the processes that reports show at an address of the document.
    """
    names = {address.key: name for name, process in now.items() for address in process_addresses(process)}
    moved: dict[str, list[Key]] = {}
    removed: dict[Key, str] = {}
    renamed: dict[str, str] = {}
    for name, process in before.items():
        addresses = process_addresses(process)
        keys = [address.key for address in addresses]
        is_same = name in now and bool(machine_keys(process) & machine_keys(now[name]))
        if new_name := next((names[key] for key in keys if key in names), None):
            renamed[name] = new_name
        elif is_same:
            moved |= {} if name in reported else {name: keys}
        elif name not in now:
            removed |= dict.fromkeys(keys, name)
        elif addresses:
            renamed[name] = str(addresses[0])
            removed |= dict.fromkeys(keys, renamed[name])
    return KnownPlaces(frozenset(names), moved, removed, renamed)
