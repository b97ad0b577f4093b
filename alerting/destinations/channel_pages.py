"""The Channels page: the services of the projects in reach, their health and use, and real test messages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.text import capfirst
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accesslist.models import Project
from alerting.access import WRITE
from alerting.configs.models import AlertConfig
from alerting.configs.notification_tests import NotificationTest, notifications_test
from alerting.destinations.channel_cards import (
    ChannelCard,
    ChannelCards,
    channel_cards,
    is_receiver,
)
from alerting.destinations.delivery_hours import DeliveryRange, delivery_chart
from alerting.destinations.models import Destination
from integrations.channels.email import EMAIL
from integrations.credentials.store import integrations_of
from integrations.mail_server import mail_server_test
from integrations.models import Integration
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.links import base_url
from opsapi.api.principal import Operator, VisibleScope
from opsapi.clock import ago_words
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import action_url, add_url, creation_url, list_url, page_url
from opsapi.console.display import Context, ago
from opsapi.console.error_pages import MissingError
from opsapi.console.project_choice import chosen_project
from opsapi.console.widgets import Tone
from opsapi.roles import INSTALLATION, Role, Scope, satisfies, satisfies_any


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test of a channel, in words. `is_sent`: False if a limit or a setting prevented it."""

    is_accepted: bool
    words: str
    detail: str = ""
    is_sent: bool = True


Results = Mapping[str, TestResult]
"""By the key of the card; a project without a test has its ID as key."""


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def channels_page(request: HttpRequest) -> HttpResponse:
    """Show the channels; POST tests one of them, or all of a project."""
    visible_scope, project = operator_of(request).visible_scope(), chosen_project(request)
    if project is not None:
        visible_scope = VisibleScope(group_ids=frozenset({project.pk}))
    results = _tested(request) if request.method == "POST" else {}
    return _page(request, visible_scope, project, results)


def _page(
    request: HttpRequest, visible_scope: VisibleScope, project: Project | None, results: Results
) -> HttpResponse:
    now = clock.now()
    cards = channel_cards(visible_scope, now)
    shown_range = _range(request)
    chart, chart_note = delivery_chart(visible_scope, shown_range, now)
    operator = operator_of(request)
    may_add = operator.holds_somewhere(WRITE.roles)
    project_id = project.pk if project else ""
    context = {
        **admin.site.each_context(request),
        "title": "Channels",
        "shared": [_shown(request, card, results) for card in cards.shared],
        "projects": [_project(request, group, of_group, results) for group, of_group in cards.projects],
        "notes": cards.notes,
        "chart": chart,
        "chart_note": chart_note,
        "ranges": _ranges(request, shown_range),
        "add_url": add_url(Integration, group=project_id) if may_add else "",
        "list_url": list_url(Integration),
        "created": _created(request, cards),
    }
    return TemplateResponse(request, "console/channels.html", context)


def _range(request: HttpRequest) -> DeliveryRange:
    given = request.GET.get("last", "")
    return DeliveryRange(given) if given in list(DeliveryRange) else DeliveryRange.DAY


def _ranges(request: HttpRequest, chosen: DeliveryRange) -> list[Context]:
    """The times that the chart can show, with the other parameters of the page."""
    query = request.GET.copy()
    choices: list[Context] = []
    for choice in DeliveryRange:
        query["last"] = choice.value
        choices.append({"url": f"?{query.urlencode()}", "words": choice.words, "is_shown": choice is chosen})
    return choices


def _project(request: HttpRequest, group: Project, cards: Sequence[ChannelCard], results: Results) -> Context:
    tested = [card for card in cards if card.integration and is_receiver(card.integration)]
    return {
        "group": group,
        "url": page_url(group),
        "cards": [_shown(request, card, results) for card in cards],
        "test_all": len(tested) > 1 and _may_write(request, group),
        "refusal": results.get(group.id),
    }


def _shown(request: HttpRequest, card: ChannelCard, results: Results) -> Context:
    words, tone = card.state
    result = results.get(card.key)
    if result is not None and result.is_sent and not result.is_accepted:
        words, tone = "test failed", Tone.BAD
    group_id = card.group.id if card.group else ""
    return {
        "card": card,
        "id": card.key.replace(":", "-"),
        "state": words,
        "tone": tone.value,
        "why": _why(card),
        "proof": ago(card.proof) if card.proof else "never",
        "rules_url": list_url(AlertConfig, notifies=card.type, project=group_id) if group_id else "",
        "destinations_url": list_url(Destination, channel=card.type, project=group_id),
        "destinations": _destinations(card),
        "may_test": _may_test(request, card),
        "mail_url": _mail_url(request) if card.type == EMAIL.type else "",
        "use_url": creation_url(AlertConfig, "presets", group=group_id) if _uses(request, card) else "",
        "change_url": action_url(Integration, card.integration.pk, "change")
        if card.integration and _may_write(request, card.group)
        else "",
        "page_url": page_url(card.integration) if card.integration else "",
        "result": result,
    }


def _why(card: ChannelCard) -> str:
    """What the state means, if it is not good."""
    health = card.health
    _, tone = card.state
    if not card.sends:
        return "Prometheus reads the agents of the project from the platform."
    if health.failing:
        since = f" since {ago_words(health.failing_since, clock.now())}" if health.failing_since else ""
        return f"Failing{since}: {health.last_error}."
    if card.failed_test:
        failed, error = card.failed_test
        return f"The test failed {ago_words(failed, clock.now())}: {error}."
    if tone is Tone.PLAIN:
        return (
            "Its credentials changed since it last accepted a message. Send a test."
            if card.is_changed
            else "Nobody knows whether it works. Send a test."
        )
    return card.setup or ("The service asked for fewer messages." if health.slowed else "")


def _destinations(card: ChannelCard) -> str:
    health = card.health
    noun = "destination" if health.count == 1 else "destinations"
    counted = f"{health.count} {noun}"
    return f"{health.failing} of {counted} fail" if health.failing and health.count > 1 else counted


def _may_write(request: HttpRequest, group: Project | None) -> bool:
    if group is None:
        return False
    scope = Scope(group_id=group.id, org_id=group.org_id)
    return satisfies_any(operator_of(request).grants, WRITE.roles, scope)


def _may_test(request: HttpRequest, card: ChannelCard) -> bool:
    """Whether the operator can test it here: stored credentials, or e-mail to the operator's own address."""
    if card.type == EMAIL.type:
        return bool(_own_address(request)) and satisfies(
            operator_of(request).grants, Role.GLOBAL_OWNER, INSTALLATION
        )
    return card.sends and card.integration is not None and _may_write(request, card.group)


def _mail_url(request: HttpRequest) -> str:
    """The settings of the mail server, where a Global owner can test other addresses."""
    is_owner = satisfies(operator_of(request).grants, Role.GLOBAL_OWNER, INSTALLATION)
    return reverse("mail_server") if is_owner else ""


def _uses(request: HttpRequest, card: ChannelCard) -> bool:
    return card.sends and card.integration is not None and _may_write(request, card.group)


def _own_address(request: HttpRequest) -> str:
    return getattr(request.user, "email_address", None) or ""


def _created(request: HttpRequest, cards: ChannelCards) -> Context | None:
    """The service that was just created, with the way to its use; None for others."""
    for group, of_group in cards.projects:
        for card in of_group:
            if card.integration and card.integration.pk == request.GET.get("created"):
                return {
                    "card": card,
                    "group": group,
                    "id": card.key.replace(":", "-"),
                    "use_url": creation_url(AlertConfig, "presets", group=group.id),
                    "rules_url": list_url(AlertConfig, project=group.id),
                }
    return None


def _tested(request: HttpRequest) -> Results:
    """Send the test messages that the form asks for."""
    operator = operator_of(request)
    group_id, channel = request.POST.get("group", ""), request.POST.get("channel", "")
    if not group_id:
        if channel != EMAIL.type:
            raise MissingError("This channel cannot be tested here.")
        return {f":{channel}": _mail_tested(request, operator)}
    operator.authorise_at(WRITE.roles, Scope(group_id=group_id))
    types = [row.type for row in integrations_of(group_id) if is_receiver(row) and channel in ("", row.type)]
    if not types:
        raise MissingError("The project has no such service.")
    try:
        tests = notifications_test(
            group_id=group_id,
            notifications=[{"typeName": name, "delayMin": 0} for name in types],
            actor=operator.actor(),
            now=clock.now(),
        )
    except ApiError as refusal:
        result = _not_sent(refusal.document()["detail"])
        return {group_id if not channel else f"{group_id}:{channel}": result}
    return {f"{group_id}:{test.setting.type_name}": _result(test) for test in tests}


def _not_sent(why: str) -> TestResult:
    return TestResult(False, "Not sent.", why, is_sent=False)


def _result(test: NotificationTest) -> TestResult:
    outcome = test.outcome
    if not test.is_delivered:
        return TestResult(False, "The test message was not accepted.", f"{capfirst(outcome.reason or '')}.")
    return TestResult(True, f"The test message was accepted after {outcome.latency_ms} ms.")


def _mail_tested(request: HttpRequest, operator: Operator) -> TestResult:
    operator.authorise((Role.GLOBAL_OWNER,))
    address = _own_address(request)
    if not address:
        return _not_sent("Your account has no e-mail address.")
    try:
        test = mail_server_test(
            to=address, sent_from=base_url(request), actor=operator.actor(), now=clock.now()
        )
    except ApiError as refusal:
        return _not_sent(refusal.document()["detail"])
    if test.fault:
        return TestResult(False, f"The message to {address} was not accepted.", test.fault)
    return TestResult(True, f"The mail server accepted the message to {address}.")


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(channels_page)

urlpatterns: list[Any] = [path("", _guarded, name="channels")]
