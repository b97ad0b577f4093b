"""What is measured on a host: the tide of a day, a little noise, and the surges of the tables. Pure."""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from alerting.demo.tables.fleet import HostSpec
from alerting.demo.tables.incidents import SURGES, Surge
from automation.choices import HostType
from automation.metrics import Metric
from automation.reports import Samples

GRAIN = timedelta(minutes=5)
"""How far apart samples are."""
CLIMB = 20
"""In minutes: how long a surge takes to its peak, and back."""
_MB, _GB = 2**20, 2**30

# What is usual with load 1, and the share by which the time of day and chance move it.
_USUAL: Mapping[Metric, tuple[float, float, float]] = {
    Metric.CONNECTIONS: (380, 0.45, 0.06),
    Metric.OPCOUNTER_QUERY: (1400, 0.6, 0.12),
    Metric.OPCOUNTER_INSERT: (260, 0.6, 0.15),
    Metric.CURSORS_TOTAL_OPEN: (120, 0.3, 0.15),
    Metric.NETWORK_BYTES_IN: (6 * _MB, 0.5, 0.1),
    Metric.MEMORY_RESIDENT: (7.5 * _GB, 0.04, 0.01),
    Metric.CACHE_USED_BYTES: (8.2 * _GB, 0.1, 0.02),
    Metric.OP_EXECUTION_TIME_READS: (9, 0.35, 0.2),
    Metric.SYSTEM_NORMALIZED_CPU_USER: (28, 0.5, 0.15),
    Metric.CACHE_FILL_RATIO: (74, 0.06, 0.02),
    Metric.DISK_PARTITION_SPACE_PERCENT_FREE: (41, 0.05, 0.01),
}
_LAG = (4, 0.3, 0.5)
_COUNTED = 10
_FULL = (
    Metric.MEMORY_RESIDENT,
    Metric.CACHE_USED_BYTES,
    Metric.CACHE_FILL_RATIO,
    Metric.DISK_PARTITION_SPACE_PERCENT_FREE,
)
"""As much on a quiet host as on a busy one."""
_LAGGING = (HostType.REPLICA_SECONDARY, HostType.SHARD_SECONDARY)


class Curves:
    """The measurements of one host, the same every time: chance is drawn from the name."""

    def __init__(self, host: HostSpec, end: datetime) -> None:
        self._host, self._end = host, end
        self._dice = random.Random(host.hostname)  # noqa: S311 - the same demonstration every time
        name = host.hostname.partition(".")[0]
        self._surges = [one for one in SURGES if one.host == name]
        self._usual = _usual(host)

    def samples(self, moments: Sequence[datetime]) -> Samples:
        """Every metric at these moments."""
        return {
            metric: [(moment, self._value(metric, moment)) for moment in moments] for metric in self._usual
        }

    def _value(self, metric: Metric, moment: datetime) -> float:
        base, tide, noise = self._usual[metric]
        # Busiest at two in the afternoon.
        turn = math.cos((moment.hour * 60 + moment.minute - 840) / 1440 * 2 * math.pi)
        quiet = base * (1 + tide * turn)
        ago = (self._end - moment).total_seconds() / 60
        value = max([quiet, *(_risen(one, quiet, ago) for one in self._surges if one.metric is metric)])
        # Milliseconds and seconds have a tenth, what is counted has none.
        return round(value * (1 + noise * self._dice.uniform(-1, 1) / 2), 0 if base > _COUNTED else 1)


def _usual(host: HostSpec) -> Mapping[Metric, tuple[float, float, float]]:
    if host.type_name is HostType.REPLICA_ARBITER:
        return {Metric.CONNECTIONS: (12, 0, 0.1)}
    usual = {
        metric: (base * (1 if metric in _FULL else host.load), tide, noise)
        for metric, (base, tide, noise) in _USUAL.items()
    }
    return {**usual, Metric.OPLOG_SLAVE_LAG_MASTER_TIME: _LAG} if host.type_name in _LAGGING else usual


def _risen(surge: Surge, quiet: float, ago: float) -> float:
    """Where a surge has the value so many minutes before the end."""
    since, left = surge.begin - ago, ago - surge.end if surge.end >= 0 else math.inf
    share = max(0.0, min(1.0, since / CLIMB, 1 + left / CLIMB))
    return quiet + (surge.peak - quiet) * share
