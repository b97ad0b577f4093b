"""`manage.py demo`: fills an empty installation with something to look at, with a day of reports."""

import random
import secrets
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accesslist.models import Project, User
from accesslist.services.projects import project_create
from accesslist.services.users import NewUser, unauth_user_create
from alerting.pipeline import evaluate_signals, open_tracked
from alerting.services.configs import alert_config_create
from automation.choices import AgentType, HostType
from automation.metrics import Metric
from automation.reports import Address, HostReport, Report
from automation.services.ingest import report_ingest
from opsapi import clock
from opsapi.api.principal import Actor, ActorKind

PROJECTS = {"payments": ("pay", 5), "search": ("srch", 3)}
ROUNDS = 24
ROUND = timedelta(hours=1)
# One in so many hosts is down, or busy, in a round.
_DOWN_ODDS = 12
_BUSY_ODDS = 8
# An address of a name that is reserved and never resolves: nobody is there to be told.
_NOTIFICATION = {
    "typeName": "EMAIL",
    "emailAddress": "oncall@demo.invalid",
    "delayMin": 0,
    "intervalMin": 1440,
}
_LATER = {**_NOTIFICATION, "delayMin": 24 * 60}


class Command(BaseCommand):
    """A day of reports for two projects, with alerts that came, went, are tracked and are open."""

    help = "Fill an empty installation with hosts, a day of events, and alerts tracked, open and closed."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuses an installation in which anything stands."""
        if Project.objects.exists() or User.objects.exists():
            raise CommandError("this installation is not empty: the demonstration fills only an empty one")
        now = clock.now()
        password = secrets.token_urlsafe(12)
        new = NewUser(username="demo", password=password, first_name="Demo", last_name="Owner")
        user, key = unauth_user_create(new=new, access_list=(), remote_address=None, now=now - ROUNDS * ROUND)
        actor = Actor(ActorKind.USER, user.id, user.username, is_global_admin=True)
        dice = random.Random(7)  # noqa: S311 - the same demonstration every time
        for name, (prefix, hosts) in PROJECTS.items():
            _fill(name, prefix, hosts, actor=actor, dice=dice, now=now)
        self.stdout.write(f"log in at /admin/ as demo with the password {password}")
        if key:
            self.stdout.write(f"API key: {key.key.public_key}:{key.private_key}")


def _fill(name: str, prefix: str, hosts: int, *, actor: Actor, dice: random.Random, now: datetime) -> None:
    started = now - ROUNDS * ROUND
    project = project_create(
        name=name, org_id=None, tags=["demo"], owned_by_maker=False, actor=actor, now=started
    )
    for values in _configs():
        alert_config_create(group_id=project.id, values=values, actor=actor, now=started)
    for number in range(ROUNDS + 1):
        moment = started + number * ROUND
        report = _report(prefix, hosts, dice, moment, ongoing=number == ROUNDS)
        report_ingest(group_id=project.id, report=report, actor=actor, now=moment)
        while evaluate_signals(now=moment):
            open_tracked(now=moment)


def _configs() -> list[dict[str, Any]]:
    busy = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 900, "units": "RAW"}
    return [
        {"eventTypeName": "HOST_DOWN", "notifications": [_NOTIFICATION]},
        {
            "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
            "metricThreshold": {**busy, "mode": "AVERAGE"},
            "notifications": [_LATER],
        },
    ]


def _report(prefix: str, hosts: int, dice: random.Random, moment: datetime, *, ongoing: bool) -> Report:
    """One report; with `ongoing` something is wrong for certain: the first host busy, the second down."""
    found = [
        _host(
            f"{prefix}-{number}.db.example.com",
            moment,
            number=number,
            connections=dice.uniform(100, 800) + (900 if _hit(dice, _BUSY_ODDS, ongoing, number == 0) else 0),
            reachable=not _hit(dice, _DOWN_ODDS, ongoing, number == 1),
        )
        for number in range(hosts)
    ]
    return Report(
        agent_type=AgentType.MONITORING,
        hostname=f"{prefix}-agent.example.com",
        version="1.0",
        hosts=found,
        events=(),
    )


def _hit(dice: random.Random, odds: int, ongoing: bool, chosen: bool) -> bool:
    drawn = dice.randrange(odds) == 0
    return chosen if ongoing else drawn


def _host(hostname: str, moment: datetime, *, number: int, connections: float, reachable: bool) -> HostReport:
    return HostReport(
        address=Address(hostname, 27017),
        type_name=HostType.REPLICA_SECONDARY if number else HostType.REPLICA_PRIMARY,
        reachable=reachable,
        version="8.0.4",
        replica_set_name="rs0",
        databases={"orders": {}, "customers": {}},
        samples={
            Metric.CONNECTIONS: [(moment, round(connections))],
            Metric.MEMORY_RESIDENT: [(moment, connections * 2**21)],
        },
    )
