"""The history of a row: the events about it, as a search of the event log."""

from collections.abc import Mapping
from typing import Final

from django.db.models import Model

from events.types import Category
from opsapi.console.admin_urls import list_url

_CATEGORIES: Final[Mapping[str, Category]] = {
    "accesslist.apikey": Category.API_KEY,
    "accesslist.organization": Category.ORGANIZATION,
    "accesslist.project": Category.GROUP,
    "accesslist.team": Category.TEAM,
    "accesslist.user": Category.USER,
    "alerting.alertconfig": Category.ALERT_CONFIG,
    "alerting.maintenancewindow": Category.MAINTENANCE_WINDOW,
    "integrations.integration": Category.INTEGRATION,
}
"""The category of the events about the rows of a model, whose index bounds the search."""


_NAMES: Final[Mapping[str, str]] = {"integrations.integration": "type"}
"""The field that names a row in diffs, if it is not the ID."""


def history_url(row: Model) -> str:
    """The events about a row; empty if its model has no history."""
    label = row._meta.label_lower
    # Without a project, the list would show the one that the operator works with.
    project = row.pk if label == "accesslist.project" else getattr(row, "group_id", None) or ""
    if label == "automation.host":
        return list_url("events.event", project=project, host=str(row))
    if label not in _CATEGORIES:
        return ""
    name = str(getattr(row, _NAMES.get(label, "pk")))
    return list_url("events.event", project=project, category=_CATEGORIES[label].value, object=name)
