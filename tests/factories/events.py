"""Events as services record them, with the signal that brings them to alerting."""

from django.db import transaction

from accesslist.models import Project
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM


def key_added(project: Project) -> Event:
    """A key was added to the organization of the project."""
    return happened(EventType.ORG_API_KEY_ADDED, org_id=project.org_id)


def happened(event_type: EventType, org_id: str | None = None) -> Event:
    """An event without a project: of an organization, or for None of the installation."""
    with transaction.atomic():
        return event_record(event_type=event_type, actor=SYSTEM, now=clock.now(), org_id=org_id)
