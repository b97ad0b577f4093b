"""Fan-out of the events of an organization, or of the installation, to the configurations that cover them.

Global configurations notify at once, each a single time. Each project of the organization gets a signal,
PROJECTS_AT_ONCE projects in one transaction: the project's own configurations then notify as of the project's
own events.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from alerting.configs.store import configs_asking_without_project, projects_asking
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.schedule import OneShot, schedule_one_shots
from events.choices import SignalKind
from events.models import Signal
from events.outbox.changes import signals_record
from events.types import EventType

PROJECTS_AT_ONCE = 100
_AFTER = "afterGroupId"
_Payload = tuple[str | None, Mapping[str, Any]]


def comes_from_organization(signal: Signal) -> bool:
    """Whether `fan_out` copied the signal: global configurations have notified of its event already."""
    return "orgId" in signal.payload


def fan_out(signal: Signal) -> None:
    """Notify by global configurations of an event without a project, and write signals for some projects.

    Another signal continues with the rest of the projects.
    """
    event_type, org_id = EventType(signal.payload["eventTypeName"]), signal.payload.get("orgId")
    if _AFTER not in signal.payload:
        asking = configs_asking_without_project(event_type, org_id)
        event_id = signal.payload["eventId"]
        schedule_one_shots(
            [OneShot(config_id, event_id, None, signal.created) for config_id in asking], ledger=POSTGRESQL
        )
    if org_id is not None:
        payloads = _to_projects(signal, event_type, org_id)
        signals_record(kind=SignalKind.EVENT, payloads=payloads, now=signal.created)


def _to_projects(signal: Signal, event_type: EventType, org_id: str) -> Iterator[_Payload]:
    payload = {name: value for name, value in signal.payload.items() if name != _AFTER}
    asking = projects_asking(event_type, org_id, after=signal.payload.get(_AFTER, ""))
    page = list(asking[: PROJECTS_AT_ONCE + 1])
    for group_id in page[:PROJECTS_AT_ONCE]:
        yield group_id, payload
    if len(page) > PROJECTS_AT_ONCE:
        yield None, {**payload, _AFTER: page[PROJECTS_AT_ONCE - 1]}
