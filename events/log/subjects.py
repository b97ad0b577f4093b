"""What events are about, as the console shows it: a few names, and the page of a row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.contrib.admin import AdminSite

from events.choices import DiffType
from events.log.models import Event
from events.wording import MetricWords, about, in_words
from opsapi.api.principal import VisibleScope
from opsapi.apps import contributions
from opsapi.console.admin_urls import page_url
from opsapi.console.display import rows_seen
from opsapi.console.widgets import Cell

_ROWS: Final = (
    ("alertConfigId", "alerting.alertconfig"),
    ("maintenanceWindowId", "alerting.maintenancewindow"),
    ("teamId", "accesslist.team"),
)
"""The details that name a row by its ID, and its model."""
_NAMES: Final = ("name", "desc", "description", "username")
"""The fields of a document that name what it is about, the first that it has."""


def subjects(events: Sequence[Event], visible_scope: VisibleScope, site: AdminSite) -> list[Cell]:
    """Return what each event is about: what its details name, otherwise its row, otherwise its document.

    Hosts have no page here, because the details name them with other things.
    """
    metric_words = _metric_words()
    named = [about(event.details, metric_words) for event in events]
    rows = _rows(
        [event for event, words in zip(events, named, strict=True) if not words], visible_scope, site
    )
    return [
        Cell(words) if words else _of_row(event, rows) or Cell(_of_diffs(event.diffs))
        for event, words in zip(events, named, strict=True)
    ]


def _rows(events: Iterable[Event], visible_scope: VisibleScope, site: AdminSite) -> Mapping[Any, Cell]:
    """The visible rows of the events, by ID; integrations by project and type."""
    listed = list(events)
    cells: dict[Any, Cell] = {}
    for key, label in _ROWS:
        for row in rows_seen(site, visible_scope, label, "pk", (event.details.get(key) for event in listed)):
            cells[row.pk] = Cell(str(row), page_url(row))
    types = [_integration(event) for event in listed]
    for row in rows_seen(site, visible_scope, "integrations.integration", "type", types):
        cells[row.group_id, row.type] = Cell(str(row), page_url(row))
    return cells


def _of_row(event: Event, rows: Mapping[Any, Cell]) -> Cell | None:
    ids = [event.details.get(key) for key, _ in _ROWS]
    keys = [*ids, (event.group_id, _integration(event))]
    return next((rows[key] for key in keys if key in rows), None)


def _integration(event: Event) -> str | None:
    """The type of the integration that the event is about, which names it in its project."""
    first = event.diffs[0] if event.diffs else {}
    return str(first["id"]) if first.get("type") == DiffType.INTEGRATION.value else None


def _of_diffs(diffs: Sequence[Mapping[str, Any]]) -> str:
    """The name in the documents of the first diff; empty if it has none."""
    if not diffs:
        return ""
    if diffs[0]["type"] == DiffType.INTEGRATION.value:
        return in_words(diffs[0]["id"])
    values = {param["param"]: param.get("new") or param.get("old") or "" for param in diffs[0]["params"]}
    return next((values[name] for name in _NAMES if values.get(name)), "")


def _metric_words() -> MetricWords:
    return next((words for given in contributions("metric_words") for words in given), str)
