"""Reports of agents."""

from typing import Any

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.metrics import Metric
from automation.reports import Address, EventReport, HostReport, Report
from automation.services.ingest import report_ingest
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind

AGENT = Actor(ActorKind.KEY, "a" * 24, "agent1", False, "192.0.2.7")


def host_report(hostname: str = "db1", *, reachable: bool = True, **metrics: float) -> HostReport:
    """What is said of a standalone host on port 27017; metrics by name, one sample each."""
    samples = {Metric(name): [(clock.now(), number)] for name, number in metrics.items()}
    return HostReport(
        address=Address(hostname, 27017),
        type_name=HostType.STANDALONE,
        reachable=reachable,
        samples=samples,
    )


def ingest(
    project: Project, *hosts: HostReport, events: tuple[EventReport, ...] = (), **changes: Any
) -> None:
    """Take a report of a monitoring agent."""
    report = Report(
        agent_type=AgentType.MONITORING,
        hostname="agent1",
        version="1.0",
        hosts=hosts,
        events=events,
    )
    report_ingest(group_id=project.id, report=report, actor=AGENT, now=changes.get("now") or clock.now())
