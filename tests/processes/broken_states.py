"""Broken states of real servers: what the agent reports of each, and which presets open.

`python -m tests.processes.states_page` writes docs/reference/broken-states.md from the states that tests try.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from alerting.configs.presets import Preset
from alerting.configs.rules import MetricThreshold, ThresholdOperator
from alerting.engine.observations import Observation, of_host, of_replica_set
from alerting.engine.transition import AlertAction, ConfigView, step
from automation.addresses import Address
from automation.agent.engine import HostReading, Sample, ServerAddress
from automation.choices import HostType
from automation.hosts.rules import (
    KnownType,
    Measuring,
    Members,
    MemberTally,
    measuring_after,
    tally_after,
    type_after,
)
from automation.metrics import Engine, Metric, MetricKind, MetricSubject, base_unit
from automation.reports.rules import HostReport
from automation.units import Unit

OF_MACHINES = frozenset({MetricSubject.CPU, MetricSubject.MACHINE, MetricSubject.DISK})
"""What servers share with all that runs on the machine of the tests."""

NOT_OF_STATES = frozenset(
    {
        Preset.VERSION_SUPPORT,
        Preset.CERTIFICATE,
        *(preset for preset in Preset if preset.spec.runbook == "overload"),
    }
)
"""Presets that open in other states: the tests have old versions, certificates of a day, and busy servers."""

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_ROUND = timedelta(minutes=1)
_HELD_ROUNDS = 6
"""For longer than a host can be reachable without a measurement."""
_GROWN = timedelta(hours=2)
"""How much an age grows while a state lasts: more than the threshold of any preset."""


@dataclass(frozen=True)
class Check:
    """What a fact of a report has to be; `words` follow the name of the fact on the page."""

    words: str
    holds: Callable[[Any], bool]

    def __call__(self, found: object) -> bool:
        """Whether the fact is as expected."""
        return self.holds(found)


def exactly(expected: object) -> Check:
    return Check(f"= {expected}", lambda found: bool(found == expected))


def says(part: str) -> Check:
    return Check(part, lambda found: found is not None and part in found)


NOTHING = Check("none", lambda found: not found)


def above(limit: float) -> Check:
    return Check(f"> {limit:g}", lambda found: found is not None and found > limit)


def below(limit: float) -> Check:
    return Check(f"< {limit:g}", lambda found: found is not None and found < limit)


def between(low: float, high: float) -> Check:
    """More than `low` and at most `high`."""
    return Check(f"> {low:g} and ≤ {high:g}", lambda found: found is not None and low < found <= high)


KNOWN = Check("known", lambda found: found is not None)

NOT_MEASURED: Mapping[str, Check] = {"reachable": exactly(True), "reported": NOTHING}
"""The agent reaches the server and measures nothing. `reported` are the metrics that count as reported."""


@dataclass(frozen=True, kw_only=True)
class BrokenState:
    """A state of servers that the agent watches.

    `broken_by` is what brings the state about, as Markdown; empty for servers that are not broken. `facts`
    are checks of the report of a server: `reachable`, `type`, `set`, `problem`, `reported`, and metrics.
    `raises` are all presets that open while the state lasts, of any server of the set. `grows` are the
    metrics that grow with the time, without end. `shown` says why a state without an alert needs no action,
    or where it is shown.
    """

    engine: ClassVar[Engine]

    broken_by: str = ""
    facts: Mapping[str, Check] = field(default_factory=dict)
    raises: Collection[Preset] = ()
    grows: Collection[Metric] = ()
    shown: str = ""

    @property
    def is_unmeasured(self) -> bool:
        """Whether the agent reaches the server and measures nothing."""
        return NOT_MEASURED.items() <= self.facts.items()

    def unmet(self, facts: Mapping[str, Any]) -> list[tuple[str, object]]:
        """The facts that are not as they have to be."""
        found = [(name, facts.get(name)) for name in self.facts]
        return [(name, value) for name, value in found if not self.facts[name](value)]

    def unexpected(self, rounds: Sequence[Sequence[HostReading]]) -> set[Preset]:
        """The presets that the rounds raise and the state does not, and the reverse."""
        raised = raised_by(rounds, self.grows)
        return (raised ^ set(self.raises)) - (NOT_OF_STATES - set(self.raises))


def raised_by(rounds: Sequence[Sequence[HostReading]], grows: Collection[Metric] = ()) -> set[Preset]:
    """The presets that open after these rounds, if the state of the last round lasts.

    A round of the agent is a minute. The platform's own rules decide. The metrics that grow and grew between
    the last two rounds go on to grow. A rate is reported once, in the round after the increase.
    """
    fleet = _ReportedFleet()
    rates: set[Preset] = set()
    for number, readings in enumerate(rounds):
        fleet.take(readings, _BEGAN + number * _ROUND)
        rates |= {preset for preset in fleet.met() if _is_rate(preset)}
    earlier = [reading for readings in rounds[-2:-1] for reading in readings]
    held = [_grown(reading, earlier, grows) for reading in rounds[-1]]
    for number in range(_HELD_ROUNDS):
        fleet.take(held, _BEGAN + (len(rounds) + number) * _ROUND)
    return rates | fleet.met()


def is_age(threshold: MetricThreshold) -> bool:
    """Whether the value is a time that grows as long as the condition lasts."""
    is_time = base_unit(threshold.metric) in {Unit.SECONDS, Unit.MILLISECONDS}
    return is_time and threshold.operator is ThresholdOperator.GREATER_THAN


def _is_rate(preset: Preset) -> bool:
    threshold = preset.spec.metric_threshold
    return threshold is not None and threshold.metric.spec.kind is MetricKind.RATE


def _grown(reading: HostReading, before: Sequence[HostReading], grows: Collection[Metric]) -> HostReading:
    """The reading after a long time, if these metrics grew since the round before."""
    earlier = {
        sample.metric: sample.number
        for other in before
        if other.address == reading.address
        for sample in other.samples
    }

    def grown(sample: Sample) -> Sample:
        if sample.metric not in grows or sample.number <= earlier.get(sample.metric, sample.number):
            return sample
        return sample._replace(number=sample.number + _GROWN.total_seconds())

    return replace(reading, samples=[grown(sample) for sample in reading.samples])


@dataclass
class _KnownHost:
    """What the platform knows of a host."""

    report: HostReport
    type: KnownType
    measuring: Measuring = field(default_factory=Measuring)
    replica_set: str | None = None


class _ReportedFleet:
    """The hosts and replica sets as the platform knows them after the rounds of an agent."""

    def __init__(self) -> None:
        self._hosts: dict[ServerAddress, _KnownHost] = {}
        self._sets: dict[str, MemberTally] = {}

    def take(self, readings: Sequence[HostReading], observed: datetime) -> None:
        """Take the report of a round."""
        for reading in readings:
            report = _report(reading)
            host = self._hosts.setdefault(reading.address, _KnownHost(report, KnownType(HostType.NO_DATA)))
            host.report, host.type = report, type_after(host.type, report)
            host.measuring = measuring_after(
                host.measuring, report, type_name=host.type.type_name, observed=observed
            )
            # The agent assumes where an unreachable host belongs, which does not replace what is known.
            if reading.replica_set and (reading.reachable or host.replica_set is None):
                host.replica_set = reading.replica_set
        for name in {host.replica_set for host in self._hosts.values() if host.replica_set}:
            members = [_member(host) for host in self._hosts.values() if host.replica_set == name]
            self._sets[name] = tally_after(self._sets.get(name, MemberTally()), members)

    def met(self) -> set[Preset]:
        """The presets whose condition is met."""
        seen = [found for host in self._hosts.values() for found in _of_host(host)]
        seen += [found for name, members in self._sets.items() for found in _of_set(name, members)]
        return {preset for preset in Preset if any(_starts(preset, found) for found in seen)}


def _report(reading: HostReading) -> HostReport:
    samples: dict[Metric, list[tuple[datetime, float]]] = {}
    for sample in reading.samples:
        samples.setdefault(Metric(sample.metric), []).append((sample.taken, sample.number))
    return HostReport(
        address=Address(*reading.address),
        type_name=HostType(reading.type_name),
        reachable=reading.reachable,
        samples=samples,
        problem=reading.problem,
    )


def _member(host: _KnownHost) -> Members:
    is_unknown = host.report.reachable and host.report.type_name is HostType.NO_DATA
    return Members(type_name=host.type.type_name, reachable=host.report.reachable, type_unknown=is_unknown)


def _of_host(host: _KnownHost) -> Sequence[Observation]:
    state = {
        "hostname": host.report.address.hostname,
        "port": host.report.address.port,
        "typeName": host.type.type_name,
        "reachable": host.report.reachable,
        "notMeasured": host.measuring.not_measured,
    }
    samples = {
        metric.value: [number for _, number in values]
        for metric, values in host.report.samples.items()
        if metric.spec.subject not in OF_MACHINES
    }
    return of_host(state, samples)


def _of_set(name: str, members: MemberTally) -> Sequence[Observation]:
    return of_replica_set(
        {
            "replicaSetName": name,
            "primaries": members.primaries,
            "healthy": members.healthy,
            "unhealthy": members.unhealthy,
            "unknown": members.unknown,
            "primaryUnknown": members.primary_unknown,
        }
    )


def _starts(preset: Preset, found: Observation) -> bool:
    spec = preset.spec
    if found.event_type is not spec.event_type:
        return False
    config = ConfigView(preset, spec.event_type, threshold=spec.threshold)
    return step(config, found, None).action is AlertAction.START
