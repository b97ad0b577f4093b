"""Forms of actions on alerts: API documents with the most common values preselected."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.paginator import Page
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from alerting.access import WRITE
from alerting.engine.models import Notification
from alerting.incidents.alert_page import page_of
from alerting.incidents.changes import alert_acknowledge
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.presentation import SeverityFilter, alert_badge, severity_badge
from alerting.incidents.resource import AcknowledgementDocument
from alerting.incidents.rules import MORNING, AcknowledgementPreset, alert_state, until_of
from alerting.incidents.store import (
    Age,
    acknowledged,
    active_alerts_with,
    alert_acknowledgement,
    alerts_matching,
    of_age,
    urgent_first,
)
from alerting.incidents.targets import targets_of
from alerting.insight.questions import UserQuestion
from alerting.windows.changes import window_create
from alerting.windows.console import muted_words
from alerting.windows.forms import WindowFields
from alerting.windows.previews import mute_extent
from alerting.windows.resource import WindowDocument
from alerting.windows.rules import named_target
from alerting.windows.store import muting_windows
from events.models import Event
from events.types import EVENT_TYPES, AlertEffect, EventType
from events.wording import in_words, target_words
from opsapi import clock
from opsapi.clock import time_words
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.changelist import BoundedPaginator
from opsapi.console.display import Context, ago, badge, json_field, link, project, short, tipped, urls_seen
from opsapi.console.document_forms import DocumentForm
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.forms import DateTimeText, LinesField
from opsapi.console.model_admin import ConsoleAdmin

_PRESETS = [
    (AcknowledgementPreset.HOUR.value, "1 hour"),
    (AcknowledgementPreset.FOUR_HOURS.value, "4 hours"),
    (AcknowledgementPreset.TOMORROW.value, f"Tomorrow, {MORNING:02}:00 UTC"),
    (AcknowledgementPreset.OWN.value, "Custom time"),
]
_USUAL_WINDOW = timedelta(hours=2)


class AcknowledgeForm(DocumentForm):
    """The end of the acknowledgement, and a comment."""

    document = AcknowledgementDocument

    until = forms.ChoiceField(
        label="For", choices=_PRESETS, initial=AcknowledgementPreset.HOUR.value, widget=forms.RadioSelect
    )
    acknowledgedUntil = DateTimeText(required=False, max_length=40, label="Custom time (UTC)")
    acknowledgementComment = LinesField(
        required=False,
        label="Comment",
        help_text="Up to 500 characters. Leave blank to keep the current comment.",
        widget=forms.Textarea({"maxlength": 500}),
    )

    def stored(self) -> Mapping[str, Any]:
        row = self.row
        return {"acknowledgementComment": row.acknowledgement_comment or ""} if row else {}

    def body(self) -> Mapping[str, Any]:
        typed = self.cleaned_data
        until = until_of(AcknowledgementPreset(typed["until"]), clock.now())
        body = {
            "acknowledgedUntil": clock.wire_time(until) if until else typed["acknowledgedUntil"],
            "acknowledgementComment": typed["acknowledgementComment"],
        }
        return {name: value for name, value in body.items() if value}

    def clean(self) -> dict[str, Any]:
        """A time in the past would remove the acknowledgement, and an unused time would mislead."""
        typed = super().clean()
        if typed.get("acknowledgedUntil") and typed.get("until") != AcknowledgementPreset.OWN:
            self.add_error("until", "Select “Custom time”, or leave this field blank.")
        if not self.errors and self.values["acknowledgedUntil"] <= clock.now():
            self.add_error("acknowledgedUntil", "This time is in the past.")
        return typed


class AlertWindowForm(WindowFields):
    """A maintenance window for an alert: its project and category, starting now."""

    document = WindowDocument

    def stored(self) -> Mapping[str, Any]:
        if not self.row:
            return {}
        alert, now = self.row, clock.now()
        return {
            "startDate": now,
            "endDate": now + _USUAL_WINDOW,
            "alertTypeNames": [EVENT_TYPES[EventType(alert.event_type)].category.value],
            "description": f"{alert} (alert {alert.id})",
        }

    def muted_target(self) -> str:
        return named_target(self.row.facts)


def _acknowledge(call: ActionCall) -> ActionOutcome:
    """Acknowledge the alert; without input, remove the acknowledgement."""
    until = call.values.get("acknowledgedUntil", call.now)
    alert_acknowledge(
        alert_id=call.row.id,
        group_id=call.row.group_id,
        until=until,
        comment=call.values.get("acknowledgementComment"),
        actor=call.actor,
        now=call.now,
    )
    return ActionOutcome(message=f"Acknowledged until {time_words(until)}." if call.values else "")


def _make_window(call: ActionCall) -> ActionOutcome:
    window_create(group_id=call.row.group_id, values=call.values, actor=call.actor, now=call.now)
    extent = mute_extent(
        group_id=call.row.group_id,
        project=str(call.row.group),
        categories=call.values["alert_types"],
        is_narrow=bool(call.values.get("matchers")),
        not_only=named_target(call.row.facts),
    )
    until = time_words(call.values["end"])
    return ActionOutcome(message=f"Maintenance window created until {until}.", warnings=[muted_words(extent)])


def _is_acknowledged(alert: Alert, now: datetime) -> bool:
    return alert.status in ACTIVE and alert_acknowledgement(alert, now) is not None


OF_ALERT: Mapping[str, Action] = {
    "acknowledge": Action(
        label="Acknowledge",
        done="Acknowledged",
        text="Reminders stop for this time. You'll still be notified when the alert closes.",
        run=_acknowledge,
        access=WRITE,
        form=AcknowledgeForm,
        icon="front_hand",
        primary=True,
        bulk=True,
        offered=lambda alert, _now: alert.status in ACTIVE,
    ),
    "unacknowledge": Action(
        label="Remove acknowledgement",
        done="Acknowledgement removed",
        text="Reminders start again. An overdue reminder is sent immediately.",
        run=_acknowledge,
        access=WRITE,
        icon="undo",
        offered=_is_acknowledged,
    ),
    "window": Action(
        label="Create maintenance window",
        text="Mutes notifications for the selected alert types in the whole project. Alerts still open "
        "and close.",
        run=_make_window,
        access=WRITE,
        form=AlertWindowForm,
        icon="build_circle",
        creates=True,
    ),
}


Rows = QuerySet[Alert]
_ACTIVE = "active"
_AGES = {
    Age.HOUR: "Started in the last hour",
    Age.DAY: "Started in the last 24 hours",
    Age.WEEK: "Started in the last 7 days",
    Age.OLDER_THAN_HOUR: "Older than 1 hour",
    Age.OLDER_THAN_DAY: "Older than 1 day",
    Age.OLDER_THAN_WEEK: "Older than 7 days",
}


class StatusFilter(ChoiceFilter):
    """Filter by state, with the words of every page. Acknowledged and muted alerts also count as open."""

    title = "state"
    parameter_name = "status"
    offered = (
        (_ACTIVE, "Active"),
        *(
            (alert_status.value, alert_state(alert_status, is_acknowledged=False, is_muted=False).value)
            for alert_status in AlertStatus
        ),
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        return rows.filter(status__in=[status.value for status in ACTIVE] if value == _ACTIVE else [value])


class TypeFilter(ChoiceFilter):
    title = "type"
    parameter_name = "type"
    offered = tuple(
        (name.value, in_words(name)) for name, spec in EVENT_TYPES.items() if spec.kind is AlertEffect.OPENING
    )

    def chosen(self, rows: Rows, value: str) -> Rows:
        return rows.filter(event_type=value)


class AgeFilter(ChoiceFilter):
    title = "age"
    parameter_name = "age"
    offered = tuple((age.value, label) for age, label in _AGES.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        return of_age(rows, Age(value), now=clock.now())


class AcknowledgedFilter(ChoiceFilter):
    title = "acknowledged"
    parameter_name = "acknowledged"
    offered = (("yes", "Yes"), ("no", "No (active alerts)"))

    def chosen(self, rows: Rows, value: str) -> Rows:
        return acknowledged(rows, value == "yes", now=clock.now())


class AlertPaginator(BoundedPaginator):
    """Pages of alerts in their usual order, which no single query sorts quickly."""

    def page(self, number: int | str) -> Page[Any]:
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        rows: Any = self.object_list
        stop = min(start + self.per_page, self.count)
        return Page(urgent_first(rows, start, stop, now=clock.now()), number, self)


@admin.register(Alert)
class AlertAdmin(ConsoleAdmin):
    """Alerts: unacknowledged ones first, then by time, newest first."""

    help = "life-of-an-alert"
    is_live = True
    group_path = "group_id"
    actions_of_row = OF_ALERT

    list_display = ["event", "severity_label", "state", "target", project, "age", "acknowledged"]
    list_filter = [
        StatusFilter,
        SeverityFilter,
        ("group", RelatedFilter),
        TypeFilter,
        AgeFilter,
        AcknowledgedFilter,
    ]
    list_select_related = ["group"]
    palette_fields = ("event_type", "metric_name", "group__name")
    # get_search_results interprets the search; without a field, Django shows no search box.
    search_fields = ["id__exact"]
    search_help_text = (
        "Start of a host, replica set or cluster name, or the whole name in quotes; part of an event "
        "type; or the full ID of an alert, alert configuration or project."
    )
    paginator = AlertPaginator
    ordering = ["-created", "-id"]
    sortable_by = ()
    fields = [
        "id",
        "state",
        "status",
        "severity_label",
        "event_type",
        "target",
        "group",
        "muted_by",
        "metric_name",
        "current_value",
        "facts_json",
        "tags",
        "created",
        "opens",
        "updated",
        "resolved",
        "last_notified",
        "acknowledged_until",
        "acknowledging_username",
        "acknowledgement_comment",
        "notifications",
        "events",
    ]
    empty_text = (
        "No alerts yet. Alerts appear here when the condition of an enabled alert configuration is met."
    )

    class Media:
        css = {"all": ["console/alert.css"]}

    facts_json = staticmethod(json_field("facts", "about"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Searches along indexes."""
        return alerts_matching(
            queryset, search_term, visible_scope=operator_of(request).visible_scope()
        ), False

    def palette_rows(self, request: HttpRequest, words: Sequence[str]) -> QuerySet[Alert]:
        """Active alerts, newest first."""
        return active_alerts_with(self.get_queryset(request), words).select_related("group")

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        question = UserQuestion(request.GET, org_id=row.group.org_id)
        timeline = page_of(row, operator_of(request), question=question, now=clock.now())
        return {**super().page_context(request, row), "page": timeline}

    @admin.display(description="type")
    def event(self, alert: Alert) -> SafeString:
        return tipped(alert.words, alert.event_type)

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        windows, targets = muting_windows(rows, now=clock.now()), targets_of(rows)
        names = [alert.acknowledging_username for alert in rows]
        users = urls_seen(
            self.admin_site, operator_of(request).visible_scope(), "accesslist.user", "username", names
        )
        for alert in rows:
            alert.user_url = users.get(alert.acknowledging_username, "")
            alert.window, alert.about = windows.get(alert.id), targets.get(alert.id)
            alert.is_muted = windows.is_muted(alert.id)

    @admin.display(description="state")
    def state(self, alert: Any) -> SafeString:
        return badge(*alert_badge(alert, clock.now(), is_muted=alert.is_muted))

    @admin.display(description="severity")
    def severity_label(self, alert: Alert) -> SafeString:
        return badge(*severity_badge(alert))

    @admin.display(description="target")
    def target(self, alert: Any) -> str | SafeString | None:
        text = short(target_words(alert.facts))
        return link(page_url(alert.about), text) if alert.about else text

    @admin.display(description="muted by")
    def muted_by(self, alert: Any) -> SafeString | None:
        """The maintenance window that mutes the alert now."""
        return link(page_url(alert.window), str(alert.window)) if alert.window else None

    @admin.display(description="age")
    def age(self, alert: Alert) -> SafeString | str:
        return ago(alert.created)

    @admin.display(description="acknowledged by")
    def acknowledged(self, alert: Any) -> str | SafeString | None:
        if not _is_acknowledged(alert, clock.now()):
            return None
        name = short(alert.acknowledging_username)
        return link(alert.user_url, name) if alert.user_url else name

    @admin.display(description="notifications")
    def notifications(self, alert: Alert) -> SafeString:
        return link(list_url(Notification, q=alert.id), "Notifications")

    @admin.display(description="events")
    def events(self, alert: Alert) -> SafeString:
        return link(list_url(Event, q=alert.id), "All events")
