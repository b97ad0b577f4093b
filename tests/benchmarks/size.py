"""The size of a run, and the objects that the filling created. Pure: both sides of the filling import it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """The number of objects. Alerts, events and hosts belong to the measured project."""

    projects: int
    hosts: int
    alerts: int
    events: int
    fleet_hosts: int
    fleet_configs: int
    labelled_hosts: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is measured: rounds of so many seconds, reports at so many per second.

    Of the fleet: seconds of full load and of the lag, and minutes' worth of reports. Notifications: so many
    for each rate, and so many due at once while a receiver is dead. Of the agent: how many hosts it watches,
    and in how many rounds. Days of measurements for dry runs. Alerts of four weeks.
    """

    rounds: int
    seconds: float
    connections: int
    reports: int
    reports_per_second: float
    fleet_seconds: float
    lag_seconds: float
    fleet_minutes: int
    deliveries: int
    due: int
    agent_hosts: tuple[int, ...]
    agent_rounds: int
    recorded_days: int
    noisy_alerts: int


@dataclass(frozen=True, slots=True)
class Filled:
    """Ids and keys (public, private) of what was created."""

    group_id: str
    reader: tuple[str, str]
    report_group_id: str
    agent: tuple[str, str]
    secure_group_id: str
    secure_agent: tuple[str, str]
    fleet_group_id: str
    fleet_agent: tuple[str, str]
    labelled_group_id: str
    labelled_admin: tuple[str, str]


FULL = (
    Size(
        projects=50,
        hosts=1000,
        alerts=10_000,
        events=100_000,
        fleet_hosts=1000,
        fleet_configs=500,
        labelled_hosts=10_000,
    ),
    Pace(
        7,
        4.0,
        16,
        200,
        20.0,
        fleet_seconds=10.0,
        lag_seconds=30.0,
        fleet_minutes=60,
        deliveries=3_000,
        due=10_000,
        agent_hosts=(10, 100, 500),
        agent_rounds=6,
        recorded_days=7,
        noisy_alerts=1_000_000,
    ),
)
QUICK = (
    Size(
        projects=5,
        hosts=200,
        alerts=2_000,
        events=10_000,
        fleet_hosts=1000,
        fleet_configs=500,
        labelled_hosts=10_000,
    ),
    Pace(
        5,
        1.0,
        16,
        60,
        20.0,
        fleet_seconds=2.0,
        lag_seconds=5.0,
        fleet_minutes=3,
        deliveries=300,
        due=1_000,
        agent_hosts=(10, 100),
        agent_rounds=2,
        recorded_days=1,
        noisy_alerts=100_000,
    ),
)
