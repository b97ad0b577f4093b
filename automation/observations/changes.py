"""Keeps what agents observe of the members of replica sets, and gives it to the agents of other members.

An observation is news for a minute, and only under the version of the automation configuration under which it
was observed: nobody plans with an older one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accesslist.changes import acting
from automation.desired_state.document.machine import machine_key
from automation.desired_state.store import revisions_of
from automation.observations.models import MemberObservation
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.roles import Scope
from opsapi.wire_json import JsonObject

NEWS = timedelta(minutes=1)
"""How long an observation is given to others."""
_KEPT = timedelta(days=1)
NOT_NAMED = "must be the name of a process of the automation configuration"


@dataclass(frozen=True, slots=True)
class Observations:
    """What the agent of a machine observes of its processes in a replica set, as in the API."""

    hostname: str
    replica_set: str
    goal_version: int
    processes: Sequence[Mapping[str, Any]]


def observation_exchange(
    *, group_id: str, observed: Observations, actor: Actor, now: datetime
) -> list[JsonObject]:
    """Keep the observations of an agent. Return what agents of other machines observe in the same set.

    Raises: ApiError: AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, if the agent carries out another version;
    INVALID_ATTRIBUTE with the names that are not in the configuration; GROUP_NOT_FOUND, if the project was
    deleted meanwhile.
    """
    version, listed = revisions_of(group_id).values_list("number", "processes").first() or (0, [])
    if observed.goal_version != version:
        code = ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
        raise ApiError(code, str(observed.goal_version), str(version))
    names = {name for name, _ in listed}
    for place, process in enumerate(observed.processes):
        if process["name"] not in names:
            raise ApiError.of_field(f"processes[{place}].name", ErrorCode.INVALID_ATTRIBUTE, NOT_NAMED)
    hostname = machine_key(observed.hostname)
    rows = [
        MemberObservation(
            group_id=group_id,
            replica_set=observed.replica_set,
            process=process["name"],
            hostname=hostname,
            goal_version=version,
            observed=now,
            document=process,
        )
        for process in observed.processes
    ]
    with acting(actor, now, here=Scope(group_id=group_id)):
        of_set = MemberObservation.objects.filter(group_id=group_id, replica_set=observed.replica_set)
        of_set.filter(observed__lt=now - _KEPT).delete()
        MemberObservation.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["group", "replica_set", "process"],
            update_fields=["hostname", "goal_version", "observed", "document"],
        )
    # An observation that lies ahead is of another clock of the database, and of an unknown age.
    news = of_set.filter(goal_version=version, observed__gt=now - NEWS, observed__lte=now)
    others = news.exclude(hostname=hostname)
    return list(others.order_by("process").values_list("document", flat=True))
