"""Shapes of outages in two fleets, and the messages that each receiver gets with grouping.

The services, the worker's steps and PostgreSQL are real; time is simulated, and the outside is replaced.
The table of docs/grouping.md has a row for each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from django.db.models import Min

from accesslist.models import Project
from alerting.insight.dry_runs import dry_run
from alerting.models import Alert, AlertConfig, Incident, Notification
from automation.addresses import Address
from automation.choices import HostType
from automation.reports.rules import HostReport
from integrations.choices import MessageKind
from tests.factories.alerting import EMAIL, WEBHOOK, by_column, make_config
from tests.factories.automation import ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
WAIT = 15
PAGER: Mapping[str, Any] = {
    "typeName": "PAGER_SERVICE",
    "serviceKey": "0123456789abcdef0123456789abcdef",
    "delayMin": 0,
}
RECEIVERS = (WEBHOOK, PAGER, EMAIL)
LETTERS: Mapping[MessageKind, str] = {MessageKind.OPEN: "F", MessageKind.UPDATE: "U", MessageKind.CLOSE: "E"}
"""First message, update, end."""


@dataclass(frozen=True, slots=True)
class SimulatedHost:
    """A host of the fleet: its address, the agent that reports it, and what it belongs to."""

    machine: str
    port: int
    agent: str
    replica_set: str | None = None
    shard: str | None = None
    cluster: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


def region(name: str) -> Iterator[SimulatedHost]:
    """250 hosts that one agent reports: a cluster, replica sets that share machines, and lone hosts."""
    for number in range(30):
        shard = f"{name}-shard{number // 3}"
        yield SimulatedHost(f"{name}-c{number}", 27017, name, shard, shard, f"{name}-cluster")
    for machine in range(30):
        for port in range(4):
            rs = f"{name}-rs{machine // 3 * 4 + port}"
            yield SimulatedHost(f"{name}-m{machine}", 27017 + port, name, rs)
    for number in range(100):
        yield SimulatedHost(f"{name}-h{number}", 27017, name)


def labelled_region(name: str) -> list[SimulatedHost]:
    """The same hosts, reported by five agents, which give them a label of the region and a label of all."""
    labels = {"env": "production", "region": name}
    return [
        replace(host, agent=f"{name}-agent{number // 50}", labels=labels)
        for number, host in enumerate(region(name))
    ]


FLEET = [host for number in range(4) for host in region(f"r{number}")]
LABELLED_FLEET = [host for name in ("eu", "us", "ap", "sa") for host in labelled_region(name)]
Step = tuple[float, Sequence[SimulatedHost], bool]
"""At this second, these hosts are down (False) or up (True)."""


def of(**wanted: Any) -> list[SimulatedHost]:
    fleet = [*FLEET, *LABELLED_FLEET]
    return [host for host in fleet if all(getattr(host, name) == value for name, value in wanted.items())]


def together(hosts: Sequence[SimulatedHost], *, at: float = 0, until: float = 600) -> list[Step]:
    """The hosts go and come together."""
    return [(at, hosts, False), (until, hosts, True)]


def one_by_one(
    hosts: Sequence[SimulatedHost], every: float, *, back: float = 600, back_every: float = 0
) -> list[Step]:
    down: list[Step] = [(number * every, [host], False) for number, host in enumerate(hosts)]
    return down + [(back + number * back_every, [host], True) for number, host in enumerate(hosts)]


def flapping(host: SimulatedHost, every: float, until: float) -> list[Step]:
    times = int(until / every)
    return [(number * every, [host], bool(number % 2)) for number in range(times // 2 * 2)]


LONE, OTHER = of(machine="r0-h0"), of(machine="r1-h1")
MACHINE = of(machine="r0-m0")
SET, NEXT_SET = of(replica_set="r0-rs0"), of(replica_set="r0-rs1")
SHARD = of(shard="r0-shard0")
CLUSTER = of(cluster="r0-cluster")
REGION = of(agent="r0")
LABELLED_REGION, OTHER_LABELLED_REGION = labelled_region("eu"), labelled_region("us")
AGENTS = [LABELLED_REGION[first:][:50] for first in range(0, 250, 50)]
RACK = [host for number in range(3) for host in of(machine=f"r0-m{number}")]


@dataclass(frozen=True, slots=True)
class Shape:
    """An outage: its alerts and steps, the messages each receiver gets, and the number of incidents."""

    words: str
    alerts: int
    steps: Sequence[Step]
    messages: str
    incidents: int = 1
    fleet: Sequence[SimulatedHost] = field(default_factory=lambda: FLEET)

    @property
    def row(self) -> str:
        """The row of docs/grouping.md."""
        cells = (self.words, self.alerts, self.incidents, len(self.messages), self.messages.count("U"))
        return f"| {' | '.join(map(str, cells))} |"


SHAPES = (
    Shape("one host", 1, together(LONE), "FE"),
    Shape("one host, back within the wait", 1, together(LONE, until=10), ""),
    Shape("a machine with four hosts", 4, together(MACHINE), "FE"),
    Shape("a machine, its hosts one after another in 40 s", 4, one_by_one(MACHINE, 13), "FUE"),
    Shape("a replica set", 3, together(SET), "FE"),
    Shape("a replica set, a member each minute", 3, one_by_one(SET, 60), "FUUE"),
    Shape("a shard", 3, together(SHARD), "FE"),
    Shape("a cluster of ten shards", 30, together(CLUSTER), "FE"),
    Shape(
        "a cluster, a shard every 30 s",
        30,
        [
            *((30 * number, of(shard=f"r0-shard{number}"), False) for number in range(10)),
            (900, CLUSTER, True),
        ],
        "FUUUUE",
    ),
    Shape(
        "half of a cluster, recovering host by host", 15, one_by_one(CLUSTER[:15], 0, back_every=30), "FUE"
    ),
    Shape("a rack of three machines", 12, together(RACK), "FE"),
    Shape("a region with 250 hosts", 250, together(REGION), "FE"),
    Shape(
        "a region, 50 hosts every 10 s",
        250,
        [*((10 * number, REGION[50 * number :][:50], False) for number in range(5)), (900, REGION, True)],
        "FUUE",
    ),
    Shape(
        "the agent's network fails twice",
        500,
        [*together(REGION), *together(REGION, at=1200, until=1500)],
        "FEFE",
        2,
    ),
    Shape("the whole fleet", 1000, together(FLEET, until=900), "FFFFEEEE", 4),
    Shape("one host flaps every 5 s", 12, flapping(LONE[0], 5, 120), "", 12),
    Shape(
        "a host flaps while its machine is down",
        9,
        [
            (0, MACHINE, False),
            *((20 + at, hosts, not up) for at, hosts, up in flapping(MACHINE[0], 10, 100)),
            (600, MACHINE, True),
        ],
        "FE",
    ),
    Shape(
        "the root recovers first",
        5,
        [(0, [*MACHINE, SET[1]], False), (300, MACHINE, True), (600, [SET[1]], True)],
        "FUE",
    ),
    Shape("two replica sets on the same machines", 6, together([*SET, *NEXT_SET]), "FE"),
    Shape("two hosts in different regions", 2, together([*LONE, *OTHER]), "FFEE", 2),
    *(
        replace(shape, fleet=LABELLED_FLEET)
        for shape in (
            Shape("a labelled region with five agents", 250, together(LABELLED_REGION), "FE"),
            Shape(
                "a labelled region, an agent every 5 s",
                250,
                [
                    *((5 * number, hosts, False) for number, hosts in enumerate(AGENTS)),
                    (600, LABELLED_REGION, True),
                ],
                "FFEE",
                2,
            ),
            Shape(
                "two hosts in different labelled regions",
                2,
                together([LABELLED_REGION[249], OTHER_LABELLED_REGION[249]]),
                "FFEE",
                2,
            ),
            Shape(
                "two labelled regions", 500, together([*LABELLED_REGION, *OTHER_LABELLED_REGION]), "FFEE", 2
            ),
        )
    ),
)


@dataclass(frozen=True, slots=True)
class OutageOutcome:
    """What an outage led to: the alerts, the incidents, and the messages of each receiver in order."""

    alerts: int
    incidents: int
    messages: Mapping[str, str]


DOCUMENT: Mapping[str, Any] = {
    "eventTypeName": "HOST_DOWN",
    "notifications": RECEIVERS,
    "grouping": "TOPOLOGY",
    "groupWaitSec": WAIT,
}


def prepare(
    project: Project, fleet: Sequence[SimulatedHost], *, at: datetime = START - timedelta(minutes=1)
) -> AlertConfig:
    """Give the project the fleet, and a configuration that groups."""
    config = make_config(project, **DOCUMENT)
    report(project, fleet, up=True, at=at)
    return config


def report(project: Project, hosts: Iterable[SimulatedHost], *, up: bool, at: datetime) -> None:
    for agent, group in groupby(sorted(hosts, key=lambda host: host.agent), lambda host: host.agent):
        reported = list(group)
        reports = [_report(host, up) for host in reported]
        ingest(project, *reports, agent=agent, labels=reported[0].labels or None, now=at)
    evaluate(at)


def _report(host: SimulatedHost, up: bool) -> HostReport:
    return HostReport(
        address=Address(host.machine, host.port),
        type_name=HostType.STANDALONE,
        reachable=up,
        replica_set_name=host.replica_set,
        shard_name=host.shard,
        cluster_name=host.cluster,
    )


def run(project: Project, config: AlertConfig, shape: Shape, outside: Outside) -> OutageOutcome:
    """Let the outage happen; messages are sent when they are due."""
    outside.sent.clear()
    for seconds, hosts, up in sorted(shape.steps, key=lambda step: step[0]):
        at = START + timedelta(seconds=seconds)
        deliver_until(at)
        report(project, hosts, up=up, at=at)
    deliver_until(at + timedelta(minutes=2))
    return OutageOutcome(
        Alert.objects.filter(config_id=config.id).count(),
        Incident.objects.filter(config_id=config.id).count(),
        _letters((channel, message.kind) for channel, _, message in outside.sent),
    )


def dry_outcome(project: Project) -> OutageOutcome:
    """The outcome of a dry run of the same configuration over what the outage left in the record."""
    values, end = by_column(DOCUMENT), START + timedelta(hours=1)
    found = dry_run(group_id=project.id, values=values, start=START - timedelta(seconds=1), end=end)
    sent = [(each.sent, each.receiver.channel or "", each.kind) for each in found.all_messages if each.sent]
    sent.sort(key=lambda each: each[0])
    return OutageOutcome(
        len(found.alerts), len(set(found.leads)), _letters((channel, kind) for _, channel, kind in sent)
    )


def _letters(sent: Iterable[tuple[str, MessageKind]]) -> Mapping[str, str]:
    messages: dict[str, str] = {}
    for channel, kind in sent:
        messages[channel] = messages.get(channel, "") + LETTERS[kind]
    return messages


def deliver_until(end: datetime) -> None:
    waiting = Notification.objects.filter(status="PENDING", due__lte=end)
    while (due := waiting.aggregate(due=Min("due"))["due"]) is not None:
        deliver_all(due)
