"""What people did with alerts and configurations in the course of the day."""

from dataclasses import dataclass

from alerting.demo.tables.people import SAMIR, TOMAS, YUKI

_HOUR = 60


@dataclass(frozen=True, slots=True)
class Acknowledging:
    """An open alert of a configuration is acknowledged, until so many minutes after the end."""

    ago: int
    group: str
    label: str
    by: str
    until: int
    comment: str


ACKNOWLEDGED = (
    Acknowledging(
        68,
        "parcel-tracking",
        "HOST_DOWN",
        YUKI,
        30 * _HOUR,
        "Disk is being replaced, resync will take until tonight",
    ),
    Acknowledging(
        80,
        "customer-accounts",
        "BACKUP_AGENT_DOWN",
        TOMAS,
        48 * _HOUR,
        "Backup host is being rebuilt, see change 4117",
    ),
)


@dataclass(frozen=True, slots=True)
class Switching:
    """A configuration is enabled or disabled; disabling cancels its alerts."""

    ago: int
    group: str
    label: str
    by: str
    enabled: bool


SWITCHED = (
    Switching(420, "catalogue", "CURSORS_TOTAL_OPEN", SAMIR, enabled=False),
    Switching(200, "catalogue", "CURSORS_TOTAL_OPEN", SAMIR, enabled=True),
)
