"""The Shift report page: shown, downloaded as Markdown, and sent to the operator's own address."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.contrib import admin, messages
from django.core.mail import EmailMessage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accesslist.throttles import throttle
from alerting.overview.shift_report import LONGEST, ShiftReport, shift_report
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.clock import parse_time, wire_time
from opsapi.console.actions import operator_of
from opsapi.outbound.mail import AUTOMATIC, mail_send

_HOURS: Final = (8, 12, 24, 72)
_USUAL: Final = 8


class ShiftError(ValueError):
    """The URL asks for no valid time; the text says why."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def shift_page(request: HttpRequest) -> HttpResponse:
    """Show the report since a time. `?format=markdown` downloads it; POST sends it to the operator."""
    now, operator = clock.now().replace(microsecond=0), operator_of(request)
    try:
        since = _since(request.GET, now)
    except ShiftError as error:
        return _page(request, None, {"fault": str(error), "since": request.GET.get("since", "")}, status=400)
    report = shift_report(operator.visible_scope(), since=since, until=now)
    if request.GET.get("format") == "markdown":
        name = f"shift-report-{now:%Y%m%dT%H%MZ}.md"
        return HttpResponse(
            report.markdown(),
            content_type="text/markdown; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
    if request.method == "POST":
        return _sent(request, report)
    return _page(request, report, {"since": wire_time(since)})


def _since(query: Mapping[str, str], now: datetime) -> datetime:
    """Read `since`, or `hours`.

    Raises ShiftError.
    """
    if query.get("since"):
        try:
            since = parse_time(query["since"])
        except ValueError:
            raise ShiftError("since must be an ISO 8601 time, such as 2026-11-21T07:26:14Z.") from None
        if not now - LONGEST <= since <= now:
            raise ShiftError(f"since must be at most {LONGEST.days} days ago, and not in the future.")
        return since
    hours = query.get("hours") or str(_USUAL)
    if hours not in {str(offered) for offered in _HOURS}:
        raise ShiftError(f"hours must be one of {', '.join(map(str, _HOURS))}.")
    return now - timedelta(hours=int(hours))


def _sent(request: HttpRequest, report: ShiftReport) -> HttpResponse:
    """Send the report to the address of the operator, and say the result on the page."""
    address = getattr(request.user, "email_address", None)
    here = f"{request.path}?{urlencode({'since': wire_time(report.since)})}"
    if not address:
        messages.error(request, "Your account has no e-mail address.")
        return redirect(here)
    try:
        throttle(
            f"shift reports {operator_of(request).actor().id}",
            settings.OPSAPI_RATE_TEST_NOTIFICATIONS,
            clock.now(),
        )
    except ApiError as refusal:
        messages.error(request, refusal.document()["detail"])
        return redirect(here)
    mail = EmailMessage(subject=report.title, body=report.markdown(), to=[address], headers=dict(AUTOMATIC))
    try:
        mail_send(mail)
    except (OSError, ValueError):  # MailError is an OSError. Global owners see its reason on "Mail server".
        messages.error(request, f"The mail server did not accept the report to {address}.")
    else:
        messages.success(request, f"Sent to {address}.")
    return redirect(here)


def _page(
    request: HttpRequest, report: ShiftReport | None, more: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": "Shift report",
        "report": report,
        "hours": _HOURS,
        "longest": LONGEST.days,
        "address": getattr(request.user, "email_address", None),
        **more,
    }
    return TemplateResponse(request, "console/shift_report.html", context, status=status)


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(shift_page)

urlpatterns = [path("", _guarded, name="shift_report")]
