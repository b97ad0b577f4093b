"""Links from the event log to other pages of the console."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest

from events.models import Event
from opsapi.console.admin_urls import page_url

# For each ID in an event: the key in its details, the model and its label.
_NAMED = (
    ("hostId", "automation.host", "Host"),
    ("alertConfigId", "alerting.alertconfig", "Alert configuration"),
    ("maintenanceWindowId", "alerting.maintenancewindow", "Maintenance window"),
    ("userId", "accesslist.user", "User"),
    ("apiKeyId", "accesslist.apikey", "API key"),
    ("teamId", "accesslist.team", "Team"),
)


@dataclass(frozen=True, slots=True)
class RowLink:
    """A resource that an event names; without `url` and name if it is deleted or not readable."""

    label: str
    row_id: str
    name: str = ""
    url: str | None = None


def row_links(site: AdminSite, request: HttpRequest, event: Event) -> list[RowLink]:
    """All resources that the event names by ID."""
    return [_link(site, request, *named) for named in _ids(event)]


def _ids(event: Event) -> Iterator[tuple[str, str, str]]:
    scopes: Mapping[str, tuple[str, str | None]] = {
        "Project": ("accesslist.project", event.group_id),
        "Organization": ("accesslist.organization", event.org_id),
        "Alert": ("alerting.alert", event.alert_id),
    }
    for label, (model, row_id) in scopes.items():
        if row_id:
            yield label, model, row_id
    details: Mapping[str, Any] = event.details
    for key, model, label in _NAMED:
        if details.get(key):
            yield label, model, str(details[key])


def _link(site: AdminSite, request: HttpRequest, label: str, model: str, row_id: str) -> RowLink:
    """Adds the page of the row, if the operator can see it."""
    pages = next((page for page in site._registry.values() if page.opts.label_lower == model), None)
    if pages is None or not pages.has_view_permission(request):
        return RowLink(label, row_id)
    row = pages.get_queryset(request).filter(pk=row_id).first()
    if row is None:
        return RowLink(label, row_id)
    return RowLink(label, row_id, str(row), page_url(row))
