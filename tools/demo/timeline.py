"""What happens in the demonstration: the setup, three weeks before the end, and the last day."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection, transaction

from accesslist.models import User
from accesslist.rules.usernames import username_key
from accesslist.services.keys import NewKey
from alerting.choices import AlertStatus, NotificationStatus
from alerting.delivery import DeliveryAttempt, decide, record
from alerting.evaluation import evaluate_signals, open_tracked
from alerting.models import Alert, Notification
from alerting.rules.destination_health import PROBE_EVERY
from alerting.services.claims import claim
from alerting.services.configs import alert_config_set_enabled
from automation.reports import ProcessReport
from automation.rules.heartbeats import HEARTBEAT_TIMEOUT
from automation.services.agents import clocks_restart, group_timeouts_mark
from automation.services.ingest import report_ingest
from events.models import Signal
from integrations.choices import DeliveryFault, DeliveryStatus
from integrations.outcome import Outcome
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
        record(ended, now=at)
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
_WEEK = 7 * DAY
OWNER = "demo"
_INES, _MIRA, _TOMAS = "ines@audit.example", "mira@harbour.example", "tomas@harbour.example"
_LENA, _SAMIR = "lena@harbour.example", "samir@brightside.example"
_DEPLOYS = "deployment pipeline"
_SERVICE_KEY = "0123456789abcdef0123456789abcdef"

# A worker that runs for an hour after the demonstration sends no reminder: reminders are a week apart.
_GROUP = {"typeName": "GROUP", "emailEnabled": True, "smsEnabled": False, "intervalMin": _WEEK}
_ADMIN = {"typeName": "ADMIN", "intervalMin": _WEEK}
_WEBHOOK = {"typeName": "WEBHOOK", "intervalMin": _WEEK}
_TEAM_CHAT = {"typeName": "TEAM_CHAT_SERVICE", "intervalMin": _WEEK}
_FAILING = {**_WEBHOOK, "webhookUrl": f"https://{FAILING_RECEIVER}/in/shift"}


def _mail(address: str, delay: int = 0) -> Mapping[str, Any]:
    return {"typeName": "EMAIL", "emailAddress": address, "delayMin": delay, "intervalMin": _WEEK}


def _above(metric: str, threshold: float, units: str = "RAW") -> Mapping[str, Any]:
    limits = {"mode": "AVERAGE", "operator": "GREATER_THAN", "threshold": threshold, "units": units}
    return {"metricThreshold": {"metricName": metric, **limits}}


def set_up(world: World) -> None:
    """Create projects, people, keys, integrations and alert configurations."""
    world.add_project("payments", "Harbour Bank", ("production", "pci"))
    world.add_project("customer-accounts", "Harbour Bank", ("production",))
    world.add_project("catalogue", "Brightside Media", ("production", "media"))
    world.add_project("recommendations", "Brightside Media", ("staging", "media"))
    world.add_user(_INES, "Ines Moreau", "192.0.2.41", Role.GLOBAL_READ_ONLY)
    world.add_user(_MIRA, "Mira Lindqvist", "198.51.100.17", Role.ORG_OWNER, ["Harbour Bank"])
    world.add_user(
        _TOMAS, "Tomas Oduya", "198.51.100.23", Role.GROUP_MONITORING_ADMIN, ["payments", "customer-accounts"]
    )
    world.add_user(_LENA, "Lena Brandt", "203.0.113.9", Role.GROUP_READ_ONLY, ["payments"])
    world.add_user(
        _SAMIR, "Samir Haddad", "198.51.100.77", Role.GROUP_OWNER, ["catalogue", "recommendations"]
    )
    on_call, admin = "payments on-call", Role.GROUP_MONITORING_ADMIN
    world.add_team(on_call, "Harbour Bank", "payments", admin, [_MIRA, _TOMAS])
    runners = {"203.0.113.56/29": "build runners"}
    world.add_key(_DEPLOYS, "203.0.113.60", Role.GROUP_OWNER, ["catalogue"], runners)
    for group in world.groups:
        world.add_key(_agents_key(group), _AGENTS_ADDRESS, Role.GROUP_AGENT, [group])
    _add_integrations(world)
    _add_configs(world, {"typeName": "TEAM", "teamId": world.teams[on_call], "intervalMin": _WEEK})
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


def _add_configs(world: World, team: Mapping[str, Any]) -> None:
    metric, harbour, brightside = (
        "OUTSIDE_METRIC_THRESHOLD",
        "oncall@harbour.example",
        "oncall@brightside.example",
    )
    add = partial(world.add_config, _MIRA, "payments")
    add("HOST_DOWN", {**team, "emailEnabled": True}, _WEBHOOK)
    add("NO_PRIMARY", _mail(harbour))
    add(metric, _GROUP, _WEBHOOK, **_above("CONNECTIONS", 900))
    add = partial(world.add_config, _TOMAS, "customer-accounts")
    add("HOST_DOWN", _mail(harbour), _FAILING)
    add("BACKUP_AGENT_DOWN", _mail(harbour))
    add(metric, _TEAM_CHAT, **_above("CACHE_USED_BYTES", 12, "GIGABYTES"))
    add(metric, _FAILING, **_above("OP_EXECUTION_TIME_READS", 40, "MILLISECONDS"))
    add = partial(world.add_config, _SAMIR, "catalogue")
    add("HOST_DOWN", _mail(brightside), matchers=[_starts_with("cat-")])
    add("AUTOMATION_CONFIG_PUBLISHED_AUDIT", _mail(brightside))
    add(metric, _GROUP, **_above("CURSORS_TOTAL_OPEN", 500))
    add = partial(world.add_config, _SAMIR, "recommendations")
    add("HOST_DOWN", _mail(brightside))
    add("VERSION_BEHIND", _mail(brightside, _WEEK))
    add(metric, _mail(brightside, DAY), **_above("OPLOG_SLAVE_LAG_MASTER_TIME", 1, "MINUTES"))
    add = partial(world.add_config, OWNER, None, forAllGroups=True)
    add("MULTIPLE_PRIMARIES", _ADMIN)
    add("AUTOMATION_AGENT_DOWN", _ADMIN, tags=["production"])


def _starts_with(prefix: str) -> Mapping[str, str]:
    return {"fieldName": "HOSTNAME", "operator": "STARTS_WITH", "value": prefix}


def _find_timeouts(world: World) -> None:
    group_id = world.groups["customer-accounts"].id
    group_timeouts_mark(group_id=group_id, limit=world.moment - HEARTBEAT_TIMEOUT, now=world.moment)


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
    deliver_until(world.now)


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
        "auth": {"autoUser": "ops-agent", "autoPwd": "password of the demonstration"},
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


UNWATCHED = timedelta(days=1)
"""Heartbeat timeouts are off for so long, unless another agent reports: these agents have stopped."""
_SET_UP = timedelta(days=21)


class AlreadyFilledError(Exception):
    """The demonstration is there."""


class WorkWaitsError(Exception):
    """The worker has work that the demonstration would mistake for its own."""


@dataclass(frozen=True, slots=True)
class FilledDemo:
    """What is shown only once: the password of each user, and the owner's key."""

    passwords: Mapping[str, str]
    key: NewKey


@transaction.atomic
def demo_fill(*, now: datetime) -> FilledDemo:
    """Add three weeks up to `now`, most of all the last day, to whatever is there.

    Raises: AlreadyFilledError, WorkWaitsError; ApiError, if a name of the demonstration is in use.
    """
    if User.objects.filter(username_key=username_key(OWNER)).exists():
        raise AlreadyFilledError
    _exclude_worker(now)
    world = World(now=now.replace(microsecond=0), moment=now - _SET_UP)
    world.add_user(OWNER, "Demo Owner", "192.0.2.5", Role.GLOBAL_OWNER)
    world.owner = world.actors[OWNER]
    key = world.add_key("Key of demo", "192.0.2.5", Role.GLOBAL_OWNER, [""])
    set_up(world)
    play_day(world)
    clocks_restart(now=now + UNWATCHED)
    return FilledDemo(world.passwords, key)


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
