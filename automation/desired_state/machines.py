"""The machines of processes, and the machine of an agent's key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from automation.desired_state.document.text import read
from automation.desired_state.models import AutomationRevision
from automation.desired_state.store import revision_text, revisions_of
from automation.sections import items, machine_key, machine_keys, process_name, set_name
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """The machine of a process, by its host name and its alias, and its replica set."""

    machines: frozenset[str]
    replica_set: str | None


@lru_cache(maxsize=64)
def process_places(revision_id: str) -> Mapping[str, ProcessPlace]:
    """Return the places of the processes of a revision, which never changes, by name.

    Raises: ApiError: as `revision_text`.
    """
    revision = AutomationRevision.objects.only("group_id", "number").filter(id=revision_id).first()
    document = read(revision_text(revision)) if revision else {}
    return {
        process_name(process): ProcessPlace(machine_keys(process), set_name(process))
        for _, process in items(document, "processes")
    }


def require_machine(actor: Actor, hostname: str) -> None:
    """Refuse a key that is for another machine.

    Raises: ApiError: HOSTNAME_NOT_OF_KEY.
    """
    if actor.hostnames and machine_key(hostname) not in actor.hostnames:
        raise _not_of_key(actor, f"the machine {hostname}")


def require_processes(actor: Actor, group_id: str, reported: Sequence[tuple[str, str]]) -> None:
    """Refuse a key that is for another machine than these processes. `reported`: names and host names.

    A process of the current document must be on the machine of the key, and its host name must be a name of
    this machine. For other processes, only the host name counts.

    Raises: ApiError: HOSTNAME_NOT_OF_KEY; as `revision_text`.
    """
    if not actor.hostnames or not reported:
        return
    newest = revisions_of(group_id).values_list("id", flat=True).first()
    places = process_places(newest) if newest else {}
    for name, hostname in reported:
        key = machine_key(hostname)
        machines = places[name].machines if name in places else frozenset({key})
        if key not in machines or machines.isdisjoint(actor.hostnames):
            raise _not_of_key(actor, f"the process {name} on {hostname}")


def _not_of_key(actor: Actor, what: str) -> ApiError:
    return ApiError(ErrorCode.HOSTNAME_NOT_OF_KEY, what, ", ".join(sorted(actor.hostnames)))
