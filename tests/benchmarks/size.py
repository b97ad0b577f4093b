"""How large a run is, and what filling the installation made. Pure: both sides of the filling import it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is; alerts, events and hosts are those of the measured project."""

    projects: int
    hosts: int
    alerts: int
    events: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is measured: rounds of so many seconds, reports at so many per second."""

    rounds: int
    seconds: float
    connections: int
    reports: int
    reports_per_second: float


@dataclass(frozen=True, slots=True)
class Filled:
    """Ids and keys (public, private) of what was made."""

    group_id: str
    reader: tuple[str, str]
    report_group_id: str
    agent: tuple[str, str]


FULL = Size(projects=50, hosts=1000, alerts=10_000, events=100_000), Pace(7, 4.0, 16, 200, 20.0)
QUICK = Size(projects=5, hosts=200, alerts=2_000, events=10_000), Pace(5, 1.0, 16, 60, 20.0)
