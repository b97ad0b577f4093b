"""Changes of hosts as marks on their charts: elections, restarts, and hosts that went down or came back."""

from typing import Final

from automation.hosts.models import Host
from events.log.search import EventSearch, search_page
from events.models import Event
from events.types import EventType
from events.wording import in_words
from opsapi.api.principal import VisibleScope
from opsapi.console.admin_urls import page_url
from opsapi.console.charts import ChartNotes, ChartQuestion, Mark

_MOST_EVENTS: Final = 500
"""The maximum number of events of the project that are searched for events of the hosts."""
_OF_HOSTS = (
    EventType.HOST_DOWN,
    EventType.HOST_UP,
    EventType.HOST_RESTARTED,
    EventType.HOST_NOW_PRIMARY,
    EventType.HOST_NOW_STANDALONE,
)
_OF_SETS = (EventType.PRIMARY_ELECTED, EventType.NO_PRIMARY)


def changes_of_hosts(visible_scope: VisibleScope, question: ChartQuestion) -> ChartNotes:
    """Return the changes of the hosts and of their replica sets in the time range."""
    hosts: list[Host] = list(question.rows)
    if not hosts:
        return ChartNotes()
    search = EventSearch(
        visible_scope=visible_scope,
        group_id=hosts[0].group_id,
        event_types=tuple(event_type.value for event_type in (*_OF_HOSTS, *_OF_SETS)),
        start=question.since,
        end=question.until,
    )
    page = search_page(search, size=_MOST_EVENTS)
    by_id = {host.id: host for host in hosts}
    sets = {host.replica_set_name for host in hosts if host.replica_set_name}
    marks = [
        Mark(event.created, _words(event, by_id), page_url(event))
        for event in reversed(page.events)
        if event.alert_id is None and (event.details.get("hostId") in by_id or _is_of_set(event, sets))
    ]
    left_out = f"Changes before the last {_MOST_EVENTS} of the project are not marked."
    return ChartNotes(marks=marks, left_out=[left_out] if page.next else [])


def _is_of_set(event: Event, sets: set[str]) -> bool:
    of_set = {event_type.value for event_type in _OF_SETS}
    return event.event_type in of_set and event.details.get("replicaSetName") in sets


def _words(event: Event, hosts: dict[str, Host]) -> str:
    host = hosts.get(event.details.get("hostId", ""))
    target = str(host) if host else event.details.get("replicaSetName", "")
    return f"{in_words(event.event_type)}: {target}"
