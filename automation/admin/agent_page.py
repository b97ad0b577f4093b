"""The page of an agent: the hosts it watches and the metrics it does not report."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from automation.admin.states import agent_state, alerts_about, host_state, with_behind
from automation.choices import MetricState
from automation.models import Agent, Host
from automation.selectors.hosts import hosts_at
from automation.selectors.leases import WatchedHost, Watching, watching
from opsapi.clock import ago_words, time_words
from opsapi.console.admin_urls import list_url, page_url
from opsapi.console.widgets import Cell, Panel, Tone
from opsapi.first_rows import MOST_SHOWN

_MOST_METRICS = 100
_WHY: Sequence[tuple[MetricState, str, Tone]] = (
    (MetricState.REFUSED, "refused", Tone.WARNING),
    (MetricState.FAILED, "failed", Tone.WARNING),
    (MetricState.ABSENT, "not in this version", Tone.PLAIN),
)
"""Why a metric is missing; fixable reasons come first."""


def agent_context(agent: Agent, now: datetime) -> Mapping[str, Any]:
    """The state of the agent and its panels."""
    state, tone = agent_state(agent)
    found = watching(agent, now)
    return {
        "state": state,
        "tone": tone,
        "version": with_behind(agent.version, behind=agent.version_behind),
        "facts": [
            ("Project", Cell(str(agent.group), page_url(agent.group))),
            ("Last report", Cell(f"{time_words(agent.last_report)}, {ago_words(agent.last_report, now)}")),
        ],
        "alerts": alerts_about(agent.hostname, agent.group_id),
        "panels": [_hosts(agent, found, now), _metrics(agent, found)],
    }


def _hosts(agent: Agent, found: Watching, now: datetime) -> Panel:
    shown = found.hosts[:MOST_SHOWN]
    known = hosts_at(agent.group_id, [watched.address.key for watched in shown])
    return Panel(
        name="watched",
        title="Watched hosts",
        unit="hosts",
        headers=["Host", "State", "Until"],
        rows=[_host(watched, known.get(watched.address.key), now) for watched in shown],
        count=len(found.hosts),
        url=list_url(Host, reported_by__id__exact=agent.id),
        empty="This agent has no host leases. An agent that does not share hosts has none.",
        remedy=Cell("Reported hosts", list_url(Host, reported_by__id__exact=agent.id)),
    )


def _host(watched: WatchedHost, host: Host | None, now: datetime) -> Sequence[Cell]:
    state, tone = host_state(host, now) if host else ("not reported yet", Tone.PLAIN)
    address = Cell(str(watched.address), page_url(host) if host else "")
    return [address, Cell(state, tone=tone), Cell(time_words(watched.until))]


def _metrics(agent: Agent, found: Watching) -> Panel:
    hosts: dict[int, list[str]] = defaultdict(list)
    for watched in found.hosts:
        if watched.metric_set is not None:
            hosts[watched.metric_set].append(str(watched.address))
    missing: dict[tuple[int, str, str], list[str]] = defaultdict(list)
    for place, metric_set in enumerate(found.metric_sets):
        for rank, (state, _, _) in enumerate(_WHY):
            role = metric_set.get("role", "") if state is MetricState.REFUSED else ""
            for metric in metric_set.get(state.value.lower(), ()):
                missing[rank, metric, role] += hosts[place]
    rows = [
        [Cell(metric), _why(rank, role), Cell(_named(missing[rank, metric, role]))]
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
        if found.metric_sets
        else "The agent has not sent its metric coverage yet.",
    )


def _why(rank: int, role: str) -> Cell:
    _, words, tone = _WHY[rank]
    return Cell(f"{words}: needs {role}" if role else words, tone=tone)


def _named(hosts: Sequence[str]) -> str:
    """The name of a single host, or the number of hosts."""
    return hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
