"""The Shift report page: shown, downloaded as Markdown, and sent to the own address or to a service."""

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
from alerting.access import WRITE
from alerting.overview.shift_report import LONGEST, ShiftReport, shift_report
from alerting.overview.shift_sending import SentReport, report_services, shift_report_send
from integrations.channels import CHANNELS
from integrations.choices import ChannelType
from integrations.credentials.store import integration_facts
from integrations.models import Integration
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import VisibleScope
from opsapi.clock import parse_time, wire_time
from opsapi.console.actions import operator_of
from opsapi.console.display import Context
from opsapi.console.error_pages import MissingError
from opsapi.console.project_choice import PARAMETER, chosen_project
from opsapi.outbound.mail import AUTOMATIC, mail_send
from opsapi.roles import Scope, satisfies_any
from opsapi.time_zones import in_zone, local_time

_HOURS: Final = (8, 12, 24, 72)
_USUAL: Final = 8


class ShiftError(ValueError):
    """The URL asks for no valid time; the text says why."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def shift_page(request: HttpRequest) -> HttpResponse:
    """Show the report since a time. `?format=markdown` downloads it; POST sends it.

    It is sent to the operator, or to the service that the form names, with the report of its project.
    """
    now, operator = clock.now().replace(microsecond=0), operator_of(request)
    visible_scope, project = operator.visible_scope(), chosen_project(request)
    if project is not None:
        visible_scope = VisibleScope(group_ids=frozenset({project.pk}))
    try:
        since = _since(request.GET, now, operator.time_zone)
    except ShiftError as error:
        return _page(request, None, {"fault": str(error), "typed": request.GET.get("since", "")}, status=400)
    if service_id := request.POST.get("service"):
        return _sent_to_service(request, service_id, since, now)
    report = shift_report(visible_scope, since=since, until=now)
    if request.GET.get("format") == "markdown":
        name = f"shift-report-{now:%Y%m%dT%H%MZ}.md"
        return HttpResponse(
            report.markdown(),
            content_type="text/markdown; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
    if request.method == "POST":
        return _sent(request, report)
    return _page(
        request,
        report,
        {
            "since": wire_time(since),
            "typed": local_time(since, operator.time_zone),
            "project": project,
            "services": _services(request, visible_scope),
        },
    )


def _since(query: Mapping[str, str], now: datetime, zone: str) -> datetime:
    """Read `since`, in the time zone of the operator unless it names another, or `hours`.

    Raises ShiftError.
    """
    if query.get("since"):
        try:
            since = parse_time(in_zone(query["since"].strip().replace(" ", "T", 1), zone))
        except ValueError:
            raise ShiftError("Since must be a date and time, such as 2026-11-21 07:26.") from None
        if not now - LONGEST <= since <= now:
            raise ShiftError(f"Since must be at most {LONGEST.days} days ago, and not in the future.")
        return since
    hours = query.get("hours") or str(_USUAL)
    if hours not in {str(offered) for offered in _HOURS}:
        raise ShiftError(f"hours must be one of {', '.join(map(str, _HOURS))}.")
    return now - timedelta(hours=int(hours))


def _sent(request: HttpRequest, report: ShiftReport) -> HttpResponse:
    """Send the report to the address of the operator, and say the result on the page."""
    address = getattr(request.user, "email_address", None)
    here = _here(request, report.since)
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


def _here(request: HttpRequest, since: datetime) -> str:
    query = {"since": wire_time(since)}
    if PARAMETER in request.GET:
        query[PARAMETER] = request.GET[PARAMETER]
    return f"{request.path}?{urlencode(query)}"


def _services(request: HttpRequest, visible_scope: VisibleScope) -> list[Context]:
    """The services to which the operator can send the report of their project."""
    grants = operator_of(request).grants
    return [
        {"id": row.pk, "words": f"{_words(row)} · {row.group}"}
        for row in report_services(visible_scope)
        if satisfies_any(grants, WRITE.roles, Scope(group_id=row.group_id, org_id=row.group.org_id))
    ]


def _words(service: Integration) -> str:
    """Its name, such as Slack #oncall."""
    channel = CHANNELS[ChannelType(service.type)]
    facts = integration_facts(service)
    place = str(facts.get(channel.place_field or "") or "")
    return channel.receiver_words(str(facts.get(channel.fields[0].name) or ""), place)


def _sent_to_service(request: HttpRequest, service_id: str, since: datetime, now: datetime) -> HttpResponse:
    """Send the report of the project of a service to the service, and say the result on the page."""
    operator = operator_of(request)
    service = next((row for row in report_services(operator.visible_scope()) if row.pk == service_id), None)
    if service is None:
        raise MissingError("There is no such service, or it takes no reports.")
    operator.authorise_at(WRITE.roles, Scope(group_id=service.group_id))
    report = shift_report(VisibleScope(group_ids=frozenset({service.group_id})), since=since, until=now)
    name = f"{_words(service)} of {service.group}"
    try:
        sent = shift_report_send(service, report, actor=operator.actor(), now=clock.now())
    except ApiError as refusal:
        messages.error(request, f"Not sent. {refusal.document()['detail']}")
    else:
        _say(request, name, sent)
    return redirect(_here(request, since))


def _say(request: HttpRequest, name: str, sent: SentReport) -> None:
    outcome = sent.outcome
    if not sent.is_delivered:
        messages.error(request, f"{name} did not accept the report: {outcome.reason}.")
        return
    rows = f"{sent.rows} row{'' if sent.rows == 1 else 's'}"
    cut = f" Each section has at most {rows}; a link leads to all." if sent.is_cut else ""
    messages.success(request, f"{name} accepted the report after {outcome.latency_ms} ms.{cut}")


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
