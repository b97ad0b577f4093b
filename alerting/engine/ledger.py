"""The ledger: the reads and writes of delivery, and of alerts that start, open, end or are cancelled.

The bookkeeping is written once, against `Ledger`: `engine.claims`, `delivery`, and the services of alerts,
incidents, notifications, addresses and destinations. Acknowledgements, new delays, new tags and purges write
alerts without it. `postgresql` has the statements. `memory` has the same rules without SQL, for simulations
and dry runs. Each call reads or writes a set.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from alerting.configs.models import NotificationSetting
from alerting.configs.store import ChannelCredentials
from alerting.destinations.models import Destination
from alerting.destinations.rules import Health
from alerting.engine.claim_rules import Candidate, LeasedNotification
from alerting.engine.leases import AttemptResult, TriedAttempt
from alerting.engine.models import Notification
from alerting.engine.rules import SameDestination, SentMessages
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert, Incident
from alerting.incidents.store import IncidentMessage, Member
from alerting.incidents.topology import FleetUnit, FleetUnits, OpenedAlert, Picture, UnitSearch
from events.log.changes import NewEvent
from integrations.choices import ChannelType
from integrations.messages import Message
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError

HEALTH = [field.name for field in fields(Health)]
"""The columns of a destination that are its health."""
DestinationConfigs = Mapping[str, Mapping[str, str] | CannotDecryptError]
"""The decrypted fields of each destination, by id, or the error if they cannot be decrypted."""


@dataclass(frozen=True, slots=True)
class NamedDestination:
    """A destination that a configuration names now."""

    id: str
    group_id: str | None
    channel: ChannelType
    credentials: ChannelCredentials
    is_global: bool


class OpeningsSoFar(NamedTuple):
    """The number of openings or reminders of an alert for a setting."""

    alert_id: str
    setting_id: str
    type_name: str
    channel: str | None
    kind: str
    status: str
    number: int


@dataclass(frozen=True, slots=True)
class Notified:
    """A receiver that was notified of an alert; the fields are columns of the notification."""

    group_id: str
    alert_id: str
    setting_id: str
    type_name: str
    channel: str
    destination: str
    subject: str
    recipient: str
    incident_id: str | None = None
    changes_messages: bool = False
    """Whether a message to it is changed by later messages about the alert."""

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the receiver; rows from before destinations were stored have only a recipient."""
        return (self.alert_id, self.setting_id, self.channel, self.destination or self.recipient)


NOTIFIED = [column.name for column in fields(Notified)][:-1]
"""The columns of a notification that name its receiver."""


@dataclass(frozen=True, slots=True)
class EarlierMessages:
    """The message about an alert that the next message changes, and the last acknowledgement.

    `handle` is None if the receiver has no message, or its name is not known.
    """

    handle: str | None = None
    acknowledged: datetime | None = None


class AlertClosing(NamedTuple):
    """The end of an alert: its incident, its last value if that is known, its time, and when it was known."""

    alert_id: str
    incident_id: str | None
    value: float | None
    at: datetime
    known: datetime


class IncidentLedger(Protocol):
    """Alerts that join and leave incidents."""

    def alert_units(self, alerts: Collection[OpenedAlert], /) -> Mapping[str, frozenset[FleetUnit]]:
        """Return the units that alerts concern, by alert."""

    def labels_of_a_part(self, group_id: str, labels: Collection[FleetUnit], /) -> frozenset[FleetUnit]:
        """Return the labels that at most a part of the project's hosts have."""

    def incidents_begin(self, alerts: Sequence[OpenedAlert], /) -> None:
        """Begin an incident for each alert by itself, unless it has begun."""

    def labels_of_recent(
        self,
        config_id: str,
        group_id: str,
        labels: Collection[FleetUnit],
        /,
        *,
        at: datetime,
        wait: timedelta,
    ) -> AbstractSet[str]:
        """Return the keys of these labels that incidents have which an alert at `at` can join by a label."""

    def incidents_to_join(
        self, config_id: str, group_id: str, searches: Collection[UnitSearch], /, *, wait: timedelta
    ) -> list[Incident]:
        """Return the oldest incident that an alert can join, of each search; the oldest first."""

    def incidents_save(self, incidents: Sequence[Incident], /) -> None:
        """Write new incidents, and incidents that have grown."""

    def alerts_join(self, alerts: Sequence[OpenedAlert], /) -> None:
        """Write the incidents of alerts."""

    def incidents_with(self, status: AlertStatus, /, *, among: Collection[str]) -> set[str]:
        """Return which of these incidents have an alert with the status."""

    def incidents_end(self, at: Mapping[str, datetime], /) -> list[tuple[str, str, datetime]]:
        """End incidents with their last alerts. Return each that had not ended, its first alert and `at`."""

    def incidents_lock(self, ids: Collection[str], /) -> list[Incident]:
        """Lock the incidents that have not ended among these, and return them."""


class Ledger(IncidentLedger, Protocol):
    """The alerts, incidents, notifications and destinations. Times are passed in."""

    # --- transactions ---------------------------------------------------------------------------------

    def transaction(self, *, savepoint: bool = True) -> AbstractContextManager[Any]:
        """Write all or nothing of what is written within it."""

    def is_transient(self, error: Exception) -> bool:
        """Whether the caller has to try all of it again, because of this error."""

    # --- claims and leases ----------------------------------------------------------------------------

    def begin_claim(self) -> None:
        """Wait until no other worker claims."""

    def leased(self) -> Sequence[LeasedNotification]:
        """Return the leases of all notifications."""

    def release_lapsed(self, *, now: datetime, absent: Collection[int] = ()) -> int:
        """Release leases that are over, and leases of `absent` workers. Return their number."""

    def undecided(self, *, now: datetime, limit: int, without: Collection[str]) -> list[str]:
        """Return the ids of the next due notifications without a destination, projects in turn."""

    def candidates(self, *, now: datetime) -> list[Candidate]:
        """Return the due notifications that may be sent, the first of each destination and subject."""

    def take(self, *, ids: Sequence[str], worker: int, now: datetime) -> list[Notification]:
        """Lease these notifications and return them in the same order, without changed notifications."""

    def lock(self, notifications: Sequence[Notification], /) -> set[str]:
        """Lock the notifications whose leases are still valid, and return their ids."""

    def give_back(self, notifications: Sequence[Notification], /) -> None:
        """Release notifications that were leased and not sent."""

    def release_with(self, notifications: Sequence[Notification], **changes: Any) -> int:
        """Change and release notifications. Return how many leases were still valid."""

    def release_merged(self, notification: Notification, **changes: Any) -> int:
        """`release_with`, and keep the newest picture that was delivered to its destination."""

    def remove(self, notifications: Sequence[Notification], /) -> None:
        """Delete notifications whose leases are still valid."""

    # --- facts of decisions ---------------------------------------------------------------------------

    def members_lock(
        self, notifications: Sequence[Notification], *, wait: float
    ) -> tuple[list[Member], set[str]]:
        """Lock the open alerts of the incidents of notifications.

        Return them, and the ids of the notifications about alerts that stayed locked for `wait` seconds.
        """

    def incidents(self, ids: Collection[str], /) -> Iterable[Incident]:
        """Return incidents with their first alerts."""

    def fleets_around(
        self,
        group_id: str,
        covered: Mapping[str, Collection[FleetUnit]],
        roots: Mapping[str, Collection[FleetUnit]],
        /,
    ) -> dict[str, FleetUnits]:
        """Return the fleet that decides what the pictures of incidents show, by incident."""

    def last_pictures(self, notifications: Collection[Notification], /) -> dict[str, Picture | None]:
        """Return the picture in the last message of each notification's incident and setting."""

    def settings_of(
        self, notifications: Iterable[Notification], /
    ) -> dict[tuple[str, str], NotificationSetting]:
        """Return the settings of notifications by id and type, including removed settings."""

    def sent_messages(self, notifications: Collection[Notification], /) -> SentMessages:
        """Return the messages that were sent about the alerts and events of notifications."""

    def lapses_of(self, notifications: Sequence[Notification], /) -> dict[str, int]:
        """Return the number of attempts without an outcome since the first attempt, by notification."""

    def destination_configs(self, ids: Collection[str], /) -> DestinationConfigs:
        """Return the configuration of each destination that still has one."""

    def delivered(
        self, waiting: Sequence[Notification], described: Collection[SameDestination], *, now: datetime
    ) -> list[Notification]:
        """Return the delivered notifications that can have sent messages of `waiting`."""

    def configs_of_settings(self, ids: Collection[str], /) -> Mapping[str, str]:
        """Return the alert configurations of settings, by setting."""

    def messages(
        self,
        notifications: Sequence[Notification],
        *,
        incidents: Mapping[str, IncidentMessage],
        settings: Iterable[NotificationSetting],
        now: datetime,
    ) -> dict[str, Message]:
        """Return the messages of notifications, by notification."""

    def earlier_messages(self, notifications: Sequence[Notification], /) -> dict[str, EarlierMessages]:
        """Return the messages that messages change, by notification."""

    # --- attempts -------------------------------------------------------------------------------------

    def mark_begun(
        self,
        notifications: Sequence[Notification],
        *,
        with_message: Collection[str],
        changed: Collection[str],
        now: datetime,
    ) -> dict[str, tuple[int, datetime]]:
        """Mark the attempts of notifications whose lease is still valid as begun.

        Notifications `with_message` count as perhaps received. Later messages change `changed` ones. Return
        the number and the start of the first attempt of each.
        """

    def pictures_keep(self, pictures: Mapping[str, Picture], /) -> None:
        """Keep the pictures that messages show, by notification."""

    def attempts_record(
        self, results: Sequence[tuple[Notification, AttemptResult, TriedAttempt]], /
    ) -> list[bool]:
        """Write attempts and their results. Return which leases were still valid."""

    def set_last_notified(self, alerts: Collection[str], *, now: datetime) -> None:
        """Set when alerts were last notified."""

    # --- destinations ---------------------------------------------------------------------------------

    def destinations_lock(self, ids: Iterable[str], /) -> None:
        """Lock these destinations until the transaction ends."""

    def destinations_keep(self, places: Iterable[NamedDestination], *, now: datetime) -> None:
        """Store destinations with their configurations."""

    def healthy_destinations(self, ids: Collection[str], /) -> set[str]:
        """Return which of these destinations have accepted the last message."""

    def destinations_tried(self, *, ids: Sequence[str], now: datetime) -> set[str]:
        """Record that attempts begin. Return the destinations that take messages."""

    def destinations_to_record(self, ids: Collection[str], /) -> list[tuple[Destination, datetime | None]]:
        """Lock these destinations. Return each with the time since which its host accepts no connections."""

    def health_write(self, row: Destination, /) -> None:
        """Write the health of a locked destination."""

    def host_failed(self, host: str, *, now: datetime) -> None:
        """Record that a host accepted no connection."""

    def host_back(self, host: str, /) -> bool:
        """Record that a host accepts connections. Return whether it accepted none before."""

    def retries_due(self, *, destination: str, now: datetime) -> None:
        """Make retries at a destination due now."""

    def retries_due_at_host(self, host: str, *, now: datetime) -> None:
        """Make retries at all destinations of a host due now."""

    # --- what follows ---------------------------------------------------------------------------------

    def insert(self, rows: Iterable[Notification], /, *, wakes: bool = True) -> None:
        """Insert the notifications of kinds that their channels send. Existing ids are skipped.

        `wakes`: workers wake up for them.
        """

    def repeated_settings(self, ids: Collection[str], /) -> Iterable[NotificationSetting]:
        """Return the settings with these ids that have reminders."""

    def openings_so_far(
        self, alerts: Collection[str], settings: Collection[str], /
    ) -> Iterable[OpeningsSoFar]:
        """Count the openings and reminders of alerts and settings."""

    def recent_recipients(
        self, setting_id: str, alerts: Collection[str], *, since: datetime, now: datetime
    ) -> Iterable[tuple[str, str, str]]:
        """Return alert, channel and recipient of pending openings, and of openings delivered `since`."""

    def drop_unsent(self, alerts: Collection[str], /) -> None:
        """Drop the pending notifications of alerts that are over, if no other sends the message."""

    def notified(self, alerts: Collection[str], *, or_in_progress: bool = False) -> Iterable[Notified]:
        """Return the receivers that were, or perhaps were, notified that these alerts are open."""

    def reminders_decide_again(self, alert_id: str, *, now: datetime) -> None:
        """Decide again on the reminders of an alert that its acknowledgement holds back."""

    def acknowledgements_wait(self, alert_id: str, /) -> set[str]:
        """Return the destinations that an acknowledgement of the alert waits for."""

    # --- incidents ------------------------------------------------------------------------------------

    def settings_of_configs(
        self, config_ids: Collection[str], /
    ) -> Mapping[str, Sequence[NotificationSetting]]:
        """Return the notification settings of configurations, by configuration."""

    def alerts(self, ids: Collection[str], /) -> Mapping[str, Alert]:
        """Return alerts by id."""

    def incidents_grouped(self, config_id: str, /) -> list[str]:
        """Return the ids of the open incidents of a configuration that group alerts, in their order."""

    def messages_wait(self, incidents: Sequence[Incident], /) -> list[Notification]:
        """Lock the first messages and changes of incidents that wait, and return them."""

    def due_at(self, message: Notification, due: datetime, /) -> None:
        """Write the due time of a locked notification."""

    def changes_become(self, part: str, incidents: Sequence[Incident], *, now: datetime) -> None:
        """Give the messages about changes of incidents that wait another part, created and due now."""

    # --- alerts ---------------------------------------------------------------------------------------

    def shortest_delays(self, config_ids: Collection[str], /) -> Mapping[str, timedelta]:
        """Return the shortest delay of each configuration with notifications, by configuration."""

    def alerts_start(self, alerts: Sequence[Alert], /) -> set[str]:
        """Insert alerts, except on targets with an active alert of their configuration.

        Return the ids of the alerts that exist now.
        """

    def alerts_lock(self, ids: Collection[str], /) -> list[Alert]:
        """Lock alerts in the order of their ids, and return them."""

    def values_keep(self, values: Mapping[str, tuple[float | None, datetime]], /) -> None:
        """Write the current value of each alert, with its time."""

    def over_keep(self, over: Mapping[str, tuple[datetime | None, datetime]], /) -> None:
        """Write when the condition of each alert ended according to a late report, with the time of that."""

    def alerts_set_open(self, ids: Collection[str], /, *, now: datetime) -> None:
        """Write that alerts open now, each as an incident by itself."""

    def alerts_set_closed(self, closings: Sequence[AlertClosing], /) -> None:
        """Write that alerts are closed."""

    def alerts_set_cancelled(self, ids: Collection[str], /, *, now: datetime) -> None:
        """Write that alerts are cancelled now."""

    def alerts_delete(self, ids: Collection[str], /) -> None:
        """Delete alerts to which nothing refers."""

    def signals_wait(self, alert: Alert, /, *, done: Collection[int]) -> bool:
        """Whether a signal from before the end of the alert's delay waits, without the signals `done`."""

    def events_record(self, *, events: Iterable[tuple[str, NewEvent]], actor: Actor, now: datetime) -> None:
        """Record events, each with its project."""
