"""The start page: the current state. It refreshes every ten seconds (overview.js)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.widgets import Chart, Notice, Panel, overview


def overview_context(request: HttpRequest) -> Context:
    """Return the context of the template: the widgets for this operator, and the time."""
    now, visible_scope = clock.now(), operator_of(request).visible_scope()
    parts = [part for contribute in overview() for part in contribute(visible_scope, now)]
    panels = sorted((part for part in parts if isinstance(part, Panel)), key=lambda panel: panel.rank)
    return {
        "notices": [part for part in parts if isinstance(part, Notice)],
        "panels": panels,
        "charts": [part for part in parts if isinstance(part, Chart)],
        "summary": ", ".join(f"{one.unit}: {one.number}" for one in panels),
        "read": now,
    }


@require_safe
def overview_widgets(request: HttpRequest) -> HttpResponse:
    """The widgets alone, for the script of the page."""
    response = render(request, "console/overview.html", overview_context(request))
    response["Cache-Control"] = "no-store"
    return response
