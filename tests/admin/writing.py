"""Writing through the console, and what every write has to leave."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest
from django.test import Client

from accesslist.models import User
from events.models import Event
from events.types import EventType
from opsapi.console.action_pages import TOKEN_FIELD, page_token


@contextmanager
def leaves_events(user: User, *expected: EventType, as_owner: bool = True) -> Iterator[list[Event]]:
    """Checks that what is done inside leaves these events, all of this user and address, and no log entry.

    `as_owner`: the user is a Global owner.
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
    return post(console, url, confirmed="yes", **{TOKEN_FIELD: _unused_token(console), **values})


def _unused_token(console: Client) -> str:
    """As a page that was shown bears it, without the time to render one. Empty for strangers."""
    if settings.SESSION_COOKIE_NAME not in console.cookies:
        return ""
    request = HttpRequest()
    request.session = console.session
    return page_token(request)


def token(console: Client, url: str) -> str:
    """What a page bears that makes something once; empty where another page or none is shown."""
    found: str = (console.get(url).context or {}).get("token", "")
    return found
