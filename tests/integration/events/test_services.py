"""What is written to the event log."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from events.log.changes import event_record
from events.log.store import EventFilter, event_rows
from events.models import Event
from events.types import EventType
from tests.factories.automation import AGENT

pytestmark = pytest.mark.django_db

SECOND = datetime(2099, 3, 4, 5, 6, 7, tzinfo=UTC)


def recorded(now: datetime) -> Event:
    """An event of the installation."""
    with transaction.atomic():
        return event_record(event_type=EventType.USER_CREATED_AUDIT, actor=AGENT, now=now)


def test_within_a_second_the_ids_show_the_order() -> None:
    """Who waited for a lock is recorded after, with a moment before."""
    first = recorded(SECOND + timedelta(milliseconds=900))
    second = recorded(SECOND + timedelta(milliseconds=100))
    before = recorded(SECOND - timedelta(milliseconds=1))
    assert [row["id"] for row in event_rows(EventFilter())] == [second.id, first.id, before.id]
    assert first.created == SECOND
