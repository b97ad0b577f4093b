"""Recorded events as observations, for the dry run of an alert configuration."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q
from django.utils.functional import cached_property

from accesslist.models import Project
from alerting.engine.observations import METRICS_GONE, Condition, Observation, of_event
from alerting.engine.transition import target_of
from automation.hosts.store import host_state
from automation.models import Host
from events.log.store import EventPosition
from events.models import Event
from events.types import EVENT_TYPES, AlertEffect, EventType, Target, closing_type, openers_of
from opsapi.clock import wire_time

AT_ONCE: Final = 2_000
MOST_EARLIER: Final = 10_000
"""The most events before the start that are searched for conditions that were true at the start."""

_DELETES = {
    Target.HOST: EventType.DELETE_HOST_AUDIT,
    Target.HOST_METRIC: EventType.DELETE_HOST_AUDIT,
    Target.AGENT: EventType.AGENT_DELETED_AUDIT,
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """An observation of an event, or a deletion, whose facts name the deleted host or agent."""

    at: datetime
    observation: Observation | None = None
    deleted: Mapping[str, Any] | None = None


class RecordedEvents:
    """The events of a project that concern an event type. Hosts have the facts that they have now."""

    def __init__(self, group_id: str, event_type: EventType) -> None:
        self._type = event_type
        spec = EVENT_TYPES[event_type]
        self._delete = _DELETES.get(spec.target) if spec.kind is AlertEffect.OPENING else None
        closing = closing_type(event_type)
        self._closing = closing
        # As in evaluation, an event of an organization concerns its projects if it opens no alert.
        of_org = Project.objects.filter(id=group_id).exclude(org_id=None).values("org_id")
        scope = Q(group_id=group_id)
        if spec.one_shot:
            scope |= Q(group_id=None, org_id__in=of_org)
        self._events = Event.objects.filter(scope, alert_id=None)
        self._group_id = group_id

    @cached_property
    def _hosts(self) -> Mapping[str, Mapping[str, Any]]:
        """The states of the project's hosts now."""
        rows = Host.objects.filter(group_id=self._group_id).order_by("id")
        return {host.id: host_state(host) for host in rows}

    def between(self, start: datetime, end: datetime) -> Iterator[list[Recorded]]:
        """Yield the events of a time range in order, some at a time; both ends are inclusive."""
        roles = METRICS_GONE if self._type is EventType.OUTSIDE_METRIC_THRESHOLD else ()
        types = [name.value for name in (self._type, self._closing, self._delete, *roles) if name]
        in_range = self._events.filter(event_type__in=types, created__gte=start, created__lte=end)
        following = in_range = in_range.order_by("created", "id")
        while True:
            page = list(following[:AT_ONCE])
            if page:
                yield [recorded for event in page for recorded in self._recorded(event)]
            if len(page) < AT_ONCE:
                return
            following = in_range.filter(EventPosition(page[-1].created, page[-1].id).newer)

    def at(self, moment: datetime) -> tuple[list[Observation], bool]:
        """The conditions that were true then: whose newest earlier event is their beginning.

        The second is whether older events were not searched.
        """
        if self._closing is None:
            return [], False
        siblings = openers_of(self._closing)
        types = [name.value for name in (*siblings, self._closing, self._delete) if name]
        rows = self._events.filter(event_type__in=types, created__lt=moment).order_by("-created", "-id")
        page = list(rows[:MOST_EARLIER])
        known: set[str] = set()
        observations = []
        for event in page:
            observation = Observation(self._type, Condition.HOLDS, self._facts(event), event_id=event.id)
            target = target_of(observation)
            if target not in known and event.event_type == self._type.value:
                observations.append(observation)
            known.add(target)
        return observations[::-1], len(page) == MOST_EARLIER

    def _facts(self, event: Event) -> dict[str, Any]:
        now = self._hosts.get(event.details.get("hostId", ""), {})
        return {**now, **event.details}

    def _recorded(self, event: Event) -> Iterator[Recorded]:
        if self._delete and event.event_type == self._delete.value:
            yield Recorded(event.created, deleted=event.details)
            return
        payload = {
            **self._facts(event),
            "eventId": event.id,
            "eventTypeName": event.event_type,
            "happened": wire_time(event.created),
        }
        for observation in of_event(payload):
            if observation.event_type is self._type:
                yield Recorded(event.created, observation)
