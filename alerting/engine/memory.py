"""The ledger in memory: the rules of the statements, without SQL.

Rows are instances of the models that are never saved. Rows that a caller keeps are copied, as if they were
read. One caller uses the ledger at a time, so nothing is locked, and each call has its effect at once:
nothing is rolled back.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any, Generic, TypeVar

from alerting.configs.models import NotificationSetting
from alerting.destinations.changes import destination_host, last_failure
from alerting.destinations.models import Destination, UnreachableHost
from alerting.destinations.rules import PROBE_EVERY, PROBED_AFTER, Health, probe_gap
from alerting.engine import claim_rules
from alerting.engine.choices import NotificationStatus
from alerting.engine.claim_rules import Candidate, LeasedNotification
from alerting.engine.leases import (
    LEASE,
    RELEASED,
    AttemptResult,
    TriedAttempt,
    attempt_without_outcome,
    is_lapsed,
)
from alerting.engine.ledger import (
    NOTIFIED,
    AlertClosing,
    DestinationConfigs,
    EarlierMessages,
    NamedDestination,
    Notified,
    OpeningsSoFar,
)
from alerting.engine.models import LONGEST_RECIPIENT, Notification, NotificationAttempt
from alerting.engine.queues import LONGEST_PAUSE
from alerting.engine.rules import SameDestination, SentMessages, not_retried
from alerting.engine.schedule import is_sent
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.fleet_units import named_units
from alerting.incidents.models import Alert, Incident
from alerting.incidents.store import IncidentMessage, Member
from alerting.incidents.topology import (
    LARGEST_SHARE,
    MOST_ALERTS,
    FleetUnit,
    FleetUnits,
    OpenedAlert,
    OpenIncident,
    Picture,
    UnitSearch,
    deciding_units,
    recent_labels,
)
from alerting.reasons import AttemptFailure, NotificationReason
from events.log.changes import NewEvent
from events.types import Severity
from integrations.choices import ENDS, OPEN_KINDS, MessageKind
from integrations.messages import Message
from opsapi.api.principal import Actor
from opsapi.clock import AHEAD
from opsapi.outbound.errors import NO_ANSWER

_PENDING, _DELIVERED = NotificationStatus.PENDING.value, NotificationStatus.DELIVERED.value
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_OPEN = AlertStatus.OPEN.value
_ENDED = (AlertStatus.CLOSED, AlertStatus.CANCELLED)
Row = TypeVar("Row", Notification, Alert, Destination, Incident, NotificationSetting, UnreachableHost)
AnyAlert = TypeVar("AnyAlert", bound=OpenedAlert)


def built(model: type[Row], **columns: Any) -> Row:
    """Return a new row, with the defaults of other columns; ten times faster than the constructor of a model.

    Columns have their names in the database. Rows share the values that are not given.
    """
    row: Row = copied(_blank(model))
    row.__dict__.update(columns)
    return row


@cache
def _blank(model: type[Row]) -> Row:
    return model()


def copied(row: Row) -> Row:
    """The row as another reads it; faster than the constructor of a model."""
    other = row.__class__.__new__(row.__class__)
    other.__dict__.update(row.__dict__)
    return other


class MemoryIncidents(Generic[AnyAlert]):
    """Alerts and incidents, by id."""

    def __init__(self) -> None:
        self.stored_alerts: dict[str, AnyAlert] = {}
        self.members: dict[tuple[str | None, str], dict[str, AnyAlert]] = defaultdict(dict)
        """The alerts of each incident and status, by id."""
        self.stored_incidents: dict[str, Incident] = {}
        self.lasting: dict[str, Incident] = {}
        """The incidents that have not ended."""

    def add_alert(self, alert: AnyAlert) -> None:
        """Keep an alert that starts."""
        self.stored_alerts[alert.id] = alert
        if alert.incident_id:
            self.members[alert.incident_id, alert.status][alert.id] = alert

    def change_alert(self, alert_id: str, **columns: Any) -> None:
        """Change columns of an alert."""
        alert = self.stored_alerts[alert_id]
        self._forget_member(alert.incident_id, alert)
        for name, value in columns.items():
            setattr(alert, name, value)
        if alert.incident_id:
            self.members[alert.incident_id, alert.status][alert_id] = alert

    def members_with(self, status: AlertStatus, incident_id: str | None) -> Collection[AnyAlert]:
        """Return the alerts of an incident with a status."""
        return self.members.get((incident_id, status.value), {}).values()

    def _forget_member(self, incident_id: str | None, alert: AnyAlert) -> None:
        if members := self.members.get((incident_id, alert.status)):
            members.pop(alert.id, None)
            if not members:
                del self.members[incident_id, alert.status]

    def incidents_begin(self, alerts: Sequence[OpenedAlert], /) -> None:
        for alert in alerts:
            if alert.id not in self.stored_incidents:
                at = alert.updated
                incident = built(
                    Incident,
                    id=alert.id,
                    group_id=alert.group_id,
                    config_id=alert.config_id,
                    lead_id=alert.id,
                    created=at,
                    grown=at,
                )
                self.incidents_save([incident])

    def labels_of_recent(
        self,
        config_id: str,
        group_id: str,
        labels: Collection[FleetUnit],
        /,
        *,
        at: datetime,
        wait: timedelta,
    ) -> frozenset[str]:
        incidents = map(OpenIncident.of, self._with_room(config_id, group_id)) if labels else ()
        return recent_labels(incidents, at=at, wait=wait) & {label.key for label in labels}

    def incidents_to_join(
        self, config_id: str, group_id: str, searches: Collection[UnitSearch], /, *, wait: timedelta
    ) -> list[Incident]:
        wanted: dict[str, set[UnitSearch]] = defaultdict(set)
        for search in searches:
            wanted[search.unit.key].add(search)
        joined = []
        for row in self._with_room(config_id, group_id):
            incident = OpenIncident.of(row)
            decided = [
                search
                for key in wanted.keys() & incident.units
                for search in wanted[key]
                if incident.may_relate(search.unit.kind, search.at, wait)
            ]
            for search in decided:
                wanted[search.unit.key].remove(search)
            if decided:
                joined.append(row)
        return joined

    def _with_room(self, config_id: str, group_id: str) -> list[Incident]:
        """The incidents of a configuration and project that an alert can join, the oldest first."""
        incidents = [
            incident
            for incident in self._grouped(config_id)
            if incident.group_id == group_id
            and 0 < len(self.members_with(AlertStatus.OPEN, incident.id)) < MOST_ALERTS
        ]
        return sorted(
            incidents,
            key=lambda incident: (
                incident.created,
                self.stored_alerts[incident.lead_id].target_key,
                incident.id,
            ),
        )

    def incidents_save(self, incidents: Sequence[Incident], /) -> None:
        for incident in incidents:
            self.stored_incidents[incident.id] = self.lasting[incident.id] = incident

    def alerts_join(self, alerts: Sequence[OpenedAlert], /) -> None:
        for alert in alerts:
            stored = self.stored_alerts[alert.id]
            for incident_id in (stored.incident_id, alert.id):
                self._forget_member(incident_id, stored)
            stored.incident_id = alert.incident_id
            self.members[alert.incident_id, stored.status][alert.id] = stored

    def incidents_with(self, status: AlertStatus, /, *, among: Collection[str]) -> set[str]:
        return {name for name in among if (name, status.value) in self.members}

    def incidents_end(self, at: Mapping[str, datetime], /) -> list[tuple[str, str, datetime]]:
        ended = []
        for incident in self.incidents_lock(at):
            of_incident = (alert for status in _ENDED for alert in self.members_with(status, incident.id))
            ends = (alert.resolved for alert in of_incident if alert.resolved)
            incident.ended = max(ends, default=at[incident.id])
            del self.lasting[incident.id]
            ended.append((incident.id, incident.lead_id, at[incident.id]))
        return ended

    def incidents_lock(self, ids: Collection[str], /) -> list[Incident]:
        return [self.lasting[name] for name in sorted(ids) if name in self.lasting]

    def incidents_grouped(self, config_id: str, /) -> list[str]:
        return sorted(incident.id for incident in self._grouped(config_id))

    def _grouped(self, config_id: str) -> list[Incident]:
        """The open incidents of a configuration that group alerts."""
        return [
            incident
            for incident in self.lasting.values()
            if incident.config_id == config_id and incident.id != incident.lead_id
        ]


class MemoryLedger(MemoryIncidents[Any]):
    """Alerts, incidents, notifications, destinations and hosts, by id. `Ledger` says what its methods do."""

    stored_alerts: dict[str, Alert]

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Notification] = {}
        self.pending: dict[str, Notification] = {}
        """The rows that are pending."""
        self.of_alert: dict[str, list[Notification]] = defaultdict(list)
        """The rows about each alert."""
        self.attempts: dict[str, list[TriedAttempt | NotificationAttempt]] = defaultdict(list)
        self.settings: dict[str, NotificationSetting] = {}
        """With their configurations."""
        self.places: dict[str, Destination] = {}
        self.configs: dict[str, Mapping[str, str]] = {}
        """The fields of each destination."""
        self.down: dict[str, UnreachableHost] = {}
        self.hosts: dict[str, dict[str, frozenset[FleetUnit]]] = defaultdict(dict)
        """The units of each host of a project."""
        self.sequence = 0
        self.leases = 0

    def backup(self) -> "MemoryLedger":
        """A copy of all of it, as a backup has it."""
        kept = self.__class__()
        kept.rows = {name: copied(row) for name, row in self.rows.items()}
        kept.pending = {name: kept.rows[name] for name in self.pending}
        for name, rows in self.of_alert.items():
            kept.of_alert[name] = [kept.rows[row.id] for row in rows]
        kept.attempts.update({name: list(rows) for name, rows in self.attempts.items()})
        kept.stored_alerts = {name: copied(alert) for name, alert in self.stored_alerts.items()}
        for group, alerts in self.members.items():
            kept.members[group] = {alert_id: kept.stored_alerts[alert_id] for alert_id in alerts}
        kept.stored_incidents = {name: copy(incident) for name, incident in self.stored_incidents.items()}
        kept.lasting = {name: kept.stored_incidents[name] for name in self.lasting}
        kept.settings = {name: copied(setting) for name, setting in self.settings.items()}
        kept.places = {name: copied(place) for name, place in self.places.items()}
        kept.configs = dict(self.configs)
        kept.down = {name: copied(host) for name, host in self.down.items()}
        kept.hosts.update({name: dict(hosts) for name, hosts in self.hosts.items()})
        kept.sequence, kept.leases = self.sequence, self.leases
        return kept

    # --- transactions ---------------------------------------------------------------------------------

    def transaction(self, *, savepoint: bool = True) -> AbstractContextManager[Any]:
        return nullcontext()

    def is_transient(self, error: Exception) -> bool:
        """No error can be met one by one, because nothing is rolled back."""
        return True

    # --- claims and leases ----------------------------------------------------------------------------

    def begin_claim(self) -> None:
        pass

    def leased(self) -> list[LeasedNotification]:
        return [self._leased(row, row.lease_until) for row in self.pending.values() if row.lease_until]

    def _leased(self, row: Notification, until: datetime) -> LeasedNotification:
        place = self.places.get(row.destination)
        return LeasedNotification(
            destination=row.destination,
            project=row.group_id,
            host=place.host if place else "",
            until=until,
            leased=row.leased,
            worker=row.worker,
            steady=place is not None and _is_steady(place),
        )

    def release_lapsed(self, *, now: datetime, absent: Collection[int] = ()) -> int:
        lapsed = [
            row
            for row in self.pending.values()
            if row.lease_until and (is_lapsed(row.lease_until, now) or row.worker in absent)
        ]
        for row in lapsed:
            tries = self.attempts[row.id]
            if row.attempts and all(attempt.number != row.attempts for attempt in tries):
                tries.append(attempt_without_outcome(row, now))
            row.__dict__.update(RELEASED)
        return len(lapsed)

    def undecided(self, *, now: datetime, limit: int, without: Collection[str]) -> list[str]:
        turns: dict[str | None, int] = defaultdict(int)
        waiting = [
            row
            for row in self.pending.values()
            if not row.destination and row.due <= now and row.lease_token is None
        ]
        in_turn = []
        for row in sorted(waiting, key=lambda row: (row.due, row.sequence)):
            if row.group_id not in without:
                turns[row.group_id] += 1
                in_turn.append((turns[row.group_id], row.due, row.id))
        in_turn.sort()
        return [row_id for _, _, row_id in in_turn[:limit]]

    def candidates(self, *, now: datetime) -> list[Candidate]:
        ready: dict[str, list[Notification]] = defaultdict(list)
        for row in self.pending.values():
            if row.destination and row.due <= now and row.lease_token is None:
                ready[row.destination].append(row)
        open_to = {name: rows for name, rows in ready.items() if self._is_open(name, now)}
        waiting: dict[tuple[str, str], list[Notification]] = defaultdict(list)
        for row in self.pending.values() if open_to else ():
            if row.destination in open_to:
                waiting[row.destination, row.subject].append(row)
        candidates: list[Candidate] = []
        for name, rows in sorted(open_to.items()):
            place = self.places[name]
            rows.sort(key=lambda row: (row.due, row.sequence))
            first = (row for row in rows if self.is_first(row, waiting[name, row.subject], now))
            most = claim_rules.AT_ONE_DESTINATION if _is_steady(place) and not place.pace_ms else 1
            candidates += [self.candidate(row, place, place.host in self.down) for row in islice(first, most)]
        return candidates

    def _is_open(self, destination: str, now: datetime) -> bool:
        """Whether neither the destination nor its host has to be left alone until later."""
        place = self.places.get(destination)
        if place is None:
            return False
        down = self.down.get(place.host)
        waits = [place.next_try, down.next_try if down else None]
        return all(until is None or not now < until <= now + LONGEST_PAUSE for until in waits)

    @staticmethod
    def is_first(row: Notification, others: Sequence[Notification], now: datetime) -> bool:
        """Whether none of the pending notifications of its destination and subject comes before it."""
        if len(others) == 1:
            return others[0].lease_token is None
        return not any(
            other.lease_token is not None
            or (
                (other.sequence, other.id) < (row.sequence, row.id)
                and (other.due <= now or other.first_attempt is not None)
            )
            for other in others
        )

    @staticmethod
    def candidate(row: Notification, place: Destination, host_down: bool) -> Candidate:
        """The notification as a candidate at its destination."""
        return Candidate(
            id=row.id,
            destination=place.id,
            project=place.group_id,
            host=place.host,
            due=row.due,
            sequence=row.sequence,
            steady=_is_steady(place),
            host_down=host_down,
            tried=place.tried,
            gap=timedelta(milliseconds=place.pace_ms),
        )

    def take(self, *, ids: Sequence[str], worker: int, now: datetime) -> list[Notification]:
        self.leases += 1
        lease = {
            "lease_token": uuid.UUID(int=self.leases << 64 | worker),
            "lease_until": now + LEASE,
            "leased": now,
            "worker": worker,
        }
        taken = []
        for row_id in ids:
            row = self.pending.get(row_id)
            if row is not None and row.lease_token is None and row.due <= now:
                row.__dict__.update(lease)
                taken.append(copied(row))
        return taken

    def holds(self, notification: Notification) -> bool:
        """Whether the lease of a notification is still valid: its token is the fence."""
        row = self.rows.get(notification.id)
        return row is not None and row.lease_token == notification.lease_token

    def _held(self, notifications: Iterable[Notification]) -> Iterator[Notification]:
        return (self.rows[notification.id] for notification in notifications if self.holds(notification))

    def lock(self, notifications: Sequence[Notification], /) -> set[str]:
        return {row.id for row in self._held(notifications)}

    def give_back(self, notifications: Sequence[Notification], /) -> None:
        for row in self._held(notifications):
            row.__dict__.update(RELEASED)

    def release_with(self, notifications: Sequence[Notification], **changes: Any) -> int:
        rows = list(self._held(notifications))
        for row in rows:
            self._set(row, **{**RELEASED, "silenced_by": None, **changes})
        return len(rows)

    def release_merged(self, notification: Notification, **changes: Any) -> int:
        delivered = [
            row
            for row in self.of_alert[notification.alert_id or ""]
            if (row.destination, row.status) == (notification.destination, _DELIVERED)
            and row.said_members is not None
        ]
        newest = max(delivered, key=lambda row: (row.delivered, row.sequence), default=None)
        seen = {
            "said_members": newest.said_members if newest else None,
            "said_root": newest.said_root if newest else None,
        }
        return self.release_with([notification], **changes, **seen)

    def remove(self, notifications: Sequence[Notification], /) -> None:
        for row in list(self._held(notifications)):
            del self.rows[row.id]
            self.pending.pop(row.id, None)
            if row.alert_id:
                self.of_alert[row.alert_id].remove(row)

    def _set(self, row: Notification, **changes: Any) -> None:
        row.__dict__.update(changes)
        if row.status != _PENDING:
            self.pending.pop(row.id, None)

    # --- facts of decisions ---------------------------------------------------------------------------

    def members_lock(
        self, notifications: Sequence[Notification], *, wait: float
    ) -> tuple[list[Member], set[str]]:
        ids = {row.incident_id for row in notifications if row.incident_id}
        opened = (alert for name in ids for alert in self.members_with(AlertStatus.OPEN, name))
        return [Member(*(getattr(alert, name) for name in Member._fields)) for alert in opened], set()

    def incidents(self, ids: Collection[str], /) -> list[Incident]:
        incidents = [copy(self.stored_incidents[name]) for name in ids if name in self.stored_incidents]
        for incident in incidents:
            incident.lead = self.stored_alerts[incident.lead_id]
        return incidents

    def fleets_around(
        self,
        group_id: str,
        covered: Mapping[str, Collection[FleetUnit]],
        roots: Mapping[str, Collection[FleetUnit]],
        /,
    ) -> dict[str, FleetUnits]:
        hosts = list(self.hosts[group_id].values())
        fleet = FleetUnits.of(hosts)
        return {
            incident_id: fleet.only(
                {
                    *units,
                    *deciding_units(
                        [hosts[number] for number in fleet.hosts_of(units)], roots.get(incident_id, ())
                    ),
                }
            )
            for incident_id, units in covered.items()
        }

    def last_pictures(self, notifications: Collection[Notification], /) -> dict[str, Picture | None]:
        return {row.id: self._last_picture(row) for row in notifications if row.is_grouped}

    def _last_picture(self, notification: Notification) -> Picture | None:
        said = [
            row
            for row in self.of_alert[notification.alert_id or ""]
            if row.setting_id == notification.setting_id
            and row.sequence != notification.sequence
            and row.said_members is not None
            and (_was_received(row) or row.merged_into or row.kind == MessageKind.OPEN.value)
        ]

        def shown(row: Notification) -> tuple[bool, datetime, int]:
            at = row.first_attempt or (row.due if row.merged_into else None)
            return at is not None, at or _LONG_AGO, row.sequence

        last = max(said, key=shown, default=None)
        if last is None or last.said_members is None:
            return None
        return Picture(last.said_members, last.said_root or "")

    def settings_of(
        self, notifications: Iterable[Notification], /
    ) -> dict[tuple[str, str], NotificationSetting]:
        names = {row.setting_id for row in notifications}
        settings = [self.settings[name] for name in names if name in self.settings]
        return {(setting.id, setting.type_name): setting for setting in settings}

    def sent_messages(self, notifications: Collection[Notification], /) -> SentMessages:
        rows = [
            (alert_id, row.destination, row.setting_id, row.kind in ENDS)
            for alert_id in {row.alert_id for row in notifications if row.alert_id}
            for row in self.of_alert[alert_id]
            if self.was_received(row)
        ]
        return SentMessages.of(rows)

    @staticmethod
    def was_received(row: Notification) -> bool:
        """Whether its message was, or perhaps was, received."""
        return _was_received(row)

    def lapses_of(self, notifications: Sequence[Notification], /) -> dict[str, int]:
        counts: dict[str, int] = {}
        for row in notifications:
            if first := row.first_attempt:
                counts[row.id] = sum(
                    attempt.reason == AttemptFailure.NO_OUTCOME.value and attempt.ended >= first
                    for attempt in self.attempts.get(row.id, ())
                )
        return counts

    def destination_configs(self, ids: Collection[str], /) -> DestinationConfigs:
        return {name: self.configs[name] for name in ids if name in self.configs}

    def delivered(
        self, waiting: Sequence[Notification], described: Collection[SameDestination], *, now: datetime
    ) -> list[Notification]:
        places = {row.destination for row in waiting}
        return [
            row
            for alert_id in {row.alert_id for row in waiting if row.alert_id}
            for row in self.of_alert[alert_id]
            if row.status == _DELIVERED and row.destination in places
        ]

    def configs_of_settings(self, ids: Collection[str], /) -> Mapping[str, str]:
        return {name: self.settings[name].config_id for name in ids if name in self.settings}

    def messages(
        self,
        notifications: Sequence[Notification],
        *,
        incidents: Mapping[str, IncidentMessage],
        settings: Iterable[NotificationSetting],
        now: datetime,
    ) -> dict[str, Message]:
        """Return messages without documents: nobody reads them."""
        return {row.id: self._message(row, incidents.get(row.id)) for row in notifications}

    @staticmethod
    def _message(row: Notification, incident: IncidentMessage | None) -> Message:
        return Message(
            delivery_id=row.id,
            kind=MessageKind(row.kind),
            occurred_at=row.created,
            thread_key=incident.view.incident.id if incident else row.event_id or "",
            document={},
            event_type_name=incident.view.lead.event_type if incident else "",
            severity=(incident.view.severity if incident else None) or Severity.INFO,
            headline="",
            known={},
        )

    def earlier_messages(self, notifications: Sequence[Notification], /) -> dict[str, EarlierMessages]:
        return {row.id: self._earlier(row) for row in notifications}

    def _earlier(self, notification: Notification) -> EarlierMessages:
        rows = [
            row
            for row in self.of_alert[notification.alert_id or ""]
            if row.destination == notification.destination and row.handle is not None
        ]
        named = max((row for row in rows if row.handle), key=lambda row: row.sequence, default=None)
        acknowledged = [row.created for row in rows if row.kind == MessageKind.ACKNOWLEDGE.value]
        return EarlierMessages(named.handle if named else None, max(acknowledged, default=None))

    # --- attempts -------------------------------------------------------------------------------------

    def mark_begun(
        self,
        notifications: Sequence[Notification],
        *,
        with_message: Collection[str],
        changed: Collection[str],
        now: datetime,
    ) -> dict[str, tuple[int, datetime]]:
        begun: dict[str, tuple[int, datetime]] = {}
        for row in self._held(notifications):
            row.attempts += 1
            row.first_attempt = row.first_attempt or now
            row.reason, row.silenced_by = last_failure(row), None
            row.perhaps_received = row.perhaps_received or row.id in with_message
            if row.id in changed:
                row.handle = row.handle or ""
            begun[row.id] = row.attempts, row.first_attempt
        return begun

    def pictures_keep(self, pictures: Mapping[str, Picture], /) -> None:
        for row_id, picture in pictures.items():
            row = self.rows[row_id]
            row.said_members, row.said_root = picture.members, picture.root

    def attempts_record(
        self, results: Sequence[tuple[Notification, AttemptResult, TriedAttempt]], /
    ) -> list[bool]:
        written = []
        for notification, result, tried in results:
            is_written = bool(self.release_with([notification], **_changes(result)))
            if is_written:
                self.attempts[notification.id].append(tried)
            written.append(is_written)
        return written

    def set_last_notified(self, alerts: Collection[str], *, now: datetime) -> None:
        for name in alerts:
            self.stored_alerts[name].last_notified = now

    # --- destinations ---------------------------------------------------------------------------------

    def destinations_lock(self, ids: Iterable[str], /) -> None:
        pass

    def destinations_keep(self, places: Iterable[NamedDestination], *, now: datetime) -> None:
        for named in {place.id: place for place in places}.values():
            place = self.places.get(named.id)
            if place is None:
                place = self.places[named.id] = Destination(
                    id=named.id, group_id=named.group_id, is_global=named.is_global, channel=named.channel
                )
            place.updated, place.host = now, destination_host(named)
            place.recipient = named.credentials.shown[:LONGEST_RECIPIENT]
            self.configs[named.id] = named.credentials.config

    def healthy_destinations(self, ids: Collection[str], /) -> set[str]:
        places = (self.places[name] for name in ids if name in self.places)
        return {place.id for place in places if place.id in self.configs and _is_steady(place)}

    def destinations_tried(self, *, ids: Sequence[str], now: datetime) -> set[str]:
        taking = set()
        for place in (self.places[name] for name in sorted(set(ids)) if name in self.places):
            gap = PROBE_EVERY if place.failures >= PROBED_AFTER else timedelta()
            gap = max(gap, timedelta(milliseconds=place.pace_ms))
            place.tried = now
            accepted = Health(answered=place.answered, slowed=place.slowed).accepted_since_slowed
            if not place.failures and accepted:
                taking.add(place.id)
            if gap:
                place.next_try = max(place.next_try or now, now + gap)
            if down := self.down.get(place.host):
                down.next_try = now + probe_gap(down.failures)
        return taking

    def destinations_to_record(self, ids: Collection[str], /) -> list[tuple[Destination, datetime | None]]:
        places = [self.places[name] for name in sorted(ids) if name in self.places]
        return [(place, down.since if (down := self.down.get(place.host)) else None) for place in places]

    def health_write(self, row: Destination, /) -> None:
        self.places[row.id] = row

    def host_failed(self, host: str, *, now: datetime) -> None:
        down = self.down.setdefault(host, UnreachableHost(host=host, failures=0, since=now))
        down.failures += 1
        down.next_try = now + probe_gap(down.failures)

    def host_back(self, host: str, /) -> bool:
        return self.down.pop(host, None) is not None

    def retries_due(self, *, destination: str, now: datetime) -> None:
        self.due_at_once(lambda row: row.destination == destination, now)

    def retries_due_at_host(self, host: str, *, now: datetime) -> None:
        at_host = {place.id for place in self.places.values() if place.host == host}
        self.due_at_once(lambda row: row.destination in at_host, now)

    def due_at_once(self, which: Callable[[Notification], bool], now: datetime) -> None:
        """Make retries that wait for a later time due now."""
        for row in self.pending.values():
            if row.lease_token is None and row.first_attempt is not None and row.due > now and which(row):
                row.due = now

    # --- what follows ---------------------------------------------------------------------------------

    def insert(self, rows: Iterable[Notification], /, *, wakes: bool = True) -> None:
        for row in filter(is_sent, rows):
            if row.id in self.rows:
                continue
            given: object = row.sequence
            if not isinstance(given, int):  # the database's default
                self.sequence += 1
                row.sequence = self.sequence
            self.rows[row.id] = row
            if row.status == _PENDING:
                self.pending[row.id] = row
            if row.alert_id:
                self.of_alert[row.alert_id].append(row)

    def repeated_settings(self, ids: Collection[str], /) -> list[NotificationSetting]:
        settings = (self.settings[name] for name in ids if name in self.settings)
        return [setting for setting in settings if setting.interval_min is not None and not setting.removed]

    def openings_so_far(
        self, alerts: Collection[str], settings: Collection[str], /
    ) -> Iterator[OpeningsSoFar]:
        for alert_id in alerts:
            for row in self.of_alert[alert_id]:
                if row.setting_id in settings and (row.kind == MessageKind.OPEN.value or row.is_reminder):
                    yield OpeningsSoFar(
                        alert_id, row.setting_id, row.type_name, row.channel, row.kind, row.status, 1
                    )

    def recent_recipients(
        self, setting_id: str, alerts: Collection[str], *, since: datetime, now: datetime
    ) -> Iterator[tuple[str, str, str]]:
        for alert_id in alerts:
            for row in self.of_alert[alert_id]:
                is_recent = row.delivered is not None and since < row.delivered <= now + AHEAD
                is_of_setting = row.setting_id == setting_id and row.kind in OPEN_KINDS
                if is_of_setting and row.channel and (row.status == _PENDING or is_recent):
                    yield alert_id, row.channel, row.recipient

    def drop_unsent(self, alerts: Collection[str], /) -> None:
        for alert_id in alerts:
            rows = self.of_alert[alert_id]
            waiting = [row for row in rows if row.status == _PENDING and row.lease_token is None]
            for row in [row for row in waiting if not _is_sent_by_another(row, rows)]:
                self._drop(row)

    def _drop(self, row: Notification) -> None:
        reason = NotificationReason.ALERT_OVER
        planned = NotificationReason.PLANNED.value
        why = planned if row.reason == planned else reason.value
        changes = {"status": NotificationStatus.DROPPED.value, "reason": why}
        if row.perhaps_received:
            failure = not_retried(last_failure(row) or NO_ANSWER, reason)
            changes = {"status": NotificationStatus.FAILED.value, "reason": failure}
        self._set(row, silenced_by=None, **changes)

    def notified(self, alerts: Collection[str], *, or_in_progress: bool = False) -> list[Notified]:
        return [
            _notified(row)
            for alert_id in alerts
            for row in self.of_alert[alert_id]
            if row.kind not in ENDS
            and row.channel is not None
            and (self.was_received(row) or (or_in_progress and row.lease_token and row.destination))
        ]

    def reminders_decide_again(self, alert_id: str, *, now: datetime) -> None:
        held_back = NotificationReason.ACKNOWLEDGED.value
        rows = self.of_alert[alert_id]
        self._decide_again(
            (row for row in rows if (row.reason, row.kind) == (held_back, MessageKind.UPDATE.value)), now
        )

    def unmute(self, group_id: str, window_id: str, *, now: datetime) -> None:
        """Decide again on the notifications of a project that a window mutes."""
        muted = (row for row in self.pending.values() if row.silenced_by == window_id)
        self._decide_again((row for row in muted if row.group_id == group_id), now)

    @staticmethod
    def _decide_again(rows: Iterable[Notification], now: datetime) -> None:
        for row in rows:
            if row.status == _PENDING and row.due > now:
                row.due = now

    def acknowledgements_wait(self, alert_id: str, /) -> set[str]:
        return {
            row.destination
            for row in self.of_alert[alert_id]
            if row.kind == MessageKind.ACKNOWLEDGE.value
            and row.status == _PENDING
            and row.lease_token is None
        }

    # --- alerts ---------------------------------------------------------------------------------------

    def shortest_delays(self, config_ids: Collection[str], /) -> Mapping[str, timedelta]:
        settings = self.settings_of_configs(config_ids)
        return {name: min(setting.delay for setting in some) for name, some in settings.items()}

    def alerts_start(self, alerts: Sequence[Alert], /) -> set[str]:
        active = {_target(alert) for alert in self.stored_alerts.values() if alert.status in ACTIVE}
        for alert in alerts:
            if alert.id not in self.stored_alerts and _target(alert) not in active:
                active.add(_target(alert))
                self.add_alert(alert)
        return {alert.id for alert in alerts if alert.id in self.stored_alerts}

    def alerts_lock(self, ids: Collection[str], /) -> list[Alert]:
        return [copied(self.stored_alerts[name]) for name in sorted(ids) if name in self.stored_alerts]

    def values_keep(self, values: Mapping[str, tuple[float | None, datetime]], /) -> None:
        for name, (value, at) in values.items():
            self.change_alert(name, current_value=value, updated=at)

    def over_keep(self, over: Mapping[str, tuple[datetime | None, datetime]], /) -> None:
        for name, (ended, at) in over.items():
            self.change_alert(name, over=ended, updated=at)

    def alerts_set_open(self, ids: Collection[str], /, *, now: datetime) -> None:
        for name in ids:
            self.change_alert(name, status=_OPEN, updated=now, incident_id=name)

    def alerts_set_closed(self, closings: Sequence[AlertClosing], /) -> None:
        for name, incident_id, value, at, known in closings:
            last = self.stored_alerts[name].current_value if value is None else value
            closed: dict[str, Any] = {"status": AlertStatus.CLOSED.value, "over": None}
            times = {"resolved": at, "updated": known}
            self.change_alert(name, **closed, **times, incident_id=incident_id, current_value=last)

    def alerts_set_cancelled(self, ids: Collection[str], /, *, now: datetime) -> None:
        for name in ids:
            self.change_alert(name, status=AlertStatus.CANCELLED.value, resolved=now, updated=now)

    def alerts_delete(self, ids: Collection[str], /) -> None:
        for name in ids:
            alert = self.stored_alerts.pop(name)
            self._forget_member(alert.incident_id, alert)

    def signals_wait(self, alert: Alert, /, *, done: Collection[int]) -> bool:
        """No signal waits: each is evaluated when it arrives."""
        return False

    def events_record(self, *, events: Iterable[tuple[str, NewEvent]], actor: Actor, now: datetime) -> None:
        """Record nothing: nobody reads the events."""

    # --- incidents ------------------------------------------------------------------------------------

    def settings_of_configs(
        self, config_ids: Collection[str], /
    ) -> Mapping[str, Sequence[NotificationSetting]]:
        by_config: dict[str, list[NotificationSetting]] = {}
        for setting in self.settings.values():
            if setting.config_id in config_ids and not setting.removed:
                by_config.setdefault(setting.config_id, []).append(setting)
        return by_config

    def alerts(self, ids: Collection[str], /) -> Mapping[str, Alert]:
        return {name: self.stored_alerts[name] for name in ids if name in self.stored_alerts}

    def alert_units(self, alerts: Collection[OpenedAlert], /) -> Mapping[str, frozenset[FleetUnit]]:
        nothing: frozenset[FleetUnit] = frozenset()
        return {
            alert.id: named_units(alert.facts)
            | self.hosts[alert.group_id].get(alert.facts.get("hostId") or "", nothing)
            for alert in alerts
        }

    def labels_of_a_part(self, group_id: str, labels: Collection[FleetUnit], /) -> frozenset[FleetUnit]:
        hosts = self.hosts[group_id].values()
        most = int(len(hosts) * LARGEST_SHARE)
        return frozenset(label for label in labels if sum(label in units for units in hosts) <= most)

    def messages_wait(self, incidents: Sequence[Incident], /) -> list[Notification]:
        to_all = (row for row in self._messages(incidents) if row.channel in {None, row.type_name})
        return [row for row in to_all if not row.is_reminder]

    def _messages(self, incidents: Sequence[Incident]) -> list[Notification]:
        """The messages about incidents that nobody is sending."""
        names = {incident.id for incident in incidents}
        messages = [
            row
            for alert_id in {incident.lead_id for incident in incidents}
            for row in self.of_alert[alert_id]
            if row.incident_id in names and row.status == _PENDING and row.lease_token is None
        ]
        return sorted(messages, key=lambda row: row.id)

    def due_at(self, message: Notification, due: datetime, /) -> None:
        self.rows[message.id].due = due

    def changes_become(self, part: str, incidents: Sequence[Incident], *, now: datetime) -> None:
        for row in self._messages(incidents):
            if row.is_change:
                row.part, row.created, row.due = part, now, now


def _target(alert: Alert) -> tuple[str, str, str]:
    """A configuration has at most one active alert on a target."""
    return alert.config_id, alert.group_id, alert.target_key


def _notified(row: Notification) -> Notified:
    receiver = {name: getattr(row, name) for name in NOTIFIED}
    return Notified(**{**receiver, "changes_messages": row.handle is not None})


def _is_steady(place: Destination) -> bool:
    return not place.failures and place.answered is not None


def _was_received(row: Notification) -> bool:
    return row.status == _DELIVERED or row.perhaps_received


def _is_sent_by_another(row: Notification, rows: Iterable[Notification]) -> bool:
    """Whether another notification of the alert has sent, or is sending, the message to the address."""
    return any(
        other.setting_id != row.setting_id
        and (other.kind, other.destination) == (row.kind, row.destination)
        and row.destination > ""
        and (other.status == _DELIVERED or (other.status == _PENDING and other.lease_token is not None))
        for other in rows
    )


def _changes(result: AttemptResult) -> dict[str, Any]:
    """The new values of a notification; of the values that may be left out, None is left out as well."""
    always = {"status", "reason", "latency_ms"}
    written = {name: value for name, value in result.items() if name in always or value is not None}
    return {"reason": None, **written}
