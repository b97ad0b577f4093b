"""What an agent of the demonstration reports at a moment, out of the tables. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from alerting.demo.curves import CLIMB, GRAIN, Curves
from alerting.demo.tables.fleet import HOSTS, PORT, VERSION, AgentSpec, HostSpec
from alerting.demo.tables.incidents import PHASES, SEEN, SURGES, Phase, Seen
from automation.choices import AgentType
from automation.metrics import Metric
from automation.reports import Address, EventReport, HostReport, ProcessReport, Report, Samples

_RUNNING_SINCE = 40 * 24 * 60
"""In minutes: what did not stop meanwhile has been running for so long."""
_GROWING = 42 * 2**30


class Reporter:
    """One agent; what it measures goes on from report to report."""

    def __init__(self, agent: AgentSpec, end: datetime) -> None:
        self._agent, self._end = agent, end
        watched = agent.group if agent.agent_type is AgentType.MONITORING else None
        self._hosts = [(host, Curves(host, end)) for host in HOSTS if host.group == watched]

    def report(self, moment: datetime, *, since: datetime, processes: Sequence[ProcessReport] = ()) -> Report:
        """What it says at the moment, with what was measured after `since`."""
        ago = round((self._end - moment).total_seconds() / 60)
        times = _moments(since, moment)
        return Report(
            agent_type=self._agent.agent_type,
            hostname=self._agent.hostname,
            version=self._agent.version,
            hosts=[_host(host, curves.samples(times), ago, moment) for host, curves in self._hosts],
            events=[self._event(one) for one in SEEN if one.ago == ago and self._saw(one)],
            processes=processes,
        )

    def _saw(self, one: Seen) -> bool:
        return self._agent.agent_type is AgentType.MONITORING and one.group == self._agent.group

    def _event(self, one: Seen) -> EventReport:
        names = (host.hostname for host, _ in self._hosts if one.host and short(host) == one.host)
        hostname = next(names, None)
        port = PORT if hostname else None
        return EventReport(event_type=one.event_type, hostname=hostname, port=port, **one.facts)


def short(host: HostSpec) -> str:
    """Its name without the domain, as the tables have it."""
    return host.hostname.partition(".")[0]


def edges(group: str) -> set[int]:
    """When, in minutes ago, something begins or ends that the monitoring agent of the project sees."""
    names = {short(host) for host in HOSTS if host.group == group}
    phases = [one for one in PHASES if one.host in names]
    turns = {one.begin for one in phases} | {one.end for one in phases if one.end >= 0}
    risen = {one.begin - wait for one in SURGES if one.host in names for wait in (CLIMB, CLIMB + 10)}
    return turns | risen | {one.ago for one in SEEN if one.group == group}


def _moments(since: datetime, until: datetime) -> list[datetime]:
    found = []
    while until > since:
        found.append(until)
        until -= GRAIN
    return found[::-1]


def _host(host: HostSpec, samples: Samples, ago: int, moment: datetime) -> HostReport:
    phases = [one for one in PHASES if one.host == short(host) and one.end < ago <= one.begin]
    reachable = all(one.reachable for one in phases)
    types = [one.type_name for one in phases if one.type_name]
    return HostReport(
        address=Address(host.hostname, PORT),
        type_name=types[-1] if types else host.type_name,
        reachable=reachable,
        version=next((one.version for one in phases if one.version), VERSION),
        replica_set_name=host.replica_set,
        cluster_name=host.cluster,
        shard_name=host.shard,
        uptime_seconds=_uptime(host, ago) if reachable else None,
        databases=_databases(host, ago, moment) if reachable else None,
        samples=samples if reachable else {},
    )


def _uptime(host: HostSpec, ago: int) -> int:
    """Since it was last down."""
    stops: Iterable[Phase] = (one for one in PHASES if one.host == short(host) and not one.reachable)
    started = min((one.end for one in stops if one.end >= ago), default=_RUNNING_SINCE)
    return round(timedelta(minutes=started - ago).total_seconds()) + 30


def _databases(host: HostSpec, ago: int, moment: datetime) -> dict[str, Samples]:
    size = _GROWING * host.load * (1 - ago / 100_000)
    return {
        name: {Metric.DB_DATA_SIZE_TOTAL: [(moment, round(size / 2**place))]}
        for place, name in enumerate(host.databases)
    }
