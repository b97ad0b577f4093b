"""The event log of the console as it is read, and events to be found there."""

import csv
import html
import re
from datetime import timedelta
from io import StringIO
from typing import Any

from django.db import transaction
from django.test import Client

from accesslist.models import Project
from events.facts import EventFacts
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.principal import SYSTEM, Actor, ActorKind

LIST = "/admin/events/event/"
CSV = "/admin/events/event/csv/"
ADA = Actor(ActorKind.USER, "0" * 24, "ada@example.com", remote_address="192.0.2.7")
KEY = Actor(ActorKind.KEY, "1" * 24, "k3yp7b", remote_address="198.51.100.1")


def record(
    project: Project | None = None,
    event_type: EventType = EventType.HOST_DOWN,
    actor: Actor = SYSTEM,
    *,
    ago: timedelta = timedelta(0),
    hostname: str | None = None,
    **scope: Any,
) -> Event:
    """An event, that long ago."""
    facts = EventFacts(hostname=hostname, port=27017) if hostname else None
    with transaction.atomic():
        return event_record(
            event_type=event_type,
            actor=actor,
            now=clock.now() - ago,
            group_id=project.id if project else None,
            facts=facts,
            **scope,
        )


def listed(client: Client, **query: str) -> list[str]:
    """The ids of the events on the page, in its order."""
    answer = client.get(LIST, query)
    assert answer.status_code == 200, answer.content
    return re.findall(r"/admin/events/event/([0-9a-f]{24})/change/", answer.content.decode())


def link(client: Client, text: str, **query: str) -> dict[str, str] | None:
    """The query of the link of that text; None when there is none."""
    page = client.get(LIST, query).content.decode()
    found = re.search(rf'href="\?([^"]*)"[^>]*>{text}</a>', page)
    if found is None:
        return None
    pairs = (pair.split("=") for pair in html.unescape(found[1]).split("&"))
    return dict(pairs)


def rows(client: Client, **query: str) -> list[dict[str, str]]:
    """The rows of the file, by their headers."""
    answer: Any = client.get(CSV, query)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Type"] == "text/csv; charset=utf-8; header=present"
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(StringIO(text, newline="")))
