"""The kiosk: the fleet map and the alerts that need somebody, without a log-in and without links.

The token is the part of the address after #, which browsers do not send. The script of the page sends it in a
header with each request for the board, so no URL, log, cookie or session contains it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accesslist.kiosks.models import Kiosk
from accesslist.kiosks.store import kiosk_opened, kiosk_scope
from alerting.engine.lag import longest_waits
from alerting.engine.workers import workers_seen
from alerting.incidents.models import Alert
from alerting.incidents.presentation import severity_badge
from alerting.incidents.rule_words import rule_of
from alerting.overview.store import NeedingAlerts, alerts_needing
from automation.fleet_map import fleet_map
from events.wording import target_words
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range
from opsapi.api.errors import ApiError
from opsapi.api.principal import VisibleScope
from opsapi.clock import age_words
from opsapi.console.site import refuse_hosts_of_others
from opsapi.console.widgets import number_of
from opsapi.first_rows import more_words

HEADER: Final = "X-Kiosk-Token"
_MOST_ALERTS: Final = 12


@never_cache
@require_safe
def kiosk_page(request: HttpRequest) -> HttpResponse:
    """The frame, which is the same for everybody; its script reads the board."""
    refuse_hosts_of_others(request)
    return render(request, "console/kiosk.html")


@never_cache
@require_safe
def kiosk_board(request: HttpRequest) -> HttpResponse:
    """The board of the kiosk whose token is in the header; 404 for a token that shows nothing."""
    refuse_hosts_of_others(request)
    now = clock.now()
    try:
        address = str(counted_range(client_address(request)))
        kiosk = kiosk_opened(request.headers.get(HEADER, ""), address=address, now=now)
    except ApiError as refusal:
        return HttpResponse(status=refusal.status, headers=dict(refusal.headers))
    visible_scope = kiosk_scope(kiosk) if kiosk else VisibleScope()
    if kiosk is None or not visible_scope:
        return HttpResponse(status=404)
    return render(request, "console/kiosk_board.html", _board(kiosk, visible_scope, now))


def _board(kiosk: Kiosk, visible_scope: VisibleScope, now: datetime) -> dict[str, Any]:
    needing = alerts_needing(visible_scope, now)
    first = needing.rows[:_MOST_ALERTS]
    return {
        "title": str(kiosk.project or kiosk.org),
        "read": now,
        "warnings": list(_warnings(now)),
        "count": needing.count_words,
        "is_quiet": not needing.rows,
        "others": _other_words(needing),
        "alerts": [_alert(alert, rule_of(alert, visible_scope), now) for alert in first],
        "more": more_words(len(needing.rows) - len(first), at_least=needing.is_cut),
        "maps": list(fleet_map(visible_scope, now)),
    }


def _warnings(now: datetime) -> Iterator[str]:
    """Why the board may be wrong. With a warning, a board without alerts does not mean that all is well."""
    if not workers_seen(now).exists():
        yield "No worker is running, so alerts are not evaluated."
    late = longest_waits(now).evaluation_words
    if late:
        yield f"{late[0].upper()}{late[1:]}."


def _other_words(needing: NeedingAlerts) -> str:
    counts = ((needing.acknowledged, "acknowledged"), (needing.muted, "muted"))
    return " · ".join(f"{number_of(count)} {words}" for count, words in counts if count)


def _alert(alert: Alert, words: str, now: datetime) -> dict[str, Any]:
    severity, tone = severity_badge(alert)
    return {
        "words": words,
        "severity": severity,
        "tone": tone.value,
        "target": target_words(alert.facts),
        "project": alert.group.name,
        "age": age_words(now - alert.created),
    }


urlpatterns = [
    path("", kiosk_page, name="kiosk"),
    path("board/", kiosk_board, name="kiosk_board"),
]
