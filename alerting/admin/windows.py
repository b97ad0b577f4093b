"""Maintenance windows in the console."""

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from unfold.decorators import display

from alerting.forms.windows import NewWindowForm, WindowForm
from alerting.looks import WINDOW_LABELS, WINDOW_WORDS, window_look
from alerting.models import MaintenanceWindow
from alerting.rules.windows import WindowState
from alerting.services.windows import window_change, window_create, window_delete
from alerting.views.windows import WindowViewSet
from opsapi import clock
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.display import project, short
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section

Rows = QuerySet[MaintenanceWindow]


def _make(call: Call) -> Outcome:
    values = call.values
    window = window_create(
        group_id=values["group_id"], values=values["window"], actor=call.actor, now=call.now
    )
    return Outcome(row=window)


def _change(call: Call) -> None:
    window = call.row
    window_change(
        group_id=window.group_id, window_id=window.id, changes=call.values, actor=call.actor, now=call.now
    )


def _delete(call: Call) -> None:
    window = call.row
    window_delete(group_id=window.group_id, window_id=window.id, actor=call.actor, now=call.now)


class StateFilter(ChoiceFilter):
    """By where they stand now."""

    title = "state"
    parameter_name = "state"
    offered = tuple((state.value, word) for state, word in WINDOW_WORDS.items())

    def chosen(self, rows: Rows, value: str) -> Rows:
        """Those that stand so."""
        now = clock.now()
        match WindowState(value):
            case WindowState.PENDING:
                return rows.filter(start__gt=now)
            case WindowState.ACTIVE:
                return rows.filter(start__lte=now, end__gt=now)
            case WindowState.EXPIRED:
                return rows.filter(end__lte=now)


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ConsoleAdmin):
    """Maintenance windows, the last to end first."""

    section = Section.ALERTING
    icon = "build_circle"
    rank = 30
    group_path = "group_id"
    add_action = Action(
        label="New maintenance window",
        done="Made",
        text="Alerts of the chosen types are told to nobody in the meantime.",
        run=_make,
        access=WindowViewSet.access["create"],
        form=NewWindowForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            text="What it no longer covers is told at once.",
            run=_change,
            access=WindowViewSet.access["update"],
            form=WindowForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="What it held back is told, unless another window holds it back too.",
            run=_delete,
            access=WindowViewSet.access["destroy"],
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }

    list_display = ["description_or_id", "state", "types", "start", "end", project]
    list_filter = [StateFilter, ("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["description", "id__exact", "group__id__exact", "group__name"]
    search_help_text = "Part of a description or of a project's name, or a whole id of a window or a project."
    ordering = ["-end", "-id"]
    fields = ["description", "state", "start", "end", "types", "group", "id", "created", "updated"]
    empty_text = "No maintenance window. During one, alerts of its types are told to nobody."

    @display(description="state", label=WINDOW_LABELS)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, window: MaintenanceWindow) -> str:
        """Whether it is to come, in effect or over."""
        word, _tone = window_look(window, clock.now())
        return word

    @admin.display(description="window", ordering="description")
    def description_or_id(self, window: MaintenanceWindow) -> str | SafeString | None:
        """What it is for."""
        return short(window.description or window.id)

    @admin.display(description="alert types")
    def types(self, window: MaintenanceWindow) -> str:
        """What it silences."""
        return ", ".join(window.alert_types)
