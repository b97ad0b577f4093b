"""Addresses of processes that no plan can carry out. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import chain

from automation.sections import (
    Section,
    machine_key,
    machine_keys,
    process_host,
    process_name,
    process_port,
    text,
)
from opsapi.hostnames import host_and_port


def place_faults(processes: Iterable[Section]) -> Mapping[str, str]:
    """Return the first fault of each process that has one, by its name.

    Processes with a common name of their machine, a host name or an alias, must have the same host name.
    """
    at: dict[tuple[str, int], list[str]] = defaultdict(list)
    on: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for process in processes:
        if text(process, "hostname") is None:  # A published process has one.
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
