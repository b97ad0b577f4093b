"""The first message about an outage of 1,000 hosts, in projects of 1,000 and of 100,000 hosts.

Needs a Django that is set up: see `outage_cost`.
"""

import json
import sys
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from accesslist.models import Project
from alerting.engine.claims import claim
from alerting.engine.delivery import decide
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Notification
from automation.choices import AgentType
from automation.models import Agent
from opsapi import clock
from opsapi.sql import execute, fetch_rows
from tests.benchmarks.process_times import process_seconds
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest

ALERTS = 1_000
HOSTS = (ALERTS, 100_000)
_OF_AN_AGENT = 1_000
_IN_A_REGION = 10_000
_IN_A_REPORT = 100
_ROUNDS = 20
_WAIT = timedelta(seconds=15)
# Each agent watches 1,000 hosts, each replica set has three, each region 10,000.
_AGENTS = """
INSERT INTO automation_agent
       (id, group_id, agent_type, hostname, version, version_behind, created, last_report, down)
SELECT left(md5(%(group)s || 'agent' || number), 24), %(group)s, %(type)s, 'agent' || number, '1.0', false,
       %(now)s, %(now)s, false
  FROM generate_series(0, (%(hosts)s - 1) / %(of_an_agent)s) AS number
"""
_SETS = """
INSERT INTO automation_replicaset (id, group_id, name, primaries, healthy, unhealthy, created)
SELECT left(md5(%(group)s || 'set' || number), 24), %(group)s, 'rs' || number, 0, 3, 0, %(now)s
  FROM generate_series(0, %(hosts)s / 3) AS number
"""
_HOSTS = """
INSERT INTO automation_host
       (id, group_id, hostname, port, type_name, down, version_behind, replica_set_name, replica_set_id,
        labels, created, last_report, reported_by_id)
SELECT left(md5(%(group)s || 'host' || number), 24), %(group)s, 'db' || number || '.example.com', 27017,
       'STANDALONE', false, false, 'rs' || number / 3, left(md5(%(group)s || 'set' || number / 3), 24),
       jsonb_build_object('env', 'production', 'region', 'r' || number / %(in_a_region)s),
       %(now)s, %(now)s, left(md5(%(group)s || 'agent' || number / %(of_an_agent)s), 24)
  FROM generate_series(0, %(hosts)s - 1) AS number
"""


def main() -> None:
    """Writes {hosts of the project: milliseconds of processor} to stdout, as JSON."""
    now = clock.now()
    projects = {hosts: _project(hosts, now) for hosts in HOSTS}
    execute("VACUUM ANALYZE")
    for project in projects.values():
        _let_fail(project, now)
    sys.stdout.write(json.dumps({hosts: _milliseconds(project) for hosts, project in projects.items()}))


def _project(hosts: int, now: datetime) -> Project:
    project: Project = ProjectFactory.create(name=f"outage in {hosts} hosts")
    values: dict[str, Any] = {
        "group": project.id,
        "hosts": hosts,
        "of_an_agent": _OF_AN_AGENT,
        "in_a_region": _IN_A_REGION,
        "type": AgentType.MONITORING.value,
        "now": now,
    }
    for statement in (_AGENTS, _SETS, _HOSTS):
        execute(statement, values)
    make_config(project, grouping="TOPOLOGY", groupWaitSec=int(_WAIT.total_seconds()))
    return project


def _let_fail(project: Project, now: datetime) -> None:
    """All hosts of an agent go down, and their alerts open."""
    agent = Agent.objects.get(group=project, hostname="agent0").hostname
    for first in range(0, ALERTS, _IN_A_REPORT):
        names = [f"db{number}.example.com" for number in range(first, first + _IN_A_REPORT)]
        ingest(project, *(host_report(name, reachable=False) for name in names), agent=agent, now=now)
    while evaluate_signals(now=now):
        pass


def _milliseconds(project: Project) -> float:
    """Of a round: the message is claimed, decided on and built, by the worker and PostgreSQL."""
    due = Notification.objects.filter(group_id=project.id, status="PENDING")
    at = due.latest("due").due
    seconds = []
    for _ in range(_ROUNDS):
        with transaction.atomic():
            Notification.objects.filter(status="PENDING").exclude(group_id=project.id).delete()
            begin = _processor()
            _build_message(at)
            seconds.append(_processor() - begin)
            transaction.set_rollback(True)
    return sum(seconds) * 1000 / len(seconds)


def _build_message(now: datetime) -> None:
    """The first claim gives the message a destination."""
    jobs = 0
    while not jobs:
        jobs = len(list(decide(claim(worker=1, slots=1, clock=lambda: now), now=now)))


def _processor() -> float:
    """Seconds of this process and of its process of PostgreSQL."""
    [(server,)] = fetch_rows("SELECT pg_backend_pid()")
    return time.process_time() + process_seconds(server)
