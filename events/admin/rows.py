"""Presentation of events in the list."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin import AdminSite

from events.models import Event
from events.wording import about, acted_by_key, acting, in_words
from opsapi.api.principal import Operator
from opsapi.console.admin_urls import page_url_named
from opsapi.console.links import urls_seen


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """A row of the list; missing texts are empty."""

    id: str
    created: datetime
    event_type: str
    words: str
    about: str
    who: str
    by_key: bool
    address: str
    project: str
    project_url: str
    about_url: str
    who_url: str


@dataclass(frozen=True, slots=True)
class _Urls:
    """Pages of hosts by ID and of users by name, as far as the operator can see them."""

    hosts: Mapping[str, str]
    users: Mapping[str, str]


def shown_events(events: Iterable[Event], operator: Operator, site: AdminSite) -> list[ShownEvent]:
    """Adds project names; for projects that are deleted or not readable, the ID."""
    listed = list(events)
    names = group_names(operator, {event.group_id for event in listed if event.group_id})
    visible_scope, details = operator.visible_scope(), [event.details for event in listed]
    urls = _Urls(
        urls_seen(site, visible_scope, "automation.host", "id", (detail.get("hostId") for detail in details)),
        urls_seen(
            site, visible_scope, "accesslist.user", "username", (detail.get("username") for detail in details)
        ),
    )
    return [_shown(event, names, urls) for event in listed]


def group_names(operator: Operator, ids: Iterable[str]) -> dict[str, str]:
    """Names of the projects that the operator can read, by ID."""
    wanted = list(ids)
    return {group.id: group.name for group in operator.groups(ids=wanted)} if wanted else {}


def _project_url(group_id: str | None, names: Mapping[str, str]) -> str:
    return page_url_named("accesslist.project", group_id) if group_id and group_id in names else ""


def _shown(event: Event, names: Mapping[str, str], urls: _Urls) -> ShownEvent:
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
        project_url=_project_url(event.group_id, names),
        about_url=urls.hosts.get(details.get("hostId", ""), ""),
        who_url=urls.users.get(details.get("username", ""), ""),
    )
