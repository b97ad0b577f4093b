"""Agents in the console: the list, the page of an agent, and the pages that install a new agent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from accesslist.access import WRITE_PROJECT_ACCESS
from accesslist.keys.changes import api_key_issue
from accesslist.roles.console import as_asked
from accesslist.roles.rules import RoleRequest
from automation.access import WRITE_AGENTS
from automation.agent_settings.changes import agent_settings_put
from automation.agent_settings.console import AgentSettingsForm
from automation.agents.changes import agent_delete
from automation.agents.forms import NewAgentForm
from automation.agents.installation import install_steps
from automation.agents.models import Agent, FleetWatch
from automation.agents.store import (
    WatchedHost,
    Watching,
    first_report,
    not_reporting,
    project_of_agent_key,
    watching,
)
from automation.choices import AgentType, MetricState
from automation.hosts.models import Host
from automation.hosts.states import agent_state, alerts_about, host_state, with_behind
from automation.hosts.store import hosts_at
from automation.metrics import Metric
from automation.wording import database_words
from opsapi import clock
from opsapi.clock import ago_words, time_words
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.display import Context, ago, badge, link, project, short_field
from opsapi.console.error_pages import MissingError
from opsapi.console.filters import ChoiceFilter, RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Cell, Panel, Tone
from opsapi.first_rows import MOST_SHOWN
from opsapi.roles import INSTALLATION, Grant, Role


def waiting_context(key_id: str, since: datetime, group_id: str) -> Mapping[str, Any]:
    """What agents of the project have reported since the key was created."""
    now, came = clock.now(), first_report(group_id, since)
    return {
        "waiting_url": reverse("admin:automation_agent_first_report", args=[key_id]),
        "since": since,
        "arrived": [_agent_row(agent, now) for agent in came.arrived],
        "others": [_agent_row(agent, now) for agent in came.others],
        "hosts": [_host_row(host, now) for host in came.hosts],
        "host_count": came.host_count,
        "hosts_url": list_url(Host, group__id__exact=group_id),
    }


def _agent_row(agent: Agent, now: datetime) -> Mapping[str, Any]:
    words, tone = agent_state(agent, now)
    return {"row": agent, "url": page_url(agent), "state": words, "tone": tone}


def _host_row(host: Host, now: datetime) -> Mapping[str, Any]:
    words, tone = host_state(host, now)
    database = database_words(engine=host.engine, version=host.version, type_name=host.type_name)
    return {"row": host, "url": page_url(host), "state": words, "tone": tone, "database": database}


_MOST_METRICS = 100
_WHY: Sequence[tuple[MetricState, str, Tone]] = (
    (MetricState.REFUSED, "refused", Tone.WARNING),
    (MetricState.FAILED, "failed", Tone.WARNING),
    (MetricState.ABSENT, "not in this version", Tone.PLAIN),
)
"""Why a metric is missing; fixable reasons come first."""


def agent_context(agent: Agent, now: datetime) -> Mapping[str, Any]:
    """The state of the agent and its panels."""
    state, tone = agent_state(agent, now)
    coverage = watching(agent, now)
    return {
        "state": state,
        "tone": tone,
        "version": with_behind(agent.version, behind=agent.version_behind),
        "facts": [
            ("Project", Cell(str(agent.group), page_url(agent.group))),
            ("Last report", Cell(f"{time_words(agent.last_report)}, {ago_words(agent.last_report, now)}")),
            *([("Update", Cell(agent.update_problem))] if agent.update_problem else []),
        ],
        "alerts": alerts_about(agent.hostname, agent.group_id),
        "panels": [_hosts(agent, coverage, now), _metrics(agent, coverage)],
    }


def _hosts(agent: Agent, coverage: Watching, now: datetime) -> Panel:
    first_hosts = coverage.hosts[:MOST_SHOWN]
    known = hosts_at(agent.group_id, [watched.address.key for watched in first_hosts])
    return Panel(
        name="watched",
        title="Watched hosts",
        unit="hosts",
        headers=["Host", "State", "Until"],
        rows=[_host(watched, known.get(watched.address.key), now) for watched in first_hosts],
        count=len(coverage.hosts),
        url=list_url(Host, reported_by__id__exact=agent.id),
        empty="This agent has no host leases. An agent that does not share hosts has none.",
        remedy=Cell("Reported hosts", list_url(Host, reported_by__id__exact=agent.id)),
    )


def _host(watched: WatchedHost, host: Host | None, now: datetime) -> Sequence[Cell]:
    state, tone = host_state(host, now) if host else ("not reported yet", Tone.PLAIN)
    address = Cell(str(watched.address), page_url(host) if host else "")
    return [address, Cell(state, tone=tone), Cell(time_words(watched.until))]


def _metric(name: str) -> Cell:
    """The metric in words; the agent may be newer and know others."""
    known = Metric._value2member_map_.get(name)
    return Cell(Metric(name).spec.words, hint=name) if known else Cell(name)


def _metrics(agent: Agent, coverage: Watching) -> Panel:
    hosts: dict[int, list[str]] = defaultdict(list)
    for watched in coverage.hosts:
        if watched.metric_set is not None:
            hosts[watched.metric_set].append(str(watched.address))
    missing: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for place, metric_set in enumerate(coverage.metric_sets):
        for rank, (state, _, _) in enumerate(_WHY):
            role = metric_set.get("role", "") if state is MetricState.REFUSED else ""
            for metric in metric_set.get(state.value.lower(), ()):
                missing[rank, metric, role] += hosts[place]
    rows = [
        [_metric(metric), _why(rank, role), Cell(_named(missing[rank, metric, role]))]
        for rank, metric, role in sorted(missing)
    ]
    return Panel(
        name="missing",
        title="Missing metrics",
        unit="metrics",
        headers=["Metric", "Reason", "Hosts"],
        rows=rows[:_MOST_METRICS],
        count=len(rows),
        url=list_url(Host, reported_by__id__exact=agent.id),
        empty="The agent reports all metrics of its hosts."
        if coverage.metric_sets
        else "The agent has not sent its metric coverage yet.",
    )


def _why(rank: int, role: str) -> Cell:
    _, words, tone = _WHY[rank]
    return Cell(f"{words}: needs {role}" if role else words, tone=tone)


def _named(hosts: Sequence[str]) -> str:
    """The name of a single host, or the number of hosts."""
    return hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"


_SHOWN_ONCE = "admin/automation/agent/added.html"
_WAITING = "admin/automation/agent/first_report.html"


def _add(call: ActionCall) -> ActionOutcome:
    """Create a key that can report to the project, and show how to install the agent."""
    group = call.values["group"]
    asked = as_asked([Grant(Role.GROUP_AGENT, group_id=group.id)])
    roles = RoleRequest(asked, INSTALLATION, call.operator.grants)
    done = [part.run(actor=call.actor, now=call.now) for part in call.values["parts"]]
    new_key = api_key_issue(values=call.values["key"], roles=roles, actor=call.actor, now=call.now)
    # As on the page of a new key, only this response contains the private key.
    context = {
        **install_steps(call.address, group.id, new_key, call.values["servers"]),
        **waiting_context(new_key.key.id, new_key.key.created, group.id),
        "project": group,
        "done": [words for words in done if words],
    }
    message = f"Key {new_key.key.public_key} was created for the agent. Its private key was shown once."
    return ActionOutcome(row=new_key.key, message=message, template=_SHOWN_ONCE, context=context)


def _change_settings(call: ActionCall) -> ActionOutcome:
    agent_settings_put(**call.values, if_match=None, actor=call.actor, now=call.now)
    return ActionOutcome(
        message="The settings were saved. The agents apply them within six minutes.",
        url=list_url(Agent, group__id__exact=call.values["group_id"]),
    )


def _forget(call: ActionCall) -> None:
    agent_delete(
        group_id=call.row.group_id,
        agent_type=AgentType(call.row.agent_type),
        hostname=call.row.hostname,
        actor=call.actor,
        now=call.now,
    )


class ReportsFilter(ChoiceFilter):
    """Filter by whether the agent reports, as its state says."""

    title = "reports"
    parameter_name = "reports"
    offered = (("no", "No report"), ("yes", "Reporting"), ("demonstration", "Demonstration"))

    def chosen(self, rows: QuerySet[Agent], value: str) -> QuerySet[Agent]:
        missed = not_reporting(clock.now())
        if value == "no":
            return rows.filter(missed)
        return rows.exclude(missed).filter(demonstration=value == "demonstration")


@admin.register(Agent)
class AgentAdmin(ConsoleAdmin):
    """Agents with their last report and state."""

    help = "how-to/add-an-agent"
    help_of_row = "runbooks/agent-down"
    is_live = True
    group_path = "group_id"
    add_action = Action(
        label="Add agent",
        done="Created",
        text="Creates an API key for an agent of the project. The next page shows the "
        "key once, with the commands that install the agent.",
        button="Create key",
        run=_add,
        access=WRITE_PROJECT_ACCESS,
        icon="add",
        form=NewAgentForm,
    )
    list_actions = {
        "settings": Action(
            label="Settings",
            done="Saved",
            text="What the agents of a project watch. A setting on the machine of an agent overrides the "
            "same setting here. Passwords are encrypted and never shown.",
            button="Save",
            run=_change_settings,
            access=WRITE_AGENTS,
            icon="settings",
            form=AgentSettingsForm,
        ),
    }
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
        ReportsFilter,
        "agent_type",
        "version_behind",
        ("group", RelatedFilter),
    ]
    list_select_related = ["group"]
    palette_fields = ("hostname",)
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
        "update_problem",
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
        key_and_group, visible_scope = project_of_agent_key(key_id), operator_of(request).visible_scope()
        if key_and_group is None or not (
            visible_scope.everything or key_and_group[1] in visible_scope.group_ids
        ):
            text = "You have access to no agent key with this ID."
            raise MissingError(text, (self.list_url(), "All agents"))
        key, group_id = key_and_group
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
        """Reporting, the time since the last report, or demonstration."""
        return badge(*agent_state(agent, clock.now()))

    @admin.display(description="hosts")
    def hosts(self, agent: Agent) -> SafeString:
        return link(list_url(Host, reported_by__id__exact=agent.id), "Reported hosts")

    @admin.display(description="alerts")
    def alerts(self, agent: Agent) -> SafeString:
        """Alerts about the agent and about its own host."""
        return alerts_about(agent.hostname, agent.group_id)

    @admin.display(description="version", ordering="version")
    def shown_version(self, agent: Agent) -> str:
        """The version, marked if another agent of the same type runs a newer version or no update works."""
        version = with_behind(agent.version, behind=agent.version_behind)
        return f"{version} (not updated)" if agent.update_problem else version

    @admin.display(description="last report", ordering="last_report")
    def reported(self, agent: Agent) -> SafeString | str:
        return ago(agent.last_report)


@admin.register(FleetWatch)
class FleetWatchAdmin(ConsoleAdmin):
    """The time from which heartbeat timeouts are counted."""

    help = "how-to/use-the-console#system-health"
    list_display = ["counting_since", "swept"]
    ordering = ["id"]
    fields = ["counting_since", "swept"]
    empty_text = "No worker has looked for heartbeat timeouts yet."
