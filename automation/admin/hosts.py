"""Hosts and their databases in the console."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from automation.access import WRITE_HOSTS
from automation.admin.host_page import host_context
from automation.admin.states import host_state, with_behind
from automation.forms import HostForm, NewHostForm
from automation.models import Database, Host
from automation.selectors.hosts import without_data
from automation.services.hosts import host_change, host_create, host_delete
from opsapi import clock
from opsapi.console.action_pages import to_form
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import page_url
from opsapi.console.display import Context, ago, badge, link, project, short
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.console.widgets import host_links

_AS_REPORTED = (
    "No hosts yet. Hosts appear with the first report of an agent. You can also add a host by hand."
)


def _create(call: ActionCall) -> ActionOutcome:
    values = call.values
    host = host_create(group_id=values["group_id"], values=values["host"], actor=call.actor, now=call.now)
    return ActionOutcome(row=host)


def _change(call: ActionCall) -> None:
    host = call.row
    host_change(group_id=host.group_id, host_id=host.id, changes=call.values, actor=call.actor, now=call.now)


def _delete(call: ActionCall) -> None:
    host_delete(group_id=call.row.group_id, host_id=call.row.id, actor=call.actor, now=call.now)


class DataFilter(ChoiceFilter):
    """Filter by whether the state is known."""

    title = "data"
    parameter_name = "data"
    offered = (("none", "No data"), ("current", "Current"))

    def chosen(self, rows: QuerySet[Host], value: str) -> QuerySet[Host]:
        """Hosts without data, or all others."""
        unknown = without_data(clock.now())
        return rows.filter(unknown) if value == "none" else rows.exclude(unknown)


@admin.register(Host)
class HostAdmin(ConsoleAdmin):
    """Hosts with their last reported state."""

    section = Section.FLEET
    icon = "dns"
    rank = 10
    group_path = "group_id"
    change_form_template = "admin/automation/host/change_form.html"
    add_action = Action(
        label="New host",
        done="Created",
        text="The host has no data until an agent reports it.",
        run=_create,
        access=WRITE_HOSTS,
        form=NewHostForm,
    )
    actions_of_row = {
        "change": Action(
            label="Change",
            done="Changed",
            text="This cancels the alerts about the old address.",
            run=_change,
            access=WRITE_HOSTS,
            form=HostForm,
            icon="edit",
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Deletes its measurements and cancels its alerts. If an agent reports the host again, "
            "it is added again.",
            run=_delete,
            access=WRITE_HOSTS,
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }
    list_display = ["address", "state", "reported", "type_name", "shown_version", "set_name", project]
    list_filter = [
        ("down", admin.BooleanFieldListFilter),
        DataFilter,
        "type_name",
        "version_behind",
        ("reported_by", RelatedFilter),
        ("group", RelatedFilter),
    ]
    list_select_related = ["group", "replica_set"]
    search_fields = ["hostname", "replica_set_name", "cluster_name", "group__name", "group__id__exact"]
    search_help_text = "Part of the name of a host, replica set, cluster or project, or a project ID."
    ordering = ["group__name", "hostname", "port"]
    fields = [
        "id",
        "group",
        "hostname",
        "port",
        "type_name",
        "shown_version",
        "replica_set",
        "cluster",
        "shard_name",
        "uptime_seconds",
        "reported",
        "reported_by",
        "created",
    ]
    empty_text = _AS_REPORTED

    class Media:
        css = {"all": ["console/overview.css", "console/fleet.css"]}

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Adds the links of other apps."""
        operator = operator_of(request)
        links = [link for link in host_links() if operator.holds_somewhere(link.access.roles)]
        return {
            **super().get_actions(request),
            **{link.name: (to_form(link), link.name, link.label) for link in links},
        }

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Adds measurements, alerts, events and related hosts."""
        visible_scope, wanted = operator_of(request).visible_scope(), request.GET.get("metric", "")
        shown = host_context(row, visible_scope, wanted=wanted, now=clock.now())
        return {**super().page_context(request, row), **shown}

    @admin.display(description="host", ordering="hostname")
    def address(self, host: Host) -> str | SafeString | None:
        """Hostname and port."""
        return short(str(host))

    @admin.display(description="state")
    def state(self, host: Host) -> SafeString:
        """Up, down or no data."""
        return badge(*host_state(host, clock.now()))

    @admin.display(description="version", ordering="version")
    def shown_version(self, host: Host) -> str:
        """The version, marked if another host runs a newer version of the same series."""
        return with_behind(host.version, behind=host.version_behind)

    @admin.display(description="replica set", ordering="replica_set_name")
    def set_name(self, host: Host) -> str | SafeString | None:
        """The replica set, linked to its page."""
        name = short(host.replica_set_name)
        return link(page_url(host.replica_set), name) if host.replica_set else name

    @admin.display(description="last report", ordering="last_report")
    def reported(self, host: Host) -> SafeString | str:
        """Time since the last report."""
        return ago(host.last_report)


@admin.register(Database)
class DatabaseAdmin(ConsoleAdmin):
    """Databases of all hosts."""

    group_path = "host__group_id"
    list_display = ["name", "host"]
    list_select_related = ["host"]
    search_fields = ["name", "host__hostname"]
    ordering = ["name", "id"]
    fields = ["name", "host"]
    empty_text = "No databases yet. Databases appear when an agent reports them with their hosts."
