"""What is known of a metric: its unit, what kind of number it is, and which servers have it. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from automation.units import Unit


class MetricKind(StrEnum):
    """How a number came about; the values are the wire values.

    A GAUGE is a level at a moment, or a share or mean of the time since the sample before. A RATE is the
    growth of a counter of the server, per second: whoever reports computes it from two samples.
    """

    GAUGE = "GAUGE"
    RATE = "RATE"


class Engine(StrEnum):
    """The database servers that metrics are measured on; the values are the wire values."""

    MONGODB = "MONGODB"
    POSTGRESQL = "POSTGRESQL"


MONGODB = (Engine.MONGODB,)
POSTGRESQL = (Engine.POSTGRESQL,)
BOTH = (Engine.MONGODB, Engine.POSTGRESQL)


class Subject(StrEnum):
    """What a metric is about; metrics are listed by it, in this order. The values are for people."""

    CONNECTIONS = "Connections and network"
    OPERATIONS = "Operations"
    TRANSACTIONS = "Transactions and rows"
    LOCKS = "Locks and tickets"
    PROCESS = "Cache and memory of the server"
    REPLICATION = "Replication"
    DATABASES = "Databases"
    LOG = "Write-ahead log, checkpoints and I/O"
    CPU = "Processor of the machine"
    MACHINE = "Memory and network of the machine"
    DISK = "Disk of the data"
    RETIRED = "No longer measured"


@dataclass(frozen=True)
class MetricSpec:
    """One row of the table.

    `unit` is what values are stored and shown in, and what a report without units means; that of a RATE is
    per second. `words` name the metric, and a sentence can begin with them: `Resident memory`. `meaning` is
    a sentence.
    """

    kind: MetricKind
    name: str
    subject: Subject
    unit: Unit
    engines: tuple[Engine, ...]
    words: str
    meaning: str

    @property
    def deprecated(self) -> bool:
        """Say whether no server measures it any more; it stays accepted."""
        return self.subject is Subject.RETIRED


gauge = partial(MetricSpec, MetricKind.GAUGE)
rate = partial(MetricSpec, MetricKind.RATE)
