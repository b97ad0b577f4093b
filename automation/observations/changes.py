"""Keeps the observations of members of replica sets, and gives them to the agents of other members.

An observation is news for a minute, and only under the version of the automation configuration under which it
was observed: nobody plans with an older one. A publication deletes all observations of the project.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accesslist.changes import acting
from automation.desired_state.machines import process_places
from automation.desired_state.store import revisions_of
from automation.observations.models import MemberObservation
from automation.sections import machine_key
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.redaction import redact_urls
from opsapi.roles import Scope
from opsapi.wire_json import JsonObject

NEWS = timedelta(minutes=1)
"""How long an observation is given to others."""
_AHEAD = timedelta(seconds=5)
"""An observation of an agent that asks at the same time can be later than the beginning of this request."""
NOT_HERE = "must be the name of a process of the replica set on this machine"


@dataclass(frozen=True, slots=True)
class Observations:
    """The observations of an agent: its processes in a replica set, as in the API."""

    hostname: str
    replica_set: str
    goal_version: int
    processes: Sequence[Mapping[str, Any]]


def _without_secrets(value: Any, names: Collection[str]) -> Any:
    """The part of an observation without secrets in URLs. Names of processes stay: they are compared."""
    if isinstance(value, Mapping):
        return {name: _without_secrets(member, names) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item, names) for item in value]
    return redact_urls(value) if isinstance(value, str) and value not in names else value


def observation_exchange(
    *, group_id: str, observed: Observations, actor: Actor, now: datetime
) -> list[JsonObject]:
    """Keep the observations of an agent. Return the observations of other machines in the same replica set.

    Raises: ApiError: AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, if the agent carries out another version;
    INVALID_ATTRIBUTE with the names that are not in the configuration; GROUP_NOT_FOUND, if the project was
    deleted meanwhile.
    """
    version, revision_id = revisions_of(group_id).values_list("number", "id").first() or (0, "")
    if observed.goal_version != version:
        code = ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
        raise ApiError(code, str(observed.goal_version), str(version))
    hostname = machine_key(observed.hostname)
    places = process_places(revision_id)
    for at, process in enumerate(observed.processes):
        place = places.get(process["name"])
        if place is None or hostname not in place.machines or place.replica_set != observed.replica_set:
            raise ApiError.of_field(f"processes[{at}].name", ErrorCode.INVALID_ATTRIBUTE, NOT_HERE)
    rows = [
        MemberObservation(
            group_id=group_id,
            replica_set=observed.replica_set,
            process=process["name"],
            hostname=hostname,
            goal_version=version,
            observed=now,
            document=_without_secrets(process, places),
        )
        for process in observed.processes
    ]
    with acting(actor, now, here=Scope(group_id=group_id)):
        of_set = MemberObservation.objects.filter(group_id=group_id, replica_set=observed.replica_set)
        MemberObservation.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["group", "process"],
            update_fields=["replica_set", "hostname", "goal_version", "observed", "document"],
        )
    # An observation that lies ahead is of another clock of the database, and of an unknown age.
    news = of_set.filter(goal_version=version, observed__gt=now - NEWS, observed__lte=now + _AHEAD)
    others = news.exclude(hostname=hostname)
    return list(others.order_by("process").values_list("document", flat=True))
