"""The hosts of the demonstration, their incidents, and the reports of their agents. Pure."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from automation.addresses import Address
from automation.choices import AgentType, HostType
from automation.metrics import Metric
from automation.reports.rules import HostReport, ProcessReport, Report, Samples

DAY = 24 * 60
PORT = 27017
VERSION, NEWER_VERSION = "8.0.4", "8.0.5"
_GRAIN = 5
_CLIMB = 20
_ROUND = 120
_RUNNING_SINCE = 40 * DAY
_GB = 2**30


@dataclass(frozen=True, slots=True)
class HostSpec:
    """A host on a quiet day; `load` is a factor, 1 is usual."""

    group: str
    hostname: str
    type_name: HostType
    replica_set: str | None = None
    cluster: str | None = None
    shard: str | None = None
    load: float = 1.0

    @property
    def name(self) -> str:
        """Without the domain."""
        return self.hostname.partition(".")[0]


def _replica_set(
    group: str, name: str, domain: str, shard: str | None = None, *, arbiter: bool = False
) -> Iterator[HostSpec]:
    primary, secondary = (
        (HostType.SHARD_PRIMARY, HostType.SHARD_SECONDARY)
        if shard
        else (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY)
    )
    types = (primary, secondary, HostType.REPLICA_ARBITER if arbiter else secondary)
    cluster = "pay" if shard else None
    for letter, type_name, load in zip("abc", types, (1.2, 0.6, 0.5), strict=True):
        yield HostSpec(group, f"{name}-{letter}.{domain}", type_name, name, cluster, shard, load)


HOSTS = (
    *_replica_set("payments", "pay-s0", "harbour.example", "s0"),
    *_replica_set("payments", "pay-s1", "harbour.example", "s1"),
    HostSpec("payments", "pay-config-a.harbour.example", HostType.SHARD_CONFIG, cluster="pay", load=0.2),
    HostSpec("payments", "pay-router-1.harbour.example", HostType.SHARD_MONGOS, cluster="pay"),
    *_replica_set("customer-accounts", "accounts", "harbour.example"),
    *_replica_set("customer-accounts", "sessions", "harbour.example", arbiter=True),
    *_replica_set("catalogue", "cat", "brightside.example"),
    *_replica_set("recommendations", "rec", "brightside.example"),
    HostSpec("recommendations", "rec-sandbox.brightside.example", HostType.STANDALONE, load=0.3),
)


@dataclass(frozen=True, slots=True)
class DemoAgent:
    """An agent; its last report was `heartbeat_age` minutes ago."""

    group: str
    hostname: str
    agent_type: AgentType = AgentType.MONITORING
    heartbeat_age: int = 0


AGENTS = (
    DemoAgent("payments", "agent-1.harbour.example"),
    DemoAgent("customer-accounts", "agent-2.harbour.example"),
    DemoAgent("catalogue", "agent-1.brightside.example"),
    DemoAgent("recommendations", "agent-2.brightside.example"),
    DemoAgent("customer-accounts", "backup-1.harbour.example", AgentType.BACKUP, heartbeat_age=95),
    DemoAgent("catalogue", "automation-1.brightside.example", AgentType.AUTOMATION),
)


@dataclass(frozen=True, slots=True)
class Phase:
    """A host differs from a quiet day, from `begin` to `end`, or until now."""

    host: str
    begin: int
    end: int = -1
    reachable: bool = True
    type_name: HostType | None = None
    version: str | None = None


PHASES = (
    # A shard loses its primary. It has no primary for ten minutes, and gets the old primary back later.
    Phase("pay-s1-a", 1200, 1140, reachable=False),
    Phase("pay-s1-a", 1140, 900, type_name=HostType.SHARD_SECONDARY),
    Phase("pay-s1-b", 1190, 900, type_name=HostType.SHARD_PRIMARY),
    # An upgrade, in a maintenance window.
    Phase("cat-c", 330, 320, reachable=False),
    Phase("cat-c", 320, version=NEWER_VERSION),
    Phase("rec-c", 50, version=NEWER_VERSION),
    # Still down. The second host has a maintenance window.
    Phase("accounts-c", 75, reachable=False),
    Phase("rec-b", 45, reachable=False),
    Phase("sessions-b", 10, reachable=False),
)
# Host, metric → begin, end, and peak in the base unit. A surge climbs, and falls, for `_CLIMB` minutes.
SURGES: Mapping[tuple[str, Metric], tuple[int, int, float]] = {
    ("pay-s0-a", Metric.CONNECTIONS): (95, -DAY, 1180),
    ("accounts-a", Metric.CACHE_USED_BYTES): (560, 370, 13.1 * _GB),
    ("cat-a", Metric.CURSORS_TOTAL_OPEN): (480, 250, 910),
    ("accounts-b", Metric.OP_EXECUTION_TIME_READS): (75, -DAY, 88),
    ("rec-c", Metric.OPLOG_SLAVE_LAG_MASTER_TIME): (25, -DAY, 140),
}
_GROUPS = {host.name: host.group for host in HOSTS}
_TURNS = frozenset(
    {(_GROUPS[each.host], ago) for each in PHASES for ago in (each.begin, each.end)}
    | {
        (_GROUPS[host], begin - _CLIMB - wait)
        for (host, _), (begin, _, _) in SURGES.items()
        for wait in (0, 10)
    }
)
MOMENTS = frozenset({*range(0, DAY + 1, _ROUND), *(ago for _, ago in _TURNS if ago >= 0)})
"""When agents report: in rounds, and when something begins or ends."""

# On a quiet day with load 1: the value, and the shares by which the time of day and chance change it.
_USUAL: Mapping[Metric, tuple[float, float, float]] = {
    Metric.CONNECTIONS: (380, 0.45, 0.06),
    Metric.OPCOUNTER_QUERY: (1400, 0.6, 0.12),
    Metric.CURSORS_TOTAL_OPEN: (120, 0.3, 0.15),
    Metric.CACHE_USED_BYTES: (8.2 * _GB, 0.1, 0.02),
    Metric.OP_EXECUTION_TIME_READS: (9, 0.35, 0.2),
    Metric.SYSTEM_NORMALIZED_CPU_USER: (28, 0.5, 0.15),
    Metric.OPLOG_SLAVE_LAG_MASTER_TIME: (4, 0.3, 0.5),
}
_LAGGING = (HostType.REPLICA_SECONDARY, HostType.SHARD_SECONDARY)


def reports_at(agent: DemoAgent, ago: int) -> bool:
    """Whether the agent reports at this one of `MOMENTS`."""
    watches = agent.agent_type is AgentType.MONITORING
    return ago >= agent.heartbeat_age and (ago % _ROUND == 0 or (watches and (agent.group, ago) in _TURNS))


def report(
    agent: DemoAgent, ago: int, last: int, *, now: datetime, processes: Sequence[ProcessReport] = ()
) -> Report:
    """The report of `ago` minutes before `now`, with the samples since the `last`, two hours at most."""
    watches = agent.agent_type is AgentType.MONITORING
    times = range(min(last, ago + _ROUND) - _GRAIN, ago - 1, -_GRAIN)
    return Report(
        agent_type=agent.agent_type,
        hostname=agent.hostname,
        version="13.2.0",
        hosts=[
            _host_report(host, ago, times, now) for host in HOSTS if watches and host.group == agent.group
        ],
        events=[],
        processes=processes if agent.agent_type is AgentType.AUTOMATION else (),
        demonstration=True,
    )


def _host_report(host: HostSpec, ago: int, times: Sequence[int], now: datetime) -> HostReport:
    phases = [each for each in PHASES if each.host == host.name]
    current = [each for each in phases if each.end < ago <= each.begin]
    reachable = all(each.reachable for each in current)
    stops = [each.end for each in phases if not each.reachable and each.end >= ago]
    started = min(stops, default=_RUNNING_SINCE)
    return HostReport(
        address=Address(host.hostname, PORT),
        type_name=next((each.type_name for each in current if each.type_name), host.type_name),
        reachable=reachable,
        version=next((each.version for each in current if each.version), VERSION),
        replica_set_name=host.replica_set,
        cluster_name=host.cluster,
        shard_name=host.shard,
        uptime_seconds=(started - ago) * 60 + 30 if reachable else None,
        samples=_samples(host, times, now) if reachable else {},
    )


def _samples(host: HostSpec, times: Sequence[int], now: datetime) -> Samples:
    metrics = [
        each
        for each in _USUAL
        if each is not Metric.OPLOG_SLAVE_LAG_MASTER_TIME or host.type_name in _LAGGING
    ]
    moments = [(ago, now - timedelta(minutes=ago)) for ago in times]
    return {each: [(moment, _value(host, each, ago, moment)) for ago, moment in moments] for each in metrics}


def _value(host: HostSpec, metric: Metric, ago: int, moment: datetime) -> float:
    """The tide of the day, which is highest at 14:00, a surge, and noise that is the same in each run."""
    base, tide, noise = _USUAL[metric]
    turn = math.cos((moment.hour * 60 + moment.minute - 14 * 60) / DAY * 2 * math.pi)
    value = base * host.load * (1 + tide * turn)
    if surge := SURGES.get((host.name, metric)):
        begin, end, peak = surge
        share = max(0.0, min(1.0, (begin - ago) / _CLIMB, (ago - end) / _CLIMB))
        value += (peak - value) * share
    chance = random.Random(f"{host.name} {metric} {ago}").uniform(-1, 1)  # noqa: S311 - a picture, no secret
    return round(value * (1 + noise * chance / 2), 0 if base > 10 else 1)
