"""Maintenance windows in the console."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from unfold.decorators import display

from alerting.access import WRITE
from alerting.incidents.models import Alert
from alerting.windows.changes import window_change, window_create, window_delete
from alerting.windows.effects import window_effect
from alerting.windows.extents import unknown_hosts, window_extents
from alerting.windows.forms import NewWindowForm, WindowForm
from alerting.windows.input import matcher_lines, only_hosts
from alerting.windows.models import MaintenanceWindow
from alerting.windows.presentation import STATE_LABELS, STATE_LOOKS
from alerting.windows.recurrence import recurrence_words
from alerting.windows.rules import MUTING_FIELDS, MuteExtent, WindowState, category_list
from alerting.windows.store import in_state
from opsapi import clock
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import list_url
from opsapi.console.display import Context, cut, link, project, short
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.first_rows import more_words


def muted_words(extent: MuteExtent) -> str:
    """What a saved window mutes, in a sentence."""
    counted = "" if extent.is_narrow else f": {extent.open_words} now"
    return f"This window mutes {extent.sentence}{counted}."


Rows = QuerySet[MaintenanceWindow]
_MOST_UNKNOWN = 5


def _create(call: ActionCall) -> ActionOutcome:
    values = call.values
    windows = [
        window_create(group_id=values["group_id"], values=window, actor=call.actor, now=call.now)
        for window in values["windows"]
    ]
    warnings = [words for window in windows for words in window_warnings(window, call.now)]
    return ActionOutcome(row=windows[0], warnings=warnings)


def _change(call: ActionCall) -> ActionOutcome:
    window = call.row
    window_change(
        group_id=window.group_id, window_id=window.id, changes=call.values, actor=call.actor, now=call.now
    )
    window.refresh_from_db(fields=MUTING_FIELDS)
    return ActionOutcome(warnings=window_warnings(window, call.now))


def window_warnings(window: MaintenanceWindow, now: datetime, *, not_only: str = "") -> list[str]:
    """What a saved window mutes, and which of its hosts do not exist; or that it is over.

    `not_only`: the target that the window was created for.
    """
    if window.rule.state(now) is WindowState.EXPIRED:
        return ["This window is over, so it mutes nothing."]
    extent = replace(window_extents([window])[window.id], not_only=not_only)
    unknown = unknown_hosts(window.group_id, only_hosts(window.matchers))
    if not unknown:
        return [muted_words(extent)]
    names, left_out = cut(unknown, _MOST_UNKNOWN)
    listed = ", ".join([*names, more_words(left_out)] if left_out else names)
    return [
        muted_words(extent),
        f"Not hosts of the project now: {listed}. The window mutes them once they are added.",
    ]


class WindowStateFilter(ChoiceFilter):
    """Filter by state."""

    title = "state"
    parameter_name = "state"
    offered = tuple((state.value, look.word) for state, look in STATE_LOOKS.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Windows in the state."""
        return rows.filter(in_state(rows, WindowState(value), clock.now()))


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ConsoleAdmin):
    """Maintenance windows, the last to end first."""

    help = "life-of-an-alert#while-it-is-open"
    group_path = "group_id"
    add_action = Action(
        label="New maintenance window",
        done="Created",
        text="Mutes notifications for the selected alert types, in the whole project or for some targets, "
        "once or regularly. Alerts still open and close.",
        run=_create,
        access=WRITE,
        form=NewWindowForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            text="Notifications that the window no longer mutes are sent immediately.",
            run=_change,
            access=WRITE,
            form=WindowForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Muted notifications are sent, unless another window mutes them too.",
            run=lambda call: window_delete(
                group_id=call.row.group_id, window_id=call.row.id, actor=call.actor, now=call.now
            ),
            access=WRITE,
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }

    list_display = ["description_or_id", "state", "mutes", "start", "end", "repeats", project]
    list_filter = [WindowStateFilter, ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["description", "id__exact", "group__id__exact", "group__name"]
    search_help_text = "Part of a description or project name, or the full ID of a window or project."
    ordering = ["-end", "-id"]
    fields = [
        "description",
        "state",
        "start",
        "end",
        "repeats",
        "types",
        "targets",
        "group",
        "alerts",
        "id",
        "created",
        "updated",
    ]
    empty_text = (
        "No maintenance windows. A window mutes alerts of its types in one project, once or regularly."
    )

    class Media:
        css = {"all": ["console/windows.css"]}

    def look_up(self, request: HttpRequest, rows: Sequence[Any]) -> None:
        """Counts what the windows mute, in one go."""
        extents = window_extents(rows)
        for row in rows:
            row.extent = extents[row.id]

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Add what the window mutes, in the tense of its state, and its next occurrences."""
        now = clock.now()
        state = row.rule.state(now)
        context = {
            "extent": row.extent,
            "look": STATE_LOOKS[state],
            "is_expired": state is WindowState.EXPIRED,
            "effect": window_effect(
                group_id=row.group_id, rule=row.rule, now=now, zone=operator_of(request).time_zone
            ),
        }
        return {**super().page_context(request, row), **context}

    @admin.display(description="mutes")
    def mutes(self, window: Any) -> SafeString | str:
        """The full effect; for ended windows only the alert types."""
        extent: MuteExtent = window.extent
        state = window.rule.state(clock.now())
        if state is WindowState.EXPIRED:
            return self.types(window)
        tone = STATE_LOOKS[state].effect_tone.value
        if extent.is_narrow:
            return format_html("<span>{}</span>", extent.alerts)
        words = '<span>{}<small class="console-name console-toned console-tone-{}">{} now</small></span>'
        return format_html(words, extent.alerts, tone, extent.open_words)

    @display(description="state", label=STATE_LABELS)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, window: MaintenanceWindow) -> str:
        """Whether the window is scheduled, active or ended."""
        return STATE_LOOKS[window.rule.state(clock.now())].word

    @admin.display(description="window", ordering="description")
    def description_or_id(self, window: MaintenanceWindow) -> str | SafeString | None:
        """The description, otherwise what the window mutes and when."""
        return short(window.rule.title)

    @admin.display(description="alerts")
    def alerts(self, window: MaintenanceWindow) -> SafeString:
        """Active alerts of the project."""
        url = list_url(Alert, state="all", group__id__exact=window.group_id)
        return link(url, "Open alerts of the project")

    @admin.display(description="alert types")
    def types(self, window: MaintenanceWindow) -> str:
        """The alert types."""
        return category_list(window.alert_types)

    @admin.display(description="repeats")
    def repeats(self, window: MaintenanceWindow) -> str:
        """How the window repeats, in words."""
        recurrence = window.rule.recurrence
        return recurrence_words(recurrence) if recurrence else "no"

    @admin.display(description="targets")
    def targets(self, window: MaintenanceWindow) -> SafeString | str:
        """The hosts and the other matchers, as the form shows them."""
        lines = matcher_lines(window.matchers)
        return format_html_join(mark_safe("<br>"), "{}", [(line,) for line in lines]) if lines else "all"
