"""Writing through the console, and what every write has to leave."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.admin.models import LogEntry
from django.test import Client

from accesslist.models import User
from events.models import Event
from events.types import EventType


@contextmanager
def leaves_events(user: User, *expected: EventType, as_owner: bool = True) -> Iterator[list[Event]]:
    """Checks that what is done inside leaves these events, all of this user and address, and no log entry.

    `as_owner`: the user is a Global Owner.
    """
    known = set(Event.objects.values_list("id", flat=True))
    found: list[Event] = []
    yield found
    found += Event.objects.exclude(id__in=known).order_by("id")
    assert [event.event_type for event in found] == [event_type.value for event_type in expected]
    for event in found:
        acting = {name: event.details.get(name) for name in ("userId", "username", "remoteAddress")}
        assert acting == {"userId": user.id, "username": user.username, "remoteAddress": "192.0.2.1"}
        assert event.details["isGlobalAdmin"] is as_owner
    assert not LogEntry.objects.exists()


def post(console: Client, url: str, /, **values: Any) -> Any:
    return console.post(url, values, REMOTE_ADDR="192.0.2.1")


def confirm(console: Client, url: str, /, **values: Any) -> Any:
    """As the form on the page of an action is sent, with what is hidden in it."""
    return post(console, url, confirmed="yes", **{"once": token(console, url), **values})


def token(console: Client, url: str) -> str:
    """What a page bears that makes something once; empty where another page or none is shown."""
    found: str = (console.get(url).context or {}).get("token", "")
    return found
