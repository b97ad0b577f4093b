"""What happens in the demonstration: the setup, three weeks before the end, and the last day."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction

from accesslist.keys.changes import NewKey
from accesslist.models import RoleGrant
from alerting.configs.changes import alert_config_set_enabled
from alerting.destinations.rules import PROBE_EVERY
from alerting.engine.choices import NotificationStatus
from alerting.engine.claims import claim
from alerting.engine.delivery import DeliveryAttempt, decide, record
from alerting.engine.evaluation import evaluate_signals, open_tracked
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig, Notification, UnreachableHost
from automation.agents.changes import group_timeouts_mark
from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.models import Agent
from automation.reports.changes import report_ingest
from automation.reports.rules import ProcessReport
from events.models import Event, Signal
from events.types import EventType
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryFault, DeliveryStatus
from opsapi.roles import Role
from opsapi.sql import execute
from tools.demo.fleet import (
    AGENTS,
    DAY,
    HOSTS,
    MOMENTS,
    NEWER_VERSION,
    PORT,
    VERSION,
    DemoAgent,
    HostSpec,
    report,
    reports_at,
)
from tools.demo.world import World

FAILING_RECEIVER = "hooks.brightside.example"
STUMBLING_RECEIVER = "hooks.harbour.example"
REFUSING_RECEIVER = "chat.harbour.example"
_logger = logging.getLogger("opsapi.delivery")


def deliver_until(moment: datetime) -> None:
    """Record the outcome of all notifications that are due by that moment, without log lines."""
    level = _logger.level
    _logger.setLevel(logging.CRITICAL)
    try:
        _deliver_until(moment)
    finally:
        _logger.setLevel(level)


def _deliver_until(moment: datetime) -> None:
    at = None
    waiting = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=moment)
    while due := waiting.order_by("due").values_list("due", flat=True).first():
        at = max(at or due, due)
        claims = claim(worker=0, slots=64, clock=partial(_same, at))
        ended = [(attempt, _outcome(attempt)) for attempt in decide(claims, now=at)]
        for attempt, outcome in ended:
            # An attempt ends when its answer is there, so it begins when its notification is due.
            record([(attempt, outcome)], now=at + timedelta(milliseconds=outcome.latency_ms))
        if not claims:
            # The first notification goes to a destination that fails, and was just tried.
            at += PROBE_EVERY
            if at > moment:
                return


def _same(at: datetime) -> datetime:
    return at


def _outcome(attempt: DeliveryAttempt) -> Outcome:
    if isinstance(attempt.content, Outcome):
        return attempt.content
    number, recipient = attempt.number, attempt.notification.recipient
    if FAILING_RECEIVER in recipient:
        reason = "the receiver could not be reached"
        return Outcome(DeliveryStatus.RETRY, reason, 2000 + number, fault=DeliveryFault.HOST)
    if REFUSING_RECEIVER in recipient:
        return Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 95 + number)
    if STUMBLING_RECEIVER in recipient and number < 3:
        return Outcome(
            DeliveryStatus.RETRY,
            "the receiver answered 503",
            420,
            fault=DeliveryFault.DESTINATION,
            perhaps_received=True,
        )
    return Outcome(DeliveryStatus.DELIVERED, None, 140 + 35 * number)


_FIRST_REPORT = 20 * DAY
_AGENTS_ADDRESS = "192.0.2.100"
_LONGEST_ANSWER = timedelta(seconds=5)
_WEEK = 7 * DAY
_HALF_A_DAY = DAY // 2
_HARBOUR, _BRIGHTSIDE = "Harbour Bank", "Brightside Media"
OWNER = "demo"
_INES, _MIRA, _TOMAS = "ines@audit.example", "mira@harbour.example", "tomas@harbour.example"
_LENA, _SAMIR = "lena@harbour.example", "samir@brightside.example"
_DEPLOYS = "deployment pipeline"
_SERVICE_KEY = "0123456789abcdef0123456789abcdef"

# A worker that runs for hours after the demonstration sends no reminder.
_GROUP = {"typeName": "GROUP", "emailEnabled": True, "smsEnabled": False, "intervalMin": DAY}
_ADMIN = {"typeName": "ADMIN", "intervalMin": DAY}
_WEBHOOK = {"typeName": "WEBHOOK", "intervalMin": _HALF_A_DAY}
_TEAM_CHAT = {"typeName": "TEAM_CHAT_SERVICE", "intervalMin": _HALF_A_DAY}
_FAILING = {**_WEBHOOK, "webhookUrl": f"https://{FAILING_RECEIVER}/in/shift"}


def _mail(address: str, delay: int = 0) -> Mapping[str, Any]:
    return {"typeName": "EMAIL", "emailAddress": address, "delayMin": delay, "intervalMin": DAY}


def _above(metric: str, threshold: float, units: str = "RAW") -> Mapping[str, Any]:
    limits = {"mode": "AVERAGE", "operator": "GREATER_THAN", "threshold": threshold, "units": units}
    return {"metricThreshold": {"metricName": metric, **limits}}


def set_up(world: World) -> None:
    """Create projects, people, keys, integrations and alert configurations."""
    world.add_project("payments", _HARBOUR, ("production", "pci"))
    world.add_project("customer-accounts", _HARBOUR, ("production",))
    world.add_project("catalogue", _BRIGHTSIDE, ("production", "media"))
    world.add_project("recommendations", _BRIGHTSIDE, ("staging", "media"))
    reader = Role.ORG_READ_ONLY if world.is_guest else Role.GLOBAL_READ_ONLY
    world.add_user(_INES, "Ines Moreau", "192.0.2.41", reader, [*world.orgs])
    world.add_user(_MIRA, "Mira Lindqvist", "198.51.100.17", Role.ORG_OWNER, [_HARBOUR])
    world.add_user(
        _TOMAS, "Tomas Oduya", "198.51.100.23", Role.GROUP_MONITORING_ADMIN, ["payments", "customer-accounts"]
    )
    world.add_user(_LENA, "Lena Brandt", "203.0.113.9", Role.GROUP_READ_ONLY, ["payments"])
    world.add_user(
        _SAMIR, "Samir Haddad", "198.51.100.77", Role.GROUP_OWNER, ["catalogue", "recommendations"]
    )
    on_call, admin = "payments on-call", Role.GROUP_MONITORING_ADMIN
    world.add_team(on_call, _HARBOUR, "payments", admin, [_MIRA, _TOMAS])
    runners = {"203.0.113.56/29": "build runners"}
    world.add_key(_DEPLOYS, "203.0.113.60", Role.GROUP_OWNER, ["catalogue"], runners)
    for group in world.groups:
        world.add_key(_agents_key(group), _AGENTS_ADDRESS, Role.GROUP_AGENT, [group])
    _add_integrations(world)
    _add_configs(world, {"typeName": "TEAM", "teamId": world.teams[on_call], "intervalMin": DAY})
    _evaluate(world)


def _add_integrations(world: World) -> None:
    stumbling = {"url": f"https://{STUMBLING_RECEIVER}/in/payments", "secret": "secret of the demonstration"}
    world.add_integration(_MIRA, "payments", "WEBHOOK", stumbling)
    world.add_integration(_MIRA, "payments", "PAGER_SERVICE", {"serviceKey": _SERVICE_KEY})
    refusing = {"webhookUrl": f"https://{REFUSING_RECEIVER}/workflows/accounts"}
    world.add_integration(_TOMAS, "customer-accounts", "TEAM_CHAT_SERVICE", refusing)
    world.add_integration(_SAMIR, "catalogue", "METRICS_SERVICE", {"apiKey": _SERVICE_KEY})
    scraper = {"username": "scraper", "password": "passphrase of the demonstration"}
    world.add_integration(_SAMIR, "recommendations", "SCRAPER", scraper)


_WHO_CALLS = {
    "name": "Payments database down",
    "description": "Customers cannot pay. Call the payments on-call, then the head of operations.",
    "runbookUrl": "https://wiki.harbour.example/runbooks/payments-database-down",
}
_POOL = {
    "name": "Connection pool too large",
    "description": "Usually a deployment with a wrong pool size. Ask the team that deployed last.",
}


def _add_configs(world: World, team: Mapping[str, Any]) -> None:
    metric, harbour, brightside = (
        "OUTSIDE_METRIC_THRESHOLD",
        "oncall@harbour.example",
        "oncall@brightside.example",
    )
    add = partial(world.add_config, _MIRA, "payments")
    add("HOST_DOWN", {**team, "emailEnabled": True}, _WEBHOOK, **_WHO_CALLS)
    add("NO_PRIMARY", _mail(harbour), name="Payments cannot write")
    add(metric, _GROUP, {**_WEBHOOK, "minSeverity": "WARNING"}, **_above("CONNECTIONS", 900), **_POOL)
    add = partial(world.add_config, _TOMAS, "customer-accounts")
    add("HOST_DOWN", _mail(harbour), _FAILING)
    add("BACKUP_AGENT_DOWN", _mail(harbour))
    add(metric, _TEAM_CHAT, **_above("CACHE_USED_BYTES", 12, "GIGABYTES"))
    slow = {"name": "Slow reads", "severity": "INFO"}
    add(metric, _FAILING, **_above("OP_EXECUTION_TIME_READS", 40, "MILLISECONDS"), **slow)
    add = partial(world.add_config, _SAMIR, "catalogue")
    add("HOST_DOWN", _mail(brightside), matchers=[_starts_with("cat-")])
    add("AUTOMATION_CONFIG_PUBLISHED_AUDIT", _mail(brightside))
    add(metric, _GROUP, **_above("CURSORS_TOTAL_OPEN", 500))
    add = partial(world.add_config, _SAMIR, "recommendations")
    add("HOST_DOWN", _mail(brightside))
    add("VERSION_BEHIND", _mail(brightside, _WEEK))
    lag = _above("OPLOG_SLAVE_LAG_MASTER_TIME", 1, "MINUTES")
    add(metric, _mail(brightside, DAY), **lag, name="Replication lag")
    if world.is_guest:
        return
    add = partial(world.add_config, OWNER, None, forAllGroups=True)
    add("MULTIPLE_PRIMARIES", _ADMIN)
    add("AUTOMATION_AGENT_DOWN", _ADMIN, tags=["production"])


def _starts_with(prefix: str) -> Mapping[str, str]:
    return {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": prefix}


def _find_timeouts(world: World) -> None:
    group_id = world.groups["customer-accounts"].id
    limit = world.moment - HEARTBEAT_TIMEOUT
    group_timeouts_mark(group_id=group_id, limit=limit, now=world.moment, demonstration=True)


def _switch(world: World, *, enabled: bool) -> None:
    config = world.configs["catalogue", "CURSORS_TOTAL_OPEN"]
    alert_config_set_enabled(config=config, enabled=enabled, actor=world.actors[_SAMIR], now=world.moment)


_BOTH = ["HOST", "REPLICA_SET"]
_ACTIONS: Mapping[int, Callable[[World], None]] = {
    1380: lambda world: world.publish(_SAMIR, "catalogue", _automation(1)),
    1000: lambda world: world.add_window(_SAMIR, "catalogue", (6, 5), ["HOST"], "Upgrade to 8.0.5"),
    640: lambda world: world.publish(_SAMIR, "catalogue", _automation(2)),
    600: lambda world: world.add_window(
        _SAMIR, "recommendations", (1, -20), _BOTH, "Host moves to a new rack"
    ),
    500: lambda world: world.add_window(_MIRA, "payments", (-26, -30), _BOTH, "Kernel update by shard"),
    420: lambda world: _switch(world, enabled=False),  # which cancels the alert
    335: lambda world: world.publish(_DEPLOYS, "catalogue", _automation(3)),
    200: lambda world: _switch(world, enabled=True),
    75: _find_timeouts,
    70: lambda world: world.acknowledge(
        _MIRA, "customer-accounts", "HOST_DOWN", 30, "Disk is being replaced, resync will take until tonight"
    ),
    60: lambda world: world.acknowledge(
        _TOMAS, "customer-accounts", "BACKUP_AGENT_DOWN", 48, "Backup host is being rebuilt, see change 4117"
    ),
}
"""Minutes before the end → an action of a user or a key, or the search for heartbeat timeouts."""


def play_day(world: World) -> None:
    """Play all reports and actions in order, and the work of the worker after each."""
    last = dict.fromkeys(AGENTS, _FIRST_REPORT)
    for ago in (_FIRST_REPORT, *sorted(MOMENTS | _ACTIONS.keys(), reverse=True)):
        world.moment = world.ago(ago)
        deliver_until(world.moment)
        for agent in AGENTS:
            if reports_at(agent, ago):
                _report(world, agent, ago, last[agent])
                last[agent] = ago
        _evaluate(world)
        if ago in _ACTIONS:
            _ACTIONS[ago](world)
            _evaluate(world)
    # No answer arrives after the end of the day.
    deliver_until(world.now - _LONGEST_ANSWER)


def _report(world: World, agent: DemoAgent, ago: int, last: int) -> None:
    report_ingest(
        group_id=world.groups[agent.group].id,
        report=report(agent, ago, last, now=world.now, processes=_processes(ago)),
        actor=world.actors[_agents_key(agent.group)],
        now=world.moment,
    )


def _evaluate(world: World) -> None:
    while evaluate_signals(now=world.moment):
        pass
    open_tracked(now=world.moment)


def _agents_key(group: str) -> str:
    return f"agents of {group}"


def _processes(ago: int) -> list[ProcessReport]:
    published = sum(each > ago for each in (1380, 640, 335))
    return [
        ProcessReport(name=host.name, hostname=host.hostname, goal_version=published)
        for host in HOSTS
        if host.group == "catalogue"
    ]


def _automation(number: int) -> Mapping[str, Any]:
    """The automation configuration; version 2 rotates logs, version 3 upgrades one process."""
    return {
        "version": number - 1,
        "options": {"downloadBase": "/var/lib/ops-agent"},
        "databaseVersions": [{"name": each, "builds": []} for each in (VERSION, NEWER_VERSION)],
        "processes": [_process(host, number) for host in HOSTS if host.group == "catalogue"],
        "auth": {
            "autoUser": "ops-agent",
            "autoPwd": "password of the demonstration",
            "key": "ZGVtb25zdHJhdGlvbi1rZXk=",
            "keyfile": "/var/lib/ops-agent/keyfile",
        },
    }


def _process(host: HostSpec, number: int) -> Mapping[str, Any]:
    rotation = {"logRotate": {"sizeThresholdMB": 500, "timeThresholdHrs": 24}}
    return {
        "name": host.name,
        "hostname": host.hostname,
        "version": NEWER_VERSION if number == 3 and host.name == "cat-c" else VERSION,
        "authSchemaVersion": 5,
        "featureCompatibilityVersion": "8.0",
        "args2_6": {"net": {"port": PORT}, "replication": {"replSetName": host.replica_set}},
        **(rotation if number > 1 else {}),
    }


_SET_UP = timedelta(days=21)


class AlreadyFilledError(Exception):
    """The demonstration is there, in these `projects`, added by the user `owner` if that is still known."""

    def __init__(self, projects: Sequence[str], owner: str | None) -> None:
        super().__init__()
        self.projects = projects
        self.owner = owner


class WorkWaitsError(Exception):
    """The worker has work that the demonstration would mistake for its own."""


@dataclass(frozen=True, slots=True)
class FilledDemo:
    """The names of the projects, and what is shown only once: passwords by user, and the owner's key."""

    projects: Sequence[str]
    passwords: Mapping[str, str]
    key: NewKey


@transaction.atomic
def demo_fill(*, now: datetime) -> FilledDemo:
    """Add three weeks up to `now`, most of all the last day, to whatever is there.

    If the installation has an owner, no user, key or configuration of the demonstration concerns anything but
    the demonstration. Names that are in use get a prefix or a number.

    Raises: AlreadyFilledError, WorkWaitsError; ApiError, if a limit is reached, or a name comes into use.
    """
    _refuse_repetition()
    _exclude_worker(now)
    is_guest = RoleGrant.objects.filter(role=Role.GLOBAL_OWNER.value).exists()
    world = World(now=now.replace(microsecond=0), moment=now - _SET_UP, is_guest=is_guest)
    for name in (_HARBOUR, _BRIGHTSIDE):
        world.add_organization(name)
    role, places = (Role.ORG_OWNER, [*world.orgs]) if is_guest else (Role.GLOBAL_OWNER, [""])
    world.add_user(OWNER, "Demo Owner", "192.0.2.5", role, places)
    world.owner = world.actors[OWNER]
    key = world.add_key("Key of demo", "192.0.2.5", role, places)
    with kept_apart():
        set_up(world)
        play_day(world)
    return FilledDemo([group.name for group in world.groups.values()], world.passwords, key)


def _refuse_repetition() -> None:
    """Raises: AlreadyFilledError."""
    agents = Agent.objects.filter(demonstration=True, group__deleted=None).order_by("group__name")
    projects = dict(agents.values_list("group_id", "group__name"))
    if projects:
        created = Event.objects.filter(group_id__in=projects, event_type=EventType.GROUP_CREATED.value)
        owner = created.values_list("details__username", flat=True).first()
        raise AlreadyFilledError([*projects.values()], owner)


@contextmanager
def kept_apart() -> Iterator[None]:
    """Keep the global rows of the installation out of the demonstration, inside a transaction.

    No global configuration of the installation notifies anybody of the demonstration, and the outcomes that
    the demonstration makes up say nothing about hosts of receivers. Other transactions see no difference.
    """
    configs = AlertConfig.objects.filter(group=None, enabled=True, deleted=None).order_by("id")
    enabled = list(configs.select_for_update().values_list("id", flat=True))
    AlertConfig.objects.filter(id__in=enabled).update(enabled=False)
    unreachable = list(UnreachableHost.objects.order_by("host").select_for_update())
    UnreachableHost.objects.all().delete()
    yield
    UnreachableHost.objects.filter(host__in=[each.host for each in unreachable]).delete()
    UnreachableHost.objects.bulk_create(unreachable)
    AlertConfig.objects.filter(id__in=enabled).update(enabled=True)


def _exclude_worker(now: datetime) -> None:
    """Lock out the worker until the transaction ends, because the demonstration acts at times in the past."""
    tables = ", ".join(connection.ops.quote_name(model._meta.db_table) for model in (Signal, Notification))
    execute(f"LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE")
    waiting = (
        Signal.objects.filter(failed=None),
        Alert.objects.filter(status=AlertStatus.TRACKING.value, opens__lte=now),
        Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=now),
    )
    if any(rows.exists() for rows in waiting):
        raise WorkWaitsError
