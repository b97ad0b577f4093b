"""Reports of agents."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from accesslist.models import Project
from automation.choices import AgentType, HostType
from automation.metrics import Metric
from automation.models import Host
from automation.reports import Address, EventReport, HostReport, ProcessReport, Report
from automation.services.hosts import host_create
from automation.services.ingest import report_ingest
from opsapi import clock
from opsapi.api.principal import SYSTEM, Actor, ActorKind

AGENT = Actor(ActorKind.KEY, "a" * 24, "agent1", False, "192.0.2.7")


def host_report(
    hostname: str = "db1",
    *,
    reachable: bool = True,
    type_name: HostType = HostType.STANDALONE,
    cluster_name: str | None = None,
    databases: Sequence[str] | None = None,
    **metrics: float,
) -> HostReport:
    """What is said of a standalone host on port 27017; metrics by name, one sample each."""
    samples = {Metric(name): [(clock.now(), number)] for name, number in metrics.items()}
    return HostReport(
        address=Address(hostname, 27017),
        type_name=type_name,
        reachable=reachable,
        cluster_name=cluster_name,
        databases=None if databases is None else {name: {} for name in databases},
        samples=samples,
    )


def process_report(name: str = "orders_1", *, goal_version: int = 1) -> ProcessReport:
    """How far automation has brought a process."""
    return ProcessReport(name=name, hostname="db1", goal_version=goal_version)


def ingest(
    project: Project,
    *hosts: HostReport,
    events: Sequence[EventReport] = (),
    processes: Sequence[ProcessReport] = (),
    now: datetime | None = None,
) -> None:
    """Take a report of a monitoring agent."""
    report = Report(
        agent_type=AgentType.MONITORING,
        hostname="agent1",
        version="1.0",
        hosts=hosts,
        events=events,
        processes=processes,
    )
    report_ingest(group_id=project.id, report=report, actor=AGENT, now=now or clock.now())


def make_host(project: Project, hostname: str = "db1", **changes: Any) -> Host:
    """A host nobody has reported yet; `changes` are columns."""
    host = host_create(group_id=project.id, address=Address(hostname, 27017), actor=SYSTEM, now=clock.now())
    Host.objects.filter(id=host.id).update(**changes)
    host.refresh_from_db()
    return host
