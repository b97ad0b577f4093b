"""What a run does to the platform, whether it is kept in memory or by PostgreSQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from alerting import delivery
from alerting.models import Destination, Notification
from integrations.outcome import Outcome
from tests.simulation.plans import Receiver, SimulatedSetting


class Store(Protocol):
    """The tables, and the steps of delivery; each call is one transaction."""

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        """Projects with their configurations."""

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """A host is down: the alert with this number of its target opens; answers its id."""

    def close(self, alert_id: str, now: datetime) -> None:
        """It is up again."""

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        """Somebody acknowledges the alert; a time that has come takes that back."""

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        """Maintenance of a project begins."""

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        """Its window is deleted."""

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        """The configuration names another receiver."""

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        """Take in progress."""

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        """Decide."""

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        """Record."""

    def holds(self, notification: Notification) -> bool:
        """Whether its lease is still the one of this copy."""

    def release(self, worker: int, now: datetime) -> None:
        """A worker died."""

    def next_time(self) -> datetime | None:
        """When there may be something to do; None when nothing waits."""

    def notifications(self) -> list[Notification]:
        """All of them."""

    def statuses(self) -> dict[str, str]:
        """Of all alerts."""

    def place(self, destination: str) -> Destination | None:
        """A destination as it is known."""
