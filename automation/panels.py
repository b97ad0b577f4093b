"""Panels of the fleet on the start page of the console."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.template.defaultfilters import filesizeformat
from django.urls import reverse

from accesslist.models import Project
from automation.agents.models import Agent
from automation.agents.rules import detection_words
from automation.agents.store import (
    agents_count,
    agents_not_reporting,
    demonstration_agents_count,
    detection_now,
)
from automation.choices import AgentType
from automation.fleet_map import fleet_map
from automation.hosts.models import Host
from automation.hosts.store import (
    demonstration_hosts_count,
    hosts_count,
    hosts_down,
    hosts_without_data,
)
from automation.reports.growth import StoredKind
from automation.reports.store import DAYS, DatabaseDisk, database_disk, projects_growth
from automation.turns.console import SET_WIZARD
from opsapi.api.principal import VisibleScope
from opsapi.clock import ago_words
from opsapi.console.admin_urls import add_url, creation_url, list_url, page_url, page_url_of
from opsapi.console.display import EMPTY
from opsapi.console.widgets import Cell, Notice, Panel, PanelWhole, Tone, Widget, number_of
from opsapi.first_rows import FirstRows, in_visible_scope


def fleet_widgets(visible_scope: VisibleScope, now: datetime) -> Iterator[Widget]:
    """Hosts that are down, hosts without data, agents that stopped reporting, and whether that is noticed."""
    yield from _detection()
    disk = database_disk()
    if disk and disk.is_low and visible_scope.everything:
        yield _disk_low(disk)
    down, unknown = hosts_down(visible_scope), hosts_without_data(visible_scope, now)
    # All hosts are counted only if no host is listed.
    count = down.count + unknown.count or hosts_count(visible_scope)
    whole = PanelWhole(count, _NO_HOSTS, _add_agent() if count else _first_step(visible_scope))
    yield from fleet_map(visible_scope, now)
    unheard = agents_not_reporting(visible_scope, now)
    is_full = down.count and unknown.count and unheard.count
    # Panels with rows say nothing about the demonstration.
    demonstration_agents = 0 if is_full else demonstration_agents_count(visible_scope)
    demonstration = demonstration_hosts_count(visible_scope, now) if demonstration_agents else 0
    yield _hosts(down, whole, _up_words(unknown.count, demonstration), now)
    yield _without_data(unknown, whole, _reporting_words("host", demonstration), now)
    yield _agents(visible_scope, unheard, demonstration_agents, now)
    yield _growth(visible_scope, disk, now)


_NO_HOSTS = "No hosts yet. An agent reports the hosts that it finds, or starts new ones with automation."
_LISTED = "A host is listed here when its agent can't reach it or stops reporting it."


def _detection() -> Iterator[Notice]:
    state, at = detection_now()
    if words := detection_words(state, at):
        yield Notice(f"{words[0].upper()}{words[1:]}.")


def _disk_low(disk: DatabaseDisk) -> Notice:
    return Notice(
        "Less than a fifth of the disk of the database is free:"
        f" {_bytes(disk.free)} of {_bytes(disk.size)}."
        " When the disk is full, no report is stored and no message is sent. Move the data directory to a"
        " larger disk, or keep measurements, events and ended alerts for fewer days.",
    )


def _growth(visible_scope: VisibleScope, disk: DatabaseDisk | None, now: datetime) -> Panel:
    projects, count = projects_growth(visible_scope, now)
    free = f"{disk.free_percent} % of the disk of the database is free" if disk else _UNKNOWN_DISK
    return Panel(
        name="growth",
        rank=80,
        is_counted=False,
        is_wide=True,
        title="Growth",
        unit="projects growing",
        headers=["Project", "Today (UTC)", f"A day, mean of {DAYS} days", *_KINDS.values()],
        rows=[
            [
                Cell(project.name, page_url_of("accesslist.project", project.group_id)),
                Cell(_bytes(project.today)),
                Cell(_bytes(project.mean)),
                *(Cell(_bytes(project.means[kind])) for kind in _KINDS),
            ]
            for project in projects
        ],
        count=count,
        url=list_url(Project),
        empty=f"No growth was counted in the last {DAYS} days. It is counted up to ten minutes late."
        " Here is the approximate size of what each project stores: the events and measurements of its"
        " reports, its alerts, their messages, and changes by users and keys.",
        facts=[Cell(free), Cell("Retention", reverse("retention"))] if visible_scope.everything else (),
    )


_KINDS: Mapping[StoredKind, str] = {
    StoredKind.REPORTS: "Of it reports",
    StoredKind.ALERTS: "Alerts",
    StoredKind.MESSAGES: "Messages",
    StoredKind.CHANGES: "Changes",
}
"""The columns of the means by kind."""
_UNKNOWN_DISK = "Free disk space: unknown"


def _bytes(number: float) -> str:
    return filesizeformat(number).replace("\xa0", " ")


def _add_agent() -> Cell:
    return Cell("Add agent", add_url(Agent))


def _first_step(visible_scope: VisibleScope) -> Cell:
    """Before the first host: an agent, or a new replica set on the machines of automation agents."""
    agents = Agent.objects.filter(agent_type=AgentType.AUTOMATION.value, group__deleted=None)
    if not in_visible_scope(agents, visible_scope).exists():
        return _add_agent()
    return Cell("New replica set", creation_url("automation.automationrevision", SET_WIZARD))


def _hosts(hosts: FirstRows[Host], whole: PanelWhole, up: str, now: datetime) -> Panel:
    return Panel(
        name="hosts",
        rank=20,
        title="Hosts down",
        is_wide=True,
        unit="hosts down",
        headers=["Host", "Project", "Replica set", "Last report"],
        rows=[_host(host, _set_of(host), now) for host in hosts.rows],
        count=hosts.count,
        url=list_url(Host, down__exact=1),
        empty=f"{up} {_LISTED}",
        remedy=Cell("All hosts", list_url(Host)),
        whole=whole,
        tone=Tone.BAD,
    )


def _up_words(unknown: int, demonstration: int) -> str:
    if not unknown and not demonstration:
        return "All hosts are up."
    sentences = ["No host is reported down."]
    if unknown:
        sentences.append(f"The state of {_number_words(unknown, 'host')} is unknown.")
    if demonstration:
        sentences.append(_demonstration_words("host", demonstration))
    return " ".join(sentences)


def _reporting_words(unit: str, demonstration: int) -> str:
    if not demonstration:
        return f"All {unit}s report."
    return f"{_demonstration_words(unit, demonstration)} All other {unit}s report."


def _demonstration_words(unit: str, number: int) -> str:
    belong = "belongs" if number == 1 else "belong"
    return f"{_number_words(number, unit)} {belong} to the demonstration, which does not report any more."


def _number_words(number: int, unit: str) -> str:
    return f"1 {unit}" if number == 1 else f"{number_of(number)} {unit}s"


def _without_data(hosts: FirstRows[Host], whole: PanelWhole, reporting: str, now: datetime) -> Panel:
    return Panel(
        name="unheard",
        rank=25,
        title="Hosts without data",
        unit="hosts without data",
        headers=["Host", "Project", "Agent", "Last report"],
        rows=[_host(host, _agent_of(host), now) for host in hosts.rows],
        count=hosts.count,
        url=list_url(Host, data="none"),
        empty=f"{reporting} A host is listed here after four minutes without a report.",
        remedy=Cell("All hosts", list_url(Host)),
        whole=whole,
        tone=Tone.WARNING,
        is_wide=True,
    )


def _host(host: Host, relation: Cell, now: datetime) -> Sequence[Cell]:
    return [
        Cell(str(host), page_url(host)),
        Cell(host.group.name, page_url(host.group)),
        relation,
        Cell(ago_words(host.last_report, now) if host.last_report else "never"),
    ]


def _set_of(host: Host) -> Cell:
    return Cell(host.replica_set_name or EMPTY, page_url(host.replica_set) if host.replica_set else "")


def _agent_of(host: Host) -> Cell:
    return Cell(host.reported_by.hostname, page_url(host.reported_by)) if host.reported_by else Cell(EMPTY)


def _agents(
    visible_scope: VisibleScope, agents: FirstRows[Agent], demonstration: int, now: datetime
) -> Panel:
    return Panel(
        name="agents",
        rank=30,
        title="Agents not reporting",
        unit="agents not reporting",
        headers=["Agent", "Type", "Project", "Last report"],
        rows=[_agent(agent, now) for agent in agents.rows],
        count=agents.count,
        url=list_url(Agent, reports="no"),
        empty=f"{_reporting_words('agent', demonstration)} An agent is listed here after four minutes without"
        " a report.",
        remedy=Cell("All agents", list_url(Agent)),
        whole=PanelWhole(
            agents.count or agents_count(visible_scope), "No agent has reported yet.", _add_agent()
        ),
        tone=Tone.BAD,
    )


def _agent(agent: Agent, now: datetime) -> Sequence[Cell]:
    return [
        Cell(agent.hostname, page_url(agent)),
        Cell(agent.agent_type.lower()),
        Cell(agent.group.name, page_url(agent.group)),
        Cell(ago_words(agent.last_report, now)),
    ]
