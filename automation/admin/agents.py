"""Agents in the console, the page that installs a new agent, and when silence started to count."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from accesslist.access import WRITE_PROJECT_ACCESS
from accesslist.forms.roles import as_asked
from accesslist.rules.role_requests import RoleRequest
from accesslist.services.keys import api_key_issue
from automation.access import WRITE_AGENTS
from automation.admin.agent_page import agent_context
from automation.admin.new_agent import install_steps, waiting_context
from automation.admin.states import agent_state, alerts_about, with_behind
from automation.choices import AgentType
from automation.forms import NewAgentForm
from automation.models import Agent, FleetWatch, Host, ReportAnswer
from automation.selectors.agents import project_of_agent_key
from automation.services.agents import agent_delete
from opsapi import clock
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import list_url
from opsapi.console.display import Context, ago, badge, link, project, short_field
from opsapi.console.error_pages import MissingError
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.roles import INSTALLATION, Grant, Role

_SHOWN_ONCE = "admin/automation/agent/added.html"
_WAITING = "admin/automation/agent/first_report.html"


def _add(call: ActionCall) -> ActionOutcome:
    """Create a key that can report to the project, and show how to install the agent."""
    group = call.values["group"]
    asked = as_asked([Grant(Role.GROUP_AGENT, group_id=group.id)])
    roles = RoleRequest(asked, INSTALLATION, call.operator.grants)
    new_key = api_key_issue(desc=call.values["desc"], roles=roles, actor=call.actor, now=call.now)
    # As on the page of a new key, only this response contains the private key.
    context = {
        **install_steps(call.address, group.id, new_key, call.values["databases"]),
        **waiting_context(new_key.key.id, new_key.key.created, group.id),
        "project": group,
    }
    message = f"Key {new_key.key.public_key} was created for the agent. Its private key was shown once."
    return ActionOutcome(row=new_key.key, message=message, template=_SHOWN_ONCE, context=context)


def _forget(call: ActionCall) -> None:
    agent_delete(
        group_id=call.row.group_id,
        agent_type=AgentType(call.row.agent_type),
        hostname=call.row.hostname,
        actor=call.actor,
        now=call.now,
    )


@admin.register(Agent)
class AgentAdmin(ConsoleAdmin):
    """Agents with their last report and state."""

    section = Section.FLEET
    icon = "smart_toy"
    rank = 40
    group_path = "group_id"
    change_form_template = "admin/automation/agent/change_form.html"
    add_action = Action(
        label="Add agent",
        done="Created",
        text="Creates an API key that can only send reports for the project. The next page shows the "
        "key once, with the commands that install the agent.",
        button="Create key",
        run=_add,
        access=WRITE_PROJECT_ACCESS,
        icon="add",
        form=NewAgentForm,
    )
    actions_of_row = {
        "forget": Action(
            label="Forget",
            done="Forgotten",
            text="For an agent that is out of service. Its alerts are cancelled; its hosts keep their "
            "state. If it reports again, it is added again.",
            run=_forget,
            access=WRITE_AGENTS,
            icon="delete",
            danger=True,
            bulk=True,
        ),
    }
    list_display = [short_field("hostname"), "state", "agent_type", "shown_version", project, "reported"]
    list_filter = [
        ("down", admin.BooleanFieldListFilter),
        "agent_type",
        "version_behind",
        ("group", RelatedFilter),
    ]
    list_select_related = ["group"]
    search_fields = ["hostname", "group__name"]
    ordering = ["-last_report"]
    fields = [
        "hostname",
        "state",
        "hosts",
        "alerts",
        "agent_type",
        "shown_version",
        "group",
        "reported",
        "last_report",
        "returned",
        "created",
        "id",
    ]
    empty_text = (
        "No agents have reported yet. An agent runs on a machine that can reach your databases, and "
        "discovers their hosts."
    )

    class Media:
        css = {"all": ["console/overview.css", "console/fleet.css"]}

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Adds the hosts it watches."""
        return {**super().page_context(request, row), **agent_context(row, clock.now())}

    def get_urls(self) -> list[URLPattern]:
        """Adds the page that waits for the first report."""
        page = path(
            "first-report/<slug:key_id>/",
            self.admin_site.admin_view(self.first_report),
            name="automation_agent_first_report",
        )
        return [page, *super().get_urls()]

    def first_report(self, request: HttpRequest, key_id: str) -> HttpResponse:
        """What agents of the project have reported since the key was created."""
        self.require_reading(request)
        found, visible_scope = project_of_agent_key(key_id), operator_of(request).visible_scope()
        if found is None or not (visible_scope.everything or found[1] in visible_scope.group_ids):
            text = "You have access to no agent key with this ID."
            raise MissingError(text, (self.list_url(), "All agents"))
        key, group_id = found
        context = {
            **self.admin_site.each_context(request),
            **waiting_context(key.id, key.created, group_id),
            "title": "First report",
            "opts": self.opts,
            "key": key,
        }
        return TemplateResponse(request, _WAITING, context)

    @admin.display(description="state")
    def state(self, agent: Agent) -> SafeString:
        """Whether the agent reports."""
        return badge(*agent_state(agent))

    @admin.display(description="hosts")
    def hosts(self, agent: Agent) -> SafeString:
        """The hosts it reports."""
        return link(list_url(Host, reported_by__id__exact=agent.id), "Reported hosts")

    @admin.display(description="alerts")
    def alerts(self, agent: Agent) -> SafeString:
        """Alerts about the agent and about its own host."""
        return alerts_about(agent.hostname, agent.group_id)

    @admin.display(description="version", ordering="version")
    def shown_version(self, agent: Agent) -> str:
        """The version, marked if another agent of the same type runs a newer version."""
        return with_behind(agent.version, behind=agent.version_behind)

    @admin.display(description="last report", ordering="last_report")
    def reported(self, agent: Agent) -> SafeString | str:
        """Time since the last report."""
        return ago(agent.last_report)


@admin.register(FleetWatch)
class FleetWatchAdmin(ConsoleAdmin):
    """The time from which silence counts."""

    section = Section.PLATFORM
    icon = "visibility"
    list_display = ["counting_since", "swept"]
    ordering = ["id"]
    fields = ["counting_since", "swept"]
    empty_text = "No worker has checked for silent hosts and agents yet."


@admin.register(ReportAnswer)
class ReportAnswerAdmin(ConsoleAdmin):
    """Stored answers for repeated reports."""

    section = Section.PLATFORM
    icon = "replay"
    list_display = ["created", "answer"]
    ordering = ["-created"]
    fields = ["created", "answer", "id", "body"]
    empty_text = "No reports with an Idempotency-Key in the last 24 hours."
