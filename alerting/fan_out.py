"""Events of an organization or of the installation, passed on to the configurations that cover them.

Global configurations notify at once, each a single time. Each of the organization's projects gets a signal, a
page of projects in a transaction: the project's own configurations then notify of it as of its own events.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from alerting.selectors.scopes import configs_asking_without_project, projects_asking
from alerting.services.notifications import OneShot, schedule_one_shots
from events.choices import SignalKind
from events.models import Signal
from events.services import signals_record
from events.types import EventType

PROJECTS_AT_ONCE = 100
_AFTER = "afterGroupId"
_Payload = tuple[str | None, Mapping[str, Any]]


def is_fanned_out(signal: Signal) -> bool:
    """Whether it came to its project from the organization: global configurations have already notified."""
    return "orgId" in signal.payload


def fan_out(signal: Signal) -> None:
    """Notify by global configurations of an event without a project, and pass it on to a page of projects.

    The rest of the projects is left to another signal.
    """
    event_type, org_id = EventType(signal.payload["eventTypeName"]), signal.payload.get("orgId")
    if _AFTER not in signal.payload:
        _notify_global_configs(signal, event_type, org_id)
    if org_id is not None:
        payloads = _to_projects(signal, event_type, org_id)
        signals_record(kind=SignalKind.EVENT, payloads=payloads, now=signal.created)


def _notify_global_configs(signal: Signal, event_type: EventType, org_id: str | None) -> None:
    asking = configs_asking_without_project(event_type, org_id)
    schedule_one_shots(
        [OneShot(config_id, signal.payload["eventId"], None, signal.created) for config_id in asking]
    )


def _to_projects(signal: Signal, event_type: EventType, org_id: str) -> Iterator[_Payload]:
    said = {name: value for name, value in signal.payload.items() if name != _AFTER}
    asking = projects_asking(event_type, org_id, after=signal.payload.get(_AFTER, ""))
    page = list(asking[: PROJECTS_AT_ONCE + 1])
    for group_id in page[:PROJECTS_AT_ONCE]:
        yield group_id, said
    if len(page) > PROJECTS_AT_ONCE:
        yield None, {**said, _AFTER: page[PROJECTS_AT_ONCE - 1]}
