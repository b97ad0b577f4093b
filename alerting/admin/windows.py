"""Maintenance windows in the console."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter, DropdownFilter
from unfold.decorators import display

from alerting.forms.windows import NewWindowForm, WindowForm
from alerting.models import MaintenanceWindow
from alerting.rules.windows import WindowState, window_state
from alerting.services.windows import window_change, window_create, window_delete
from alerting.views.windows import WindowViewSet
from opsapi import clock
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.model_admin import ConsoleAdmin, Section

Rows = QuerySet[MaintenanceWindow]
_WORDS = {WindowState.PENDING: "coming", WindowState.ACTIVE: "active", WindowState.EXPIRED: "over"}


def _make(call: Call) -> Outcome:
    values = call.values
    window = window_create(
        group_id=values["group_id"], values=values["window"], actor=call.actor, now=call.now
    )
    return Outcome(message="The maintenance window was made.", row=window)


def _change(call: Call) -> Outcome:
    window = call.row
    window_change(
        group_id=window.group_id, window_id=window.id, changes=call.values, actor=call.actor, now=call.now
    )
    return Outcome(message="The maintenance window is as you want it.")


def _delete(call: Call) -> Outcome:
    window = call.row
    window_delete(group_id=window.group_id, window_id=window.id, actor=call.actor, now=call.now)
    return Outcome(message="The maintenance window was deleted.")


class StateFilter(DropdownFilter):  # type: ignore[misc]  # the theme is not typed
    """By where they stand now."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """All of them."""
        return [(state.value, word) for state, word in _WORDS.items()]

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        """Those that stand so."""
        now = clock.now()
        chosen = {
            WindowState.PENDING.value: queryset.filter(start__gt=now),
            WindowState.ACTIVE.value: queryset.filter(start__lte=now, end__gt=now),
            WindowState.EXPIRED.value: queryset.filter(end__lte=now),
        }
        state = self.value()
        return chosen.get(state, queryset.none()) if state else queryset


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ConsoleAdmin):
    """Maintenance windows, the last to end first."""

    section = Section.ALERTING
    icon = "build_circle"
    rank = 30
    group_path = "group_id"
    add_action = Action(
        label="New maintenance window",
        text="Alerts of the chosen types are told to nobody in the meantime.",
        run=_make,
        access=WindowViewSet.access["create"],
        form=NewWindowForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            text="What it no longer covers is told at once.",
            run=_change,
            access=WindowViewSet.access["update"],
            form=WindowForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            text="What it held back is told, unless another window holds it back too.",
            run=_delete,
            access=WindowViewSet.access["destroy"],
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }

    list_display = ["description_or_id", "state", "types", "start", "end", "group"]
    list_filter = [StateFilter, ("group", AutocompleteSelectFilter)]
    list_select_related = ["group"]
    search_fields = ["description", "id__exact", "group__id__exact", "group__name"]
    search_help_text = "Part of a description or of a project's name, or a whole id of a window or a project."
    ordering = ["-end", "-id"]
    fields = ["description", "state", "start", "end", "types", "group", "id", "created", "updated"]
    empty_text = "No maintenance window. During one, alerts of its types are told to nobody."

    @display(  # type: ignore[untyped-decorator]  # the theme is not typed
        description="state", label={"coming": "info", "active": "warning", "over": "default"}
    )
    def state(self, window: MaintenanceWindow) -> str:
        """Whether it is to come, in effect or over."""
        return _WORDS[window_state(window.start, window.end, clock.now())]

    @admin.display(description="window", ordering="description")
    def description_or_id(self, window: MaintenanceWindow) -> str:
        """What it is for."""
        return window.description or window.id

    @admin.display(description="alert types")
    def types(self, window: MaintenanceWindow) -> str:
        """What it silences."""
        return ", ".join(window.alert_types)
