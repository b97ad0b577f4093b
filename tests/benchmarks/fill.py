"""Fills an installation as a year of use would. Needs a Django that is set up: see `scene`."""

import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig
from automation.choices import HostType
from automation.metrics import Metric, base_unit
from automation.models import Host
from events.models import Event
from opsapi import clock
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from opsapi.sql import execute
from tests.benchmarks.size import Filled, Size
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_config

_AT_ONCE = 2000
_METRICS = (
    Metric.CONNECTIONS,
    Metric.MEMORY_RESIDENT,
    Metric.OPCOUNTER_QUERY,
    Metric.OP_EXECUTION_TIME_READS,
)
_TYPES = (*["OUTSIDE_METRIC_THRESHOLD"] * 5, *["HOST_DOWN"] * 3, "NO_PRIMARY", "MONITORING_AGENT_DOWN")


def main() -> None:
    """Takes a Size and two receivers' URLs as arguments, writes what was created to stdout, as JSON."""
    size, receiver, secure = Size(**json.loads(sys.argv[1])), sys.argv[2], sys.argv[3]
    sys.stdout.write(json.dumps(asdict(fill(size, receiver, secure, clock.now()))))


def fill(size: Size, receiver: str, secure_receiver: str, now: datetime) -> Filled:
    """The measured project and its neighbours, and a project for reports for each receiver of alerts."""
    measured, reports, *others = (ProjectFactory.create() for _ in range(size.projects))
    _fill_project(measured, size.hosts, size.alerts, size.events, now)
    for project in others:
        _fill_project(project, 20, size.alerts // 100, size.events // 100, now)
    secure = ProjectFactory.create()
    for project, url in ((reports, receiver), (secure, secure_receiver)):
        make_config(project, notifications=[{"typeName": "WEBHOOK", "webhookUrl": url, "delayMin": 0}])
    reader = make_key(Grant(Role.GROUP_READ_ONLY, group_id=measured.id))
    agent = make_key(Grant(Role.GROUP_AGENT, group_id=reports.id))
    secure_agent = make_key(Grant(Role.GROUP_AGENT, group_id=secure.id))
    fleet = ProjectFactory.create()
    make_configs(fleet, size.fleet_configs, receiver)
    fleet_agent = make_key(Grant(Role.GROUP_AGENT, group_id=fleet.id))
    labelled = ProjectFactory.create()
    _fill_labelled(labelled, size.labelled_hosts, now)
    labelled_admin = make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=labelled.id))
    execute("VACUUM ANALYZE")
    return Filled(
        group_id=measured.id,
        reader=(reader.public_key, reader.private_key),
        report_group_id=reports.id,
        agent=(agent.public_key, agent.private_key),
        secure_group_id=secure.id,
        secure_agent=(secure_agent.public_key, secure_agent.private_key),
        fleet_group_id=fleet.id,
        fleet_agent=(fleet_agent.public_key, fleet_agent.private_key),
        labelled_group_id=labelled.id,
        labelled_admin=(labelled_admin.public_key, labelled_admin.private_key),
    )


def make_configs(project: Project, count: int, receiver: str) -> None:
    """Most are about a metric, some about hosts that are down; half of them look at some hosts only."""
    webhook = {"typeName": "WEBHOOK", "webhookUrl": receiver, "delayMin": 0}
    for number in range(count):
        some = {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": f"db{number % 100:03}"}
        changes: dict[str, Any] = {"matchers": [some] if number % 2 else []}
        if number % 10:
            threshold = {"operator": "GREATER_THAN", "threshold": 1e12, "mode": "AVERAGE"}
            metric = list(Metric)[number % 20]
            changes["eventTypeName"] = "OUTSIDE_METRIC_THRESHOLD"
            changes["metricThreshold"] = {
                **threshold,
                "metricName": metric.value,
                "units": base_unit(metric).value,
            }
        make_config(project, notifications=[webhook], **changes)


def _fill_project(project: Project, hosts: int, alerts: int, events: int, now: datetime) -> None:
    made = Host.objects.bulk_create(_hosts(project, hosts, now), batch_size=_AT_ONCE)
    config = make_config(project, enabled=False)
    _create_in_batches(Alert, _alerts(project, config, made, alerts, now))
    _create_in_batches(Event, _events(project, made, events, now))


def _fill_labelled(project: Project, count: int, now: datetime) -> None:
    """Hosts with labels, half of them of production; every twentieth is down."""
    hosts = _hosts(project, count, now)
    for number, host in enumerate(hosts):
        host.labels = {"env": ("production", "staging")[number % 2], "region": f"eu-{number % 5}"}
    made = Host.objects.bulk_create(hosts, batch_size=_AT_ONCE)
    alerts = (
        Alert(
            group=project,
            config_id=new_id(),
            event_type="HOST_DOWN",
            status=AlertStatus.OPEN.value,
            target_key=host.id,
            facts=_facts("HOST_DOWN", host),
            created=now,
            updated=now,
            opens=now,
        )
        for host in made[::20]
    )
    _create_in_batches(Alert, alerts)


def _create_in_batches(model: type[Alert] | type[Event], rows: Iterator[Alert] | Iterator[Event]) -> None:
    while batch := list(itertools.islice(rows, _AT_ONCE)):
        model.objects.bulk_create(batch)  # type: ignore[arg-type]  # rows are of the model


def _hosts(project: Project, count: int, now: datetime) -> list[Host]:
    return [
        Host(
            group=project,
            hostname=f"db{number:05}.example.com",
            port=27017,
            type_name=(HostType.REPLICA_SECONDARY if number % 3 else HostType.REPLICA_PRIMARY).value,
            replica_set_name=f"rs{number // 3}",
            cluster_name=f"cluster{number // 30}",
            created=now,
            last_report=now,
        )
        for number in range(count)
    ]


def _alerts(
    project: Project, config: AlertConfig, hosts: list[Host], count: int, now: datetime
) -> Iterator[Alert]:
    """Newest first; every tenth is open, every twentieth acknowledged."""
    for number in range(count):
        created = now - timedelta(seconds=40 * number)
        event_type = _TYPES[number % len(_TYPES)]
        is_open, is_metric = number % 10 == 0, event_type == "OUTSIDE_METRIC_THRESHOLD"
        yield Alert(
            group=project,
            config_id=config.id,
            event_type=event_type,
            status=(AlertStatus.OPEN if is_open else AlertStatus.CLOSED).value,
            target_key=f"benchmark {number}",
            facts=_facts(event_type, hosts[number % len(hosts)]),
            metric_name=_METRICS[number % 4].value if is_metric else None,
            current_value=number * 1.25 if is_metric else None,
            tags=["production"] if number % 2 else [],
            created=created,
            updated=created + timedelta(seconds=90),
            opens=created,
            resolved=None if is_open else created + timedelta(seconds=90),
            last_notified=created + timedelta(seconds=91),
            acknowledged_until=now + timedelta(days=1) if number % 20 == 0 else None,
            acknowledgement_comment="being looked at" if number % 20 == 0 else None,
            acknowledging_username="ada@example.com" if number % 20 == 0 else None,
        )


def _facts(event_type: str, host: Host) -> dict[str, str | int]:
    cluster = {"replicaSetName": str(host.replica_set_name), "clusterName": str(host.cluster_name)}
    if event_type == "NO_PRIMARY":
        return {**cluster, "clusterId": new_id()}
    if event_type == "MONITORING_AGENT_DOWN":
        return {"hostname": "agent1.example.com"}
    where: dict[str, str | int] = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    return {**where, **cluster}


def _events(project: Project, hosts: list[Host], count: int, now: datetime) -> Iterator[Event]:
    for number in range(count):
        host = hosts[number % len(hosts)]
        event_type = _TYPES[number % len(_TYPES)]
        details = _facts(event_type, host)
        metric = _METRICS[number % 4]
        value = {"number": number / 8, "units": base_unit(metric).value}
        measured = {"metricName": metric.value, "currentValue": value}
        yield Event(
            created=now - timedelta(seconds=4 * number),
            event_type=event_type,
            group_id=project.id,
            org_id=project.org_id,
            details={**details, **(measured if event_type == "OUTSIDE_METRIC_THRESHOLD" else {})},
            raw=details,
        )
