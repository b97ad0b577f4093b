"""Reads parts of an unvalidated document, and names places in it by JSON Pointers (RFC 6901). Pure.

Parts of the wrong type are left out. The shape and the rules of a document are checked together, so that the
answer lists every fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from automation.addresses import Address
from opsapi.hostnames import canonical_hostname

Section = Mapping[str, Any]
Key = tuple[Hashable, int]
Item = TypeVar("Item")

DEFAULT_PORT = 27017
DEFAULT_HOST = "localhost"
LONGEST_PROCESS_NAME, LONGEST_SET_NAME = 300, 200
"""Maximum characters of the names of processes and replica sets. A name of `host:port` is shorter."""
_LONGEST_TOKEN = 200
"""Maximum characters of a key in an answer, so that answers are not many times larger than requests."""


def section(document: Section, name: str) -> Section:
    """The object with that name; empty if missing."""
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def items(document: Section, name: str) -> Iterator[tuple[int, Section]]:
    """The objects in the array with that name, each with its index."""
    array = document.get(name)
    for index, item in enumerate(array if isinstance(array, list) else ()):
        if isinstance(item, Mapping):
            yield index, item


def text(document: Section, name: str) -> str | None:
    """The string with that name; None if missing."""
    value = document.get(name)
    return value if isinstance(value, str) else None


def keyed(parts: Iterable[Item], identity: Callable[[Item], Hashable]) -> dict[Key, Item]:
    """The parts by their identities; equal identities are numbered."""
    seen: Counter[Hashable] = Counter()
    by_identity: dict[Key, Item] = {}
    for part in parts:
        name = identity(part)
        by_identity[name, seen[name]] = part
        seen[name] += 1
    return by_identity


def first(most: int, elements: Iterator[Item]) -> tuple[list[Item], int]:
    """The first elements, up to the maximum, and the number of the others."""
    return list(islice(elements, most)), sum(1 for _ in elements)


def processes(document: Section) -> dict[Key, Section]:
    """The processes of a document by their names."""
    return keyed((process for _, process in items(document, "processes")), process_name)


def process_addresses(process: Section) -> list[Address]:
    """The addresses of a process in the stored form, without duplicates: connections prefer the first.

    Host names that are not valid are left out.
    """
    hostnames = filter(None, map(canonical_hostname, process_hosts(process)))
    addresses = [Address(hostname, process_port(process)) for hostname in hostnames]
    return list({address.key: address for address in addresses}.values())


def process_name(process: Section) -> str:
    """The label of a process: its name, or `host:port`."""
    return text(process, "name") or f"{process_host(process)}:{process_port(process)}"


def process_host(process: Section) -> str:
    return text(process, "hostname") or DEFAULT_HOST


def process_hosts(process: Section) -> Sequence[str]:
    """The names of the machine of a process: its alias, which connections prefer, and its host name."""
    return [name for name in (text(process, "alias"), process_host(process)) if name]


def machine_key(hostname: str) -> str:
    """The identity of a machine: its host name in the stored form, in lower case."""
    return (canonical_hostname(hostname) or hostname).lower()


def machine_keys(process: Section) -> frozenset[str]:
    """The identities of the machine of a process: by its hostname, and by its alias."""
    return frozenset(map(machine_key, process_hosts(process)))


def process_port(process: Section) -> int:
    """The port of a process: `args2_6.net.port`, or the default of MongoDB."""
    port = section(section(process, "args2_6"), "net").get("port")
    return port if type(port) is int else DEFAULT_PORT


def set_name(process: Section) -> str | None:
    """The replica set of a process; None without one."""
    return text(section(section(process, "args2_6"), "replication"), "replSetName")


def pointer(path: Iterable[str | int]) -> str:
    """`/processes/0/name`; the empty text is the document itself. Long keys are cut."""
    return "".join(f"/{_token(str(step))}" for step in path)


def steps(text: str) -> list[str]:
    """The keys and indexes of a pointer, as texts."""
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]


def shortened(step: str) -> str:
    """The key for display, up to 200 characters."""
    return step if len(step) <= _LONGEST_TOKEN else step[:_LONGEST_TOKEN] + "…"


def _token(step: str) -> str:
    return shortened(step).replace("~", "~0").replace("/", "~1")
