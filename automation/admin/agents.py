"""Agents in the console, and since when their silence counts."""

from django.contrib import admin
from django.utils.safestring import SafeString

from automation.admin.shown import agent_state, alerts_about, with_behind
from automation.choices import AgentType
from automation.models import Agent, FleetWatch, Host, ReportAnswer
from automation.services.agents import agent_delete
from automation.views.agents import AgentViewSet
from opsapi.console.actions import Action, Call
from opsapi.console.display import ago, badge, link, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.console.places import list_url


def _forget(call: Call) -> None:
    agent_delete(
        group_id=call.row.group_id,
        agent_type=AgentType(call.row.agent_type),
        hostname=call.row.hostname,
        actor=call.actor,
        now=call.now,
    )


@admin.register(Agent)
class AgentAdmin(ConsoleAdmin):
    """Agents, when each last reported, and which have fallen silent."""

    section = Section.FLEET
    icon = "smart_toy"
    rank = 40
    group_path = "group_id"
    actions_of_row = {
        "forget": Action(
            label="Forget",
            done="Forgotten",
            text="For agents out of service: the alerts about it are cancelled, its hosts keep their state. "
            "Its next report adds it anew.",
            run=_forget,
            access=AgentViewSet.access["destroy"],
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
    empty_text = "No agent has reported yet. An agent needs an API key with the role GROUP_AGENT."

    @admin.display(description="state")
    def state(self, agent: Agent) -> SafeString:
        """Whether it reports."""
        return badge(*agent_state(agent))

    @admin.display(description="hosts")
    def hosts(self, agent: Agent) -> SafeString:
        """Those it reports."""
        return link(list_url(Host, reported_by__id__exact=agent.id), "Hosts it reports")

    @admin.display(description="alerts")
    def alerts(self, agent: Agent) -> SafeString:
        """Those about it, and about the host it runs on."""
        return alerts_about(agent.hostname, agent.group_id)

    @admin.display(description="version", ordering="version")
    def shown_version(self, agent: Agent) -> str:
        """And whether another of its type has a higher one."""
        return with_behind(agent.version, behind=agent.version_behind)

    @admin.display(description="heard of", ordering="last_report")
    def reported(self, agent: Agent) -> SafeString | str:
        """How long ago it last reported."""
        return ago(agent.last_report)


@admin.register(FleetWatch)
class FleetWatchAdmin(ConsoleAdmin):
    """Since when silence counts."""

    section = Section.PLATFORM
    icon = "visibility"
    list_display = ["counting_since", "swept"]
    ordering = ["id"]
    fields = ["counting_since", "swept"]
    empty_text = "No worker has looked for silent hosts and agents yet."


@admin.register(ReportAnswer)
class ReportAnswerAdmin(ConsoleAdmin):
    """The answers that are given again to repeated reports."""

    section = Section.PLATFORM
    icon = "replay"
    list_display = ["created", "answer"]
    ordering = ["-created"]
    fields = ["created", "answer", "id", "body"]
    empty_text = "No agent has sent a report with an Idempotency-Key in the last day."
