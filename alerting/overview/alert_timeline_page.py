"""The page Timeline of alerts: the alerts of a day or a week over time, by set or host."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from alerting.overview.alert_spans import alert_spans, ticks
from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.model_admin import live_context
from opsapi.console.project_choice import chosen_project

_RANGES: Final[Mapping[str, timedelta]] = {"24h": timedelta(days=1), "7d": timedelta(days=7)}


@never_cache
@require_safe
def alert_timeline_page(request: HttpRequest) -> HttpResponse:
    """Show the alerts of the chosen project, or of all; an unknown range is a day."""
    now, operator = clock.now().replace(microsecond=0), operator_of(request)
    name = request.GET.get("range", "")
    length = _RANGES.get(name, _RANGES["24h"])
    project = chosen_project(request)
    spans = alert_spans(
        operator.visible_scope(), since=now - length, until=now, group_id=project.pk if project else None
    )
    context = {
        **admin.site.each_context(request),
        "title": "Timeline",
        "live": live_context(request),
        "spans": spans,
        "ticks": ticks(now - length, now, operator.time_zone),
        "since": now - length,
        "until": now,
        "ranges": [
            {"name": offered, "words": f"{offered[:-1]} {offered[-1]}", "current": offered_length == length}
            for offered, offered_length in _RANGES.items()
        ],
    }
    return TemplateResponse(request, "console/alert_timeline.html", context)


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(alert_timeline_page)

urlpatterns = [path("", _guarded, name="alert_timeline")]
