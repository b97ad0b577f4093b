"""Events as the list shows them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from events.models import Event
from events.wording import about, acted_by_key, acting, in_words
from opsapi.api.principal import Operator


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """A row of the list; texts are empty where there is nothing."""

    id: str
    created: datetime
    event_type: str
    words: str
    about: str
    who: str
    by_key: bool
    address: str
    project: str


def shown_events(events: Iterable[Event], operator: Operator) -> list[ShownEvent]:
    """With the names of those projects the operator may read; of others, and of those gone, the id."""
    listed = list(events)
    names = group_names(operator, {event.group_id for event in listed if event.group_id})
    return [_shown(event, names) for event in listed]


def group_names(operator: Operator, ids: Iterable[str]) -> dict[str, str]:
    """Names of those of the projects the operator may read, by their ids."""
    wanted = list(ids)
    return {group.id: group.name for group in operator.groups(ids=wanted)} if wanted else {}


def _shown(event: Event, names: Mapping[str, str]) -> ShownEvent:
    details = event.details
    return ShownEvent(
        id=event.id,
        created=event.created,
        event_type=event.event_type,
        words=in_words(event.event_type),
        about=about(details),
        who=acting(details) or "",
        by_key=acted_by_key(details),
        address=details.get("remoteAddress", ""),
        project=names.get(event.group_id or "", event.group_id or ""),
    )
