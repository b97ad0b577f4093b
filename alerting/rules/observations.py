"""What a signal says, in the form rules judge: one observation per event type and target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from alerting.rules.matching import Subject
from events.types import EVENT_TYPES, EventType, openers_of


class Condition(StrEnum):
    """What a signal says of the condition an event type stands for."""

    HOLDS = "HOLDS"
    ENDED = "ENDED"
    MEASURED = "MEASURED"
    """The threshold of the configuration has to tell."""
    HAPPENED = "HAPPENED"
    """Told once; opens nothing."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing seen: `facts` under their wire names, `samples` per metric in its base unit."""

    event_type: EventType
    condition: Condition
    facts: Mapping[str, Any]
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    event_id: str | None = None

    @property
    def subject(self) -> Subject:
        """What matchers look at."""
        return Subject(
            hostname=self.facts.get("hostname"),
            port=self.facts.get("port"),
            type_name=self.facts.get("typeName"),
            replica_set_name=self.facts.get("replicaSetName"),
            shard_name=self.facts.get("shardName"),
            cluster_name=self.facts.get("clusterName"),
        )


def of_event(payload: Mapping[str, Any]) -> list[Observation]:
    """An event: what it opens, tells once, or for a closing type everything it ends."""
    event_type = EventType(payload["eventTypeName"])
    spec = EVENT_TYPES[event_type]
    if spec.closes:
        return [Observation(opener, Condition.ENDED, payload) for opener in openers_of(event_type)]
    condition = Condition.HAPPENED if spec.told_once else Condition.HOLDS
    return [Observation(event_type, condition, payload, event_id=payload["eventId"])]


def of_host(state: Mapping[str, Any], samples: Mapping[str, Sequence[float]]) -> list[Observation]:
    """A host's state at a report: up or down, and what was measured."""
    condition = Condition.ENDED if state["reachable"] else Condition.HOLDS
    seen = [Observation(EventType.HOST_DOWN, condition, state)]
    if samples:
        seen.append(Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED, state, samples))
    return seen
