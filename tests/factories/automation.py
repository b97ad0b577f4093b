"""Reports of agents, hosts, and revisions of the automation configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from accesslist.models import Project
from automation.addresses import Address
from automation.agents.changes import SWEEP_GAP, heartbeats_sweep
from automation.choices import AgentType, HostType
from automation.desired_state.changes import automation_config_publish
from automation.hosts.changes import host_create
from automation.measurements.changes import measurements_write
from automation.measurements.days import days_create
from automation.measurements.rules import MeasuredAt
from automation.metrics import Metric
from automation.models import Agent, AutomationRevision, FleetWatch, Host, PlanTurn
from automation.reports.changes import report_ingest
from automation.reports.rules import EventReport, HostReport, LeaseRequest, ProcessReport, Report, Samples
from opsapi import clock
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from tests.factories.documents import document

AGENT = Actor(ActorKind.KEY, "a" * 24, "agent1", False, "192.0.2.7")


def host_report(
    hostname: str = "db1",
    *,
    reachable: bool = True,
    type_name: HostType = HostType.STANDALONE,
    version: str | None = None,
    replica_set_name: str | None = None,
    cluster_name: str | None = None,
    shard_name: str | None = None,
    uptime_seconds: int | None = None,
    databases: Sequence[str] | None = None,
    problem: str | None = None,
    **metrics: float,
) -> HostReport:
    """What is said of a standalone host on port 27017; metrics by name, one sample each at the same time."""
    now = clock.now()
    samples = {Metric(name): [(now, number)] for name, number in metrics.items()}
    return HostReport(
        address=Address(hostname, 27017),
        type_name=type_name,
        reachable=reachable,
        version=version,
        replica_set_name=replica_set_name,
        cluster_name=cluster_name,
        shard_name=shard_name,
        uptime_seconds=uptime_seconds,
        databases=None if databases is None else {name: {} for name in databases},
        samples=samples,
        problem=problem,
    )


def measure(
    host: Host,
    reported: datetime,
    samples: Samples | None = None,
    *,
    databases: Mapping[str, Samples] | None = None,
    **metrics: float,
) -> MeasuredAt | None:
    """Store what one report measured on a host, at the time of the report or as `samples` say."""
    taken = {Metric(name): [(reported, number)] for name, number in metrics.items()} | dict(samples or {})
    report = HostReport(
        address=host.address,
        type_name=HostType.STANDALONE,
        reachable=True,
        databases=databases,
        samples=taken,
    )
    days_create([reported.astimezone(UTC).date()])
    stored = measurements_write(
        reports={host.id: report}, newest={host.id: host.measured}, observed=reported, now=reported
    ).of
    return stored[host.id].at if host.id in stored else None


def process_report(name: str = "orders_1", *, goal_version: int = 1) -> ProcessReport:
    """How far automation has brought a process."""
    return ProcessReport(name=name, hostname="db1", goal_version=goal_version)


def ingest(
    project: Project,
    *hosts: HostReport,
    events: Sequence[EventReport] = (),
    processes: Sequence[ProcessReport] = (),
    agent: str = "agent1",
    agent_type: AgentType = AgentType.MONITORING,
    version: str = "1.0",
    leases: LeaseRequest | None = None,
    labels: Mapping[str, str] | None = None,
    demonstration: bool = False,
    observed: datetime | None = None,
    waiting: int | None = None,
    keep_times: bool = False,
    now: datetime | None = None,
) -> None:
    """Store a report of an agent, with `observed` or `now` as its time, unless `keep_times`."""
    if (moment := observed or now) and not keep_times:
        hosts = tuple(replace(host, samples=_at(moment, host.samples)) for host in hosts)
    report = Report(
        agent_type=agent_type,
        hostname=agent,
        version=version,
        hosts=hosts,
        events=events,
        processes=processes,
        leases=leases,
        labels=labels,
        demonstration=demonstration,
        observed=observed,
        waiting=waiting,
    )
    report_ingest(group_id=project.id, report=report, actor=AGENT, now=now or clock.now())


def _at(moment: datetime, samples: Samples) -> Samples:
    return {metric: [(moment, number) for _, number in taken] for metric, taken in samples.items()}


def sweep(now: datetime, *, counting_since: datetime | None = None) -> None:
    """Look for heartbeat timeouts, on a platform that was never down."""
    watch = {"swept": now - SWEEP_GAP, "counting_since": counting_since or now - timedelta(days=1)}
    FleetWatch.objects.update_or_create(id=1, defaults=watch)
    heartbeats_sweep(clock=lambda: now)


def make_host(project: Project, hostname: str = "db1", **changes: Any) -> Host:
    """A host nobody has reported yet; `changes` are columns."""
    values = {"hostname": hostname, "port": 27017}
    host = host_create(group_id=project.id, values=values, actor=SYSTEM, now=clock.now())
    Host.objects.filter(id=host.id).update(**changes)
    host.refresh_from_db()
    return host


def make_agent(project: Project, hostname: str = "agent1", **changes: Any) -> Agent:
    """A monitoring agent that has just reported; `changes` are columns."""
    now = clock.now()
    values = {"agent_type": "MONITORING", "version": "1.0", "created": now, "last_report": now}
    return Agent.objects.create(group=project, hostname=hostname, **(values | changes))


def publish(project: Project, version: int, **changes: Any) -> AutomationRevision:
    """The revision after that version, of the least document with these changes."""
    automation_config_publish(
        group_id=project.id,
        sent=document(version=version, **changes),
        if_match=None,
        dry_run=False,
        actor=SYSTEM,
        now=clock.now(),
    )
    return AutomationRevision.objects.get(group=project, number=version + 1)


def make_turn(project: Project, **changes: Any) -> PlanTurn:
    """A turn that is held for a day; `changes` are columns."""
    now = clock.now()
    values = {
        "unit": "replica set rs",
        "replica_set": "rs",
        "process": "p1",
        "hostname": "db1.example.com",
        "move": "RESTART",
        "goal_version": 1,
        "request_id": "made",
        "fence": 1,
        "granted": now,
        "expires": now + timedelta(days=1),
        "until": now + timedelta(days=1),
    }
    return PlanTurn.objects.create(group=project, **(values | changes))
