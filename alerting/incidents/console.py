"""Forms of actions on alerts: API documents with the most common values preselected."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.paginator import Page
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from alerting.access import WRITE
from alerting.engine.models import Notification
from alerting.incidents.alert_page import page_of
from alerting.incidents.changes import alert_acknowledge, alerts_hold
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.inbox import inbox_rows
from alerting.incidents.listed import (
    LISTED,
    NONE_LISTED,
    ended_words,
    left_out_words,
    listed_alerts,
    listed_ids,
    undo_button,
    without_page,
)
from alerting.incidents.models import Alert
from alerting.incidents.presentation import SeverityFilter, alert_badge, severity_badge
from alerting.incidents.resource import AcknowledgementDocument
from alerting.incidents.rules import MORNING, Acknowledgement, AcknowledgementPreset, until_of
from alerting.incidents.store import (
    MOST_SEARCHED,
    Age,
    active_alerts_with,
    alert_acknowledgement,
    alerts_matching,
    of_age,
    urgent_first,
)
from alerting.incidents.tabs import EMPTY_WORDS, TAB_WORDS, AlertTab, TabbedAlerts
from alerting.incidents.targets import targets_of
from alerting.insight.questions import UserQuestion
from alerting.windows.changes import window_create
from alerting.windows.console import window_warnings
from alerting.windows.forms import WindowFields
from alerting.windows.resource import WindowDocument
from alerting.windows.rules import named_target
from alerting.windows.store import muting_windows
from events.models import Event
from events.types import EVENT_TYPES, AlertEffect, EventType
from events.wording import in_words, target_words
from opsapi import clock
from opsapi.clock import time_words, wire_time
from opsapi.console.action_pages import BACK, CONFIRMED, selected_rows
from opsapi.console.actions import Action, ActionCall, ActionOutcome, ActionRows, operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.changelist import TOO_LONG, BoundedPaginator, ConsoleChangeList, is_too_long
from opsapi.console.display import Context, badge, json_field, link, short, tipped, urls_seen
from opsapi.console.document_forms import DocumentForm
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.forms import DateTimeText, LinesField
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import number_of
from opsapi.fields import Among
from opsapi.roles import Scope

_PRESETS = [
    (AcknowledgementPreset.HOUR.value, "1 hour"),
    (AcknowledgementPreset.FOUR_HOURS.value, "4 hours"),
    (AcknowledgementPreset.TOMORROW.value, f"Tomorrow, {MORNING:02}:00"),
    (AcknowledgementPreset.OWN.value, "Custom time"),
]
_USUAL_WINDOW = timedelta(hours=2)


class AcknowledgeForm(DocumentForm):
    """The end of the acknowledgement, and a comment."""

    document = AcknowledgementDocument

    until = forms.ChoiceField(
        label="For", choices=_PRESETS, initial=AcknowledgementPreset.HOUR.value, widget=forms.RadioSelect
    )
    acknowledgedUntil = DateTimeText(required=False, max_length=40, label="Custom time")
    acknowledgementComment = LinesField(
        required=False,
        label="Comment",
        help_text="Up to 500 characters. Leave blank to keep the current comment.",
        widget=forms.Textarea({"maxlength": 500}),
    )

    def add_inputs(self) -> None:
        super().add_inputs()
        until: Any = self.fields["acknowledgedUntil"]
        until.read_in(self.operator.time_zone)

    def stored(self) -> Mapping[str, Any]:
        row = self.row
        return {"acknowledgementComment": row.acknowledgement_comment or ""} if row else {}

    def body(self) -> Mapping[str, Any]:
        typed = self.cleaned_data
        until = until_of(AcknowledgementPreset(typed["until"]), clock.now(), self.operator.time_zone)
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


def _hold_selected(call: ActionCall, rows: Sequence[Alert]) -> ActionRows:
    """Leave out alerts that have ended since they were read.

    The service refuses alerts that had ended before; also if all alerts have ended since.
    """
    locked = alerts_hold(ids=[row.id for row in rows], actor=call.actor)
    had_ended = {row.id for row in rows if row.status not in ACTIVE}
    kept = [row for row in locked if row.status in ACTIVE or row.id in had_ended]
    if not kept:
        return ActionRows(rows=rows)  # As they were read: the service refuses them.
    return ActionRows(rows=kept, left_out=ended_words(len(rows) - len(kept)))


def _hold_with_undo(call: ActionCall, rows: Sequence[Alert]) -> ActionRows:
    """As `_hold_selected`, with a button for the undo."""
    held = _hold_selected(call, rows)
    return replace(held, note=_undo_note(call, held.rows))


def _undo_note(call: ActionCall, rows: Sequence[Alert]) -> str:
    """The button for the undo; empty if an alert was acknowledged: a removal would not restore that."""
    if any(alert_acknowledgement(row, call.now) for row in rows):
        return ""
    return undo_button(rows, call.values["acknowledgedUntil"])


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
    message = f"Acknowledged until {time_words(until)}: {call.row}." if call.values else ""
    return ActionOutcome(message=message)


def _make_window(call: ActionCall) -> ActionOutcome:
    window = window_create(group_id=call.row.group_id, values=call.values, actor=call.actor, now=call.now)
    until = time_words(call.values["end"])
    warnings = window_warnings(window, call.now, not_only=named_target(call.row.facts))
    return ActionOutcome(message=f"Maintenance window created until {until}.", warnings=warnings)


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
        hold=_hold_selected,
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
_AGES = {
    Age.HOUR: "Started in the last hour",
    Age.DAY: "Started in the last 24 hours",
    Age.WEEK: "Started in the last 7 days",
    Age.OLDER_THAN_HOUR: "Older than 1 hour",
    Age.OLDER_THAN_DAY: "Older than 1 day",
    Age.OLDER_THAN_WEEK: "Older than 7 days",
}


class TabFilter(ChoiceFilter):
    """The tab of the list, which its template shows as tabs. `AlertChangeList` selects the rows."""

    title = "state"
    parameter_name = "state"
    offered = tuple((tab.value, words) for tab, words in TAB_WORDS.items())

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """All rows: other filters and the search come first, so that each tab can be counted."""
        return queryset


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


class AlertPaginator(BoundedPaginator):
    """Pages of alerts in their usual order, which no single query sorts quickly."""

    def page(self, number: int | str) -> Page[Any]:
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        rows: Any = self.object_list
        stop = min(start + self.per_page, self.count)
        return Page(urgent_first(rows, start, stop, now=clock.now()), number, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTab:
    """A tab of the list with its number of alerts; empty if it is not counted."""

    words: str
    url: str
    count: str
    is_current: bool
    is_urgent: bool


class AlertChangeList(ConsoleChangeList):
    """The list of alerts: tabs by state, and a row for each alert or incident."""

    def get_filters(self, request: HttpRequest) -> Any:
        """Without the tab, which is not among the filters."""
        specs, _, left, duplicates, _ = super().get_filters(request)
        others = [spec for spec in specs if not isinstance(spec, TabFilter)]
        is_active = any(request.GET.get(name) for spec in others for name in spec.expected_parameters())
        return others, bool(others), left, duplicates, is_active

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        """The alerts of the tab. An action runs on the selected alerts of any tab."""
        rows = super().get_queryset(request, exclude_parameters)
        self.tab = tab_of(request)
        self.tabbed = TabbedAlerts(rows, clock.now())
        self.clear_all_filters_qs = self.get_query_string(
            {TabFilter.parameter_name: self.tab.value}, remove=list(self.get_filters_params())
        )
        return self.tabbed.rows(self.tab)

    def get_results(self, request: HttpRequest) -> None:
        """Adds the tabs, and the rows in words."""
        super().get_results(request)
        operator, now = operator_of(request), clock.now()
        acknowledge, alerts = OF_ALERT["acknowledge"], list(self.result_list)
        writable = {
            alert.group_id
            for alert in alerts
            if acknowledge.is_allowed(operator, alert, Scope(group_id=alert.group_id))
        }
        self.rows = inbox_rows(alerts, operator.visible_scope(), writable, now=now)
        self.tabs = [self._tab(tab) for tab in AlertTab]
        self.empty_text = EMPTY_WORDS[self.tab]
        self.presets = [(name, words) for name, words in _PRESETS if name != AcknowledgementPreset.OWN]
        self.is_selectable = acknowledge.is_allowed_somewhere(operator)
        is_only_page = not self.multi_page
        needs_you = self.tab is AlertTab.NEEDS_YOU
        self.listed = listed_alerts(self.rows, is_only_page=is_only_page) if needs_you else None

    def _tab(self, tab: AlertTab) -> ListTab:
        count = self.tabbed.count(tab)
        return ListTab(
            words=TAB_WORDS[tab],
            url=self.get_query_string({TabFilter.parameter_name: tab.value}),
            count="" if count is None else number_of(count),
            is_current=tab is self.tab,
            is_urgent=tab is AlertTab.NEEDS_YOU and count != 0,
        )


def tab_of(request: HttpRequest) -> AlertTab:
    """Return the tab of the URL; all alerts for an action on selected alerts."""
    if request.method == "POST":
        return AlertTab.ALL
    named = request.GET.get(str(TabFilter.parameter_name), "")
    return AlertTab(named) if named in set(AlertTab) else AlertTab.NEEDS_YOU


@admin.register(Alert)
class AlertAdmin(ConsoleAdmin):
    """Alerts in tabs by state, newest first."""

    help = "life-of-an-alert"
    is_live = True
    group_path = "group_id"
    actions_of_row = OF_ALERT

    list_display = ["event"]
    list_filter = [
        TabFilter,
        SeverityFilter,
        ("group", RelatedFilter),
        TypeFilter,
        AgeFilter,
    ]
    list_select_related = ["group"]
    palette_fields = ("event_type", "metric_name", "group__name")
    # get_search_results interprets the search; without a field, Django shows no search box.
    search_fields = ["id__exact"]
    search_help_text = "Part of a host, set, project, rule, metric or type; or an ID"
    search_note = (
        f"The search reads the newest {MOST_SEARCHED:,} active and the newest {MOST_SEARCHED:,} ended "
        "alerts. The beginning of the name of a host, replica set or cluster finds older ones too."
    )
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

    empty_text = EMPTY_WORDS[AlertTab.NEEDS_YOU]

    class Media:
        css = {"all": ["console/alert.css"]}

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ConsoleChangeList]:
        """The list with tabs."""
        return AlertChangeList

    def get_paginator(self, request: HttpRequest, *args: Any, **options: Any) -> Any:
        """The list of all alerts shows active alerts first."""
        kind = AlertPaginator if tab_of(request) is AlertTab.ALL else BoundedPaginator
        return kind(*args, **options)

    def get_urls(self) -> list[URLPattern]:
        """Adds the addresses that acknowledge at once, and undo it."""
        acknowledge = path(
            "acknowledge/<slug:until>/",
            self.admin_site.admin_view(require_POST(self.acknowledge_view)),
            name=self._name("acknowledge"),
        )
        undo = path(
            "unacknowledge/<str:until>/",
            self.admin_site.admin_view(require_POST(self.unacknowledge_view)),
            name=self._name("unacknowledge"),
        )
        return [acknowledge, undo, *super().get_urls()]

    def acknowledge_view(self, request: HttpRequest, until: str) -> HttpResponse:
        """Acknowledge the selected alerts, and the open alerts of the selected incidents, at once.

        Of the listed alerts, only alerts that still need somebody: an acknowledgement by somebody else stays.
        """
        action = OF_ALERT["acknowledge"]
        if LISTED in request.POST:
            return self._listed_at_once(request, action, lambda _, before: before is None, until=until)
        selected, incidents = (request.POST.getlist(name) for name in (ACTION_CHECKBOX_NAME, "incident"))
        of_incidents = Q(Among("incident_id", incidents), status=AlertStatus.OPEN.value)
        chosen = self.get_queryset(request).filter(Q(Among("id", selected)) | of_incidents)
        try:
            rows = selected_rows(chosen)
        except ValueError as refusal:
            messages.error(request, str(refusal))
            return redirect(self.list_url())
        # Only the list has the form of the button for the undo.
        if BACK in request.POST:
            action = replace(action, hold=_hold_with_undo)
        return self._at_once(request, action, rows, until=until)

    def unacknowledge_view(self, request: HttpRequest, until: str) -> HttpResponse:
        """Remove the acknowledgements of the listed alerts that are by this operator until this time."""

        def is_of_click(call: ActionCall, before: Acknowledgement | None) -> bool:
            return before is not None and (before.username, wire_time(before.until)) == (
                call.actor.name,
                until,
            )

        return self._listed_at_once(request, OF_ALERT["unacknowledge"], is_of_click)

    def _listed_at_once(
        self,
        request: HttpRequest,
        action: Action,
        applies: Callable[[ActionCall, Acknowledgement | None], bool],
        **typed: str,
    ) -> HttpResponse:
        """Run an action on the listed alerts that have not ended, and to whose acknowledgement it applies."""
        listed, back = listed_ids(request), without_page(request.POST.get(BACK, ""))

        def hold(call: ActionCall, rows: Sequence[Alert]) -> ActionRows:
            locked = alerts_hold(ids=[row.id for row in rows], actor=call.actor)
            active = [row for row in locked if row.status in ACTIVE]
            kept = [row for row in active if applies(call, alert_acknowledgement(row, call.now))]
            if not kept:
                return ActionRows(rows=[], left_out=NONE_LISTED)
            note = _undo_note(call, kept)
            return ActionRows(rows=kept, left_out=left_out_words(len(listed) - len(kept)), note=note)

        try:
            rows = selected_rows(
                self.get_queryset(request).filter(Among("id", listed)), none_left=NONE_LISTED
            )
        except ValueError as refusal:
            messages.error(request, str(refusal))
            return redirect(f"{self.list_url()}?{back}")
        return self._at_once(request, replace(action, hold=hold), rows, **{BACK: back}, **typed)

    def _at_once(
        self, request: HttpRequest, action: Action, rows: Sequence[Alert], **typed: str
    ) -> HttpResponse:
        """Run an action without its page, and return to the page of the button: the list, or an alert."""
        sent = request.POST.copy()
        for name, value in {CONFIRMED: "1", **typed}.items():
            sent[name] = value
        request.POST = sent  # type: ignore[assignment]
        return self._action_page(request, action, rows)

    def list_note(self, request: HttpRequest) -> str:
        """What a search reads."""
        return self.search_note if request.GET.get(SEARCH_VAR) else ""

    facts_json = staticmethod(json_field("facts", "about"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Searches what the rows show."""
        if is_too_long(search_term):
            messages.warning(request, TOO_LONG)
            return queryset.none(), False
        return alerts_matching(
            queryset, search_term, visible_scope=operator_of(request).visible_scope()
        ), False

    def palette_rows(self, request: HttpRequest, words: Sequence[str]) -> QuerySet[Alert]:
        """Active alerts, newest first."""
        scope = operator_of(request).visible_scope()
        rows = active_alerts_with(self.get_queryset(request), words, visible_scope=scope)
        return rows.select_related("group")

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        question = UserQuestion(request.GET, org_id=row.group.org_id)
        timeline = page_of(row, operator_of(request), question=question, now=clock.now())
        title = f"{timeline['words']}, {timeline['target']}"
        return {**super().page_context(request, row), "page": timeline, "subtitle": title}

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

    @admin.display(description="notifications")
    def notifications(self, alert: Alert) -> SafeString:
        return link(list_url(Notification, q=alert.id), "Notifications")

    @admin.display(description="events")
    def events(self, alert: Alert) -> SafeString:
        return link(list_url(Event, q=alert.id), "All events")
