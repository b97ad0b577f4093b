"""Maintenance windows in the console."""

from collections.abc import Sequence

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from alerting.access import WRITE
from alerting.forms.windows import NewWindowForm, WindowForm
from alerting.models import Alert, MaintenanceWindow
from alerting.presentation import WINDOW_LABELS, WINDOW_WORDS, muted_words, window_badge
from alerting.rules.windows import MuteExtent, WindowState
from alerting.selectors.windows import in_state, window_extents
from alerting.services.windows import window_change, window_create, window_delete
from opsapi import clock
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import list_url
from opsapi.console.display import Context, link, project, short
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.console.widgets import Tone

Rows = QuerySet[MaintenanceWindow]
_VERBS = {
    WindowState.PENDING: ("This window will mute", Tone.WARNING),
    WindowState.ACTIVE: ("This window mutes", Tone.BAD),
    WindowState.EXPIRED: ("This window has ended. It muted", Tone.PLAIN),
}
"""The effect of a window, and the emphasis of the text."""


def _make(call: ActionCall) -> ActionOutcome:
    values = call.values
    window = window_create(
        group_id=values["group_id"], values=values["window"], actor=call.actor, now=call.now
    )
    return ActionOutcome(row=window, warnings=[_muted(window)])


def _change(call: ActionCall) -> ActionOutcome:
    window = call.row
    window_change(
        group_id=window.group_id, window_id=window.id, changes=call.values, actor=call.actor, now=call.now
    )
    window.refresh_from_db(fields=["alert_types"])
    return ActionOutcome(warnings=[_muted(window)])


def _muted(window: MaintenanceWindow) -> str:
    return muted_words(window_extents([window])[window.id])


def _delete(call: ActionCall) -> None:
    window = call.row
    window_delete(group_id=window.group_id, window_id=window.id, actor=call.actor, now=call.now)


class WindowStateFilter(ChoiceFilter):
    """Filter by state."""

    title = "state"
    parameter_name = "state"
    offered = tuple((state.value, word) for state, word in WINDOW_WORDS.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Windows in the state."""
        return rows.filter(in_state(rows, WindowState(value), clock.now()))


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ConsoleAdmin):
    """Maintenance windows, the last to end first."""

    section = Section.ALERTING
    icon = "build_circle"
    rank = 30
    group_path = "group_id"
    add_action = Action(
        label="New maintenance window",
        done="Created",
        text="Mutes notifications for the selected alert types in the whole project. Alerts still open "
        "and close.",
        run=_make,
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
            run=_delete,
            access=WRITE,
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }

    list_display = ["description_or_id", "state", "mutes", "start", "end", project]
    list_filter = [WindowStateFilter, ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["description", "id__exact", "group__id__exact", "group__name"]
    search_help_text = "Part of a description or project name, or the full ID of a window or project."
    ordering = ["-end", "-id"]
    fields = ["description", "state", "start", "end", "types", "group", "alerts", "id", "created", "updated"]
    empty_text = "No maintenance windows. A window mutes all alerts of its types in one project."
    change_form_template = "admin/alerting/maintenancewindow/change_form.html"

    def prepare(self, rows: Sequence[MaintenanceWindow]) -> None:
        """Counts what the windows of a list mute, in one go."""
        extents = window_extents(rows)
        for row in rows:
            row.extent = extents[row.id]  # type: ignore[attr-defined]  # for `mutes`

    def page_context(self, request: HttpRequest, row: MaintenanceWindow) -> Context:
        """Add what the window mutes, in the tense of its state."""
        verb, tone = _VERBS[row.rule.state(clock.now())]
        shown = {
            "extent": window_extents([row])[row.id],
            "verb": verb,
            "tone": tone.value,
            "over": tone is Tone.PLAIN,
        }
        return {**super().page_context(request, row), **shown}

    @admin.display(description="mutes")
    def mutes(self, window: MaintenanceWindow) -> SafeString | str:
        """The full effect; for ended windows only the alert types."""
        extent: MuteExtent = window.extent  # type: ignore[attr-defined]  # of `prepare`
        state = window.rule.state(clock.now())
        if state is WindowState.EXPIRED:
            return self.types(window)
        tone = _VERBS[state][1].value
        words = '<span>{}<small class="console-name console-toned console-tone-{}">{} now</small></span>'
        return format_html(words, extent.alerts, tone, extent.open_words)

    @display(description="state", label=WINDOW_LABELS)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, window: MaintenanceWindow) -> str:
        """Whether the window is scheduled, active or ended."""
        word, _tone = window_badge(window, clock.now())
        return word

    @admin.display(description="window", ordering="description")
    def description_or_id(self, window: MaintenanceWindow) -> str | SafeString | None:
        """The description."""
        return short(window.description or window.id)

    @admin.display(description="alerts")
    def alerts(self, window: MaintenanceWindow) -> SafeString:
        """Active alerts of the project."""
        url = list_url(Alert, status="active", group__id__exact=window.group_id)
        return link(url, "Open alerts of the project")

    @admin.display(description="alert types")
    def types(self, window: MaintenanceWindow) -> str:
        """The alert types."""
        return ", ".join(window.alert_types)
