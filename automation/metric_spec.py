"""The properties of a metric: unit, kind and engines. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from automation.units import Unit


class MetricKind(StrEnum):
    """How a number is obtained; the values are the wire values.

    A GAUGE is a level at a moment, or a share or mean since the previous sample. A RATE is the increase of a
    counter per second, which the reporter computes from two samples.
    """

    GAUGE = "GAUGE"
    RATE = "RATE"


GAUGE, RATE = MetricKind.GAUGE, MetricKind.RATE


class Engine(StrEnum):
    """Database engines that metrics are measured on; the values are the wire values."""

    MONGODB = "MONGODB"
    POSTGRESQL = "POSTGRESQL"


MONGODB = (Engine.MONGODB,)
POSTGRESQL = (Engine.POSTGRESQL,)
BOTH = (Engine.MONGODB, Engine.POSTGRESQL)


class MetricSubject(StrEnum):
    """The subject of a metric; metrics are listed by subject in this order. The values are for people."""

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
    """The properties of a metric.

    `unit` is the unit of stored values and of reports without units; for a RATE it is per second. `words` is
    a name that can start a sentence: `Resident memory`. `meaning` is a sentence.
    """

    kind: MetricKind
    subject: MetricSubject
    unit: Unit
    engines: tuple[Engine, ...]
    words: str
    meaning: str

    @property
    def deprecated(self) -> bool:
        """Whether servers no longer measure it. Reports can still contain it."""
        return self.subject is MetricSubject.RETIRED
