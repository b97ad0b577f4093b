"""The tables of delivery in memory: the rules of the claim statement, and what services write.

Each method names the SQL statement or service that it replaces. Decisions and rows come from the real code;
only the storage differs. A call is a transaction.
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeVar

from alerting import delivery
from alerting.choices import AlertStatus, DropReason, NotificationStatus, WaitReason
from alerting.models import (
    Alert,
    Destination,
    Incident,
    MaintenanceWindow,
    Notification,
    NotificationSetting,
    UnreachableHost,
)
from alerting.rules import claim_order, delivery_policy, destination_health
from alerting.rules.claim_order import Candidate, RunningRequest
from alerting.rules.delivery_policy import (
    NO_OUTCOME,
    DeliveryStep,
    DeliveryVerdict,
    Mute,
    not_retried,
    repeat_due,
)
from alerting.rules.destination_health import PROBED_AFTER, Health
from alerting.rules.matchers import MatchSubject
from alerting.rules.merging import SameDestination, merged_into
from alerting.rules.windows import WindowRule, active_windows, muting
from alerting.selectors import merged_notifications
from alerting.selectors.due_notifications import Notified, due_notification
from alerting.selectors.incidents import IncidentView, Member
from alerting.services.addressing import last_failure
from alerting.services.claims import AT_ONCE, UNDECIDED_AT_ONCE
from alerting.services.leases import LAPSES_AT_MOST, LEASE, RELEASED, leased_at
from alerting.services.notifications import alert_row, notified_row, redirected_row
from integrations.choices import ENDS, FOLLOWING, OPEN_KINDS, DeliveryFault, MessageKind
from integrations.messages import Message
from integrations.outcome import Outcome
from opsapi.ids import derived_id
from opsapi.outbound.errors import NO_ANSWER
from tests.simulation.plans import Receiver, SimulatedSetting

Row = TypeVar("Row", Notification, Alert, Destination, NotificationSetting, UnreachableHost)
PENDING = NotificationStatus.PENDING.value
_HEALTH = [field.name for field in fields(Health)]


def _incident_of(alert: Alert) -> IncidentView:
    """`incident_views`, for an alert of its own incident."""
    is_open = alert.status == AlertStatus.OPEN.value
    members = [Member(*(getattr(alert, name) for name in Member._fields))] if is_open else []
    return IncidentView(members, Incident(id=alert.id, lead=alert))


class MemoryStore:
    """Projects, alerts, notifications, destinations and hosts, by their ids."""

    def __init__(self) -> None:
        self.rows: dict[str, Notification] = {}
        self.pending: dict[str, Notification] = {}
        self.of_alert: dict[str, list[Notification]] = {}
        self.alerts: dict[str, Alert] = {}
        self.settings: list[NotificationSetting] = []
        self.places: dict[str, Destination] = {}
        self.down: dict[str, UnreachableHost] = {}
        self.windows: dict[str, list[WindowRule]] = {}
        self.tries: dict[str, list[tuple[int, str | None, datetime]]] = {}
        self.sequence = 0

    # --- what happens to alerts -----------------------------------------------------------------

    def prepare(self, settings: Sequence[SimulatedSetting], now: datetime) -> None:
        for number, setting in enumerate(settings):
            kept = NotificationSetting(
                id=f"{number:024x}",
                config_id=f"{setting.project:024x}",
                type_name="WEBHOOK",
                delay_min=setting.delay_min,
                interval_min=setting.interval_min,
                fields={"webhookUrl": setting.receiver.url},
            )
            self.settings.append(kept)

    def open(self, project: int, target: str, number: int, now: datetime) -> str:
        """`alerts_change`, for an alert that starts, and `openings_schedule`."""
        group = f"{project:024x}"
        seconds = int(now.timestamp() * 1000)
        alert_id = f"{seconds:012x}{project:04x}{int(target):04x}{number:04x}"
        if known := next((alert for alert in self.alerts if alert[12:] == alert_id[12:]), None):
            return known
        alert = Alert(
            id=alert_id,
            group_id=group,
            config_id=group,
            event_type="HOST_DOWN",
            status=AlertStatus.OPEN.value,
            target_key=target,
            created=now,
            updated=now,
            opens=now,
            incident_id=alert_id,
        )
        self.alerts[alert_id] = alert
        for setting in self.settings:
            if setting.config_id == group:
                due = now + setting.delay
                row = alert_row(setting, MessageKind.OPEN, alert, due=due, now=now)
                self._insert(row)
        return alert_id

    def close(self, alert_id: str, now: datetime) -> None:
        """`alerts_change`, for an alert that ends, and `schedule_ends`."""
        self.alerts[alert_id].status = AlertStatus.CLOSED.value
        for row in self.of_alert.get(alert_id, ()):
            is_waiting = row.status == PENDING and row.lease_token is None
            if is_waiting and not self._is_sent_by_another(row):
                self._drop(row)
        for notification in self._notified(alert_id):
            self._insert(notified_row(notification, MessageKind.CLOSE, now))

    def _is_sent_by_another(self, row: Notification) -> bool:
        """`_same_message_sent`."""
        return any(
            other.setting_id != row.setting_id
            and (other.kind, other.destination) == (row.kind, row.destination)
            and row.destination > ""
            and (
                other.status == NotificationStatus.DELIVERED.value
                or (other.status == PENDING and other.lease_token is not None)
            )
            for other in self.of_alert[str(row.alert_id)]
        )

    def _drop(self, row: Notification) -> None:
        """`notifications_drop`."""
        reason = DropReason.ALERT_OVER
        if row.perhaps_received:
            failure = not_retried(last_failure(row) or NO_ANSWER, reason)
            self._set(row, status=NotificationStatus.FAILED.value, reason=failure)
        else:
            self._set(row, status=NotificationStatus.DROPPED.value, reason=reason.value)

    def _notified(self, alert_id: str, *, or_in_progress: bool = True) -> list[Notified]:
        """`all_notified`."""
        found: dict[tuple[str, ...], Notified] = {}
        for row in self.of_alert.get(alert_id, ()):
            in_progress = or_in_progress and row.lease_token is not None and row.destination > ""
            if row.kind not in ENDS and (self._was_received(row) or in_progress):
                notified = Notified(
                    group_id=str(row.group_id),
                    alert_id=alert_id,
                    setting_id=row.setting_id,
                    type_name=row.type_name,
                    channel=str(row.channel),
                    destination=row.destination,
                    subject=row.subject,
                    recipient=row.recipient,
                    incident_id=row.incident_id,
                )
                found.setdefault(notified.key, notified)
        return list(found.values())

    @staticmethod
    def _was_received(row: Notification) -> bool:
        return row.status == NotificationStatus.DELIVERED.value or row.perhaps_received

    def acknowledge(self, alert_id: str, until: datetime, now: datetime) -> None:
        """`alert_acknowledge` and `schedule_acknowledged`."""
        alert = self.alerts[alert_id]
        if alert.status != AlertStatus.OPEN.value:
            return
        alert.acknowledged_until = until if until > now else None
        rows = list(self.of_alert.get(alert_id, ()))
        held_back = WaitReason.ACKNOWLEDGED.value
        self._decide_again(
            (row for row in rows if row.reason == held_back and row.kind == "alert.update"), now
        )
        if alert.acknowledged_until is None:
            return
        kind = MessageKind.ACKNOWLEDGE
        waiting = {
            row.destination
            for row in rows
            if row.kind == kind and row.status == PENDING and row.lease_token is None
        }
        for notification in self._notified(alert_id, or_in_progress=False):
            if notification.destination not in waiting:
                self._insert(notified_row(notification, kind, now, version=now.isoformat()))

    def window(self, project: int, number: int, columns: Mapping[str, Any], now: datetime) -> None:
        """`window_create`."""
        row = MaintenanceWindow(id=str(number), **columns)
        self.windows.setdefault(f"{project:024x}", []).append(row.rule)

    def window_gone(self, project: int, number: int, now: datetime) -> None:
        """`window_delete` and `notifications_unmute`."""
        group = f"{project:024x}"
        self.windows[group] = [window for window in self.windows.get(group, ()) if window.id != str(number)]
        held_back = [notification for notification in self.pending.values() if notification.group_id == group]
        self._decide_again(
            (notification for notification in held_back if notification.silenced_by == str(number)), now
        )

    def redirect(self, setting: int, receiver: Receiver, now: datetime) -> None:
        """`alert_config_replace`."""
        self.settings[setting].fields = {"webhookUrl": receiver.url}

    @staticmethod
    def _decide_again(rows: Iterable[Notification], now: datetime) -> None:
        """`_decide_again` of `services.notifications`."""
        for row in rows:
            if row.status == PENDING and row.due > now:
                row.due = now

    def _insert(self, row: Notification) -> None:
        """`notifications_insert`: an id that is there already is left alone."""
        if row.id in self.rows:
            return
        given: object = row.sequence
        if not isinstance(given, int):
            # The database's default.
            self.sequence += 1
            row.sequence = self.sequence
        self.rows[row.id] = self.pending[row.id] = row
        self.of_alert.setdefault(str(row.alert_id), []).append(row)

    def _set(self, row: Notification, **changes: Any) -> None:
        row.__dict__.update(changes)
        if row.status != PENDING:
            self.pending.pop(row.id, None)

    # --- claim ----------------------------------------------------------------------------------

    def claim(self, worker: int, slots: int, now: datetime) -> list[Notification]:
        """`claims.claim`."""
        held, undecided, ready = self._sorted(now)
        if lapsed := [row for row in held if row.lease_until and row.lease_until < now]:
            self._release(lapsed, now)
            held, undecided, ready = self._sorted(now)
        limit = AT_ONCE
        at_once = min(UNDECIDED_AT_ONCE, limit * 4)
        chosen = []
        # Most of the time there are none.
        if candidates := self._candidates(ready, now):
            running = [self._running_request(row, worker) for row in held if row.destination]
            chosen = claim_order.choose(candidates, running, slots=slots, now=now)[:limit]
        return self._take([*chosen, *self._in_turn(undecided)[:at_once]], worker, now)

    def _sorted(
        self, now: datetime
    ) -> tuple[list[Notification], list[Notification], dict[str, list[Notification]]]:
        """What is in progress, what is due and undecided, and what is due for each destination."""
        held: list[Notification] = []
        undecided: list[Notification] = []
        ready: dict[str, list[Notification]] = {}
        for row in self.pending.values():
            if row.lease_token is not None:
                held.append(row)
            elif row.due <= now:
                if row.destination:
                    ready.setdefault(row.destination, []).append(row)
                else:
                    undecided.append(row)
        return held, undecided, ready

    @staticmethod
    def _in_turn(undecided: list[Notification]) -> list[str]:
        """`_UNDECIDED`: projects in turn."""
        turns: dict[str, int] = {}
        found = []
        for row in sorted(undecided, key=lambda row: (row.due, row.sequence)):
            turn = turns[str(row.group_id)] = turns.get(str(row.group_id), 0) + 1
            found.append((turn, row.due, row.id))
        return [found_id for _, _, found_id in sorted(found)]

    def _candidates(self, ready: Mapping[str, list[Notification]], now: datetime) -> list[Candidate]:
        """`_CANDIDATES`."""
        open_to = {name: rows for name, rows in ready.items() if self._is_open(self.places[name], now)}
        waiting: dict[tuple[str, str], list[Notification]] = {}
        for row in self.pending.values() if open_to else ():
            if row.destination in open_to:
                waiting.setdefault((row.destination, row.subject), []).append(row)
        found: list[Candidate] = []
        for name, rows in sorted(open_to.items()):
            place = self.places[name]
            rows.sort(key=lambda row: (row.due, row.sequence))
            first = (row for row in rows if self._is_first(row, waiting[name, row.subject], now))
            answers = not place.failures and place.answered is not None
            most = claim_order.AT_ONE_DESTINATION if answers and not place.pace_ms else 1
            found += [self._candidate(row, place, place.host in self.down) for row in islice(first, most)]
        return found

    def _is_open(self, place: Destination, now: datetime) -> bool:
        """Whether neither the destination nor its host has to be left alone until later."""
        down = self.down.get(place.host)
        return not ((place.next_try and place.next_try > now) or (down and down.next_try > now))

    @staticmethod
    def _is_first(row: Notification, others: Sequence[Notification], now: datetime) -> bool:
        """The innermost subselect of `_CANDIDATES`: whether nothing of its subject comes before it."""
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
    def _candidate(row: Notification, place: Destination, host_down: bool) -> Candidate:
        return Candidate(
            id=row.id,
            destination=place.id,
            project=place.group_id,
            host=place.host,
            due=row.due,
            sequence=row.sequence,
            steady=not place.failures and place.answered is not None,
            host_down=host_down,
            tried=place.tried,
            gap=timedelta(milliseconds=place.pace_ms),
        )

    def _running_request(self, row: Notification, worker: int) -> RunningRequest:
        """`_IN_PROGRESS`."""
        place = self.places[row.destination]
        assert row.lease_until is not None
        return RunningRequest(
            destination=row.destination,
            project=row.group_id,
            host=place.host,
            began=row.lease_until - LEASE,
            steady=not place.failures and place.answered is not None,
            mine=row.worker == worker,
        )

    def _take(self, ids: Sequence[str], worker: int, now: datetime) -> list[Notification]:
        """`leases_take`; what is answered are copies, as rows that were read."""
        if not ids:
            return []
        token = uuid.UUID(int=len(self.tries) << 64 | worker << 32 | int(now.timestamp() * 1000) % 2**32)
        taken = []
        for row in (self.rows[id_] for id_ in ids):
            row.lease_token, row.lease_until, row.worker = token, now + LEASE, worker
            taken.append(_copy(row))
        return taken

    def release(self, worker: int, now: datetime) -> None:
        """`lapsed_leases_release` for a worker that is gone."""
        held = [row for row in self.pending.values() if row.lease_token is not None]
        self._release((row for row in held if row.worker == worker), now)

    def _release(self, rows: Iterable[Notification], now: datetime) -> None:
        """`lapsed_leases_release`."""
        for row in rows:
            tries = self.tries.setdefault(row.id, [])
            if row.attempts and all(number != row.attempts for number, _, _ in tries):
                tries.append((row.attempts, NO_OUTCOME, min(row.lease_until or now, now)))
            row.__dict__.update(RELEASED)

    # --- decide ---------------------------------------------------------------------------------

    def decide(self, claims: Sequence[Notification], now: datetime) -> list[delivery.DeliveryAttempt]:
        """`delivery.decide`."""
        sent = []
        for claim in claims:
            verdict = delivery_policy.decide_delivery(self._due(claim, now), now)
            if verdict.step is DeliveryStep.SEND:
                sent.append(claim)
            else:
                self._apply(verdict, claim, now)
        begun = [notification for notification in sent if self._begin(notification, now)]
        taking = self._tried({notification.destination for notification in begun}, now)
        urls = {notification.id: self.places[notification.destination].recipient for notification in begun}
        return [
            delivery.DeliveryAttempt(
                row,
                {"url": urls[row.id]},
                _MESSAGE,
                number=row.attempts,
                first_attempt=row.first_attempt,
                is_taking=row.destination in taking,
            )
            for row in begun
        ]

    def _due(self, notification: Notification, now: datetime) -> delivery_policy.DueNotification:
        """`_decide_one` up to its verdict."""
        alert = self.alerts[str(notification.alert_id)]
        fixed = notification.kind in FOLLOWING
        place = (
            notification.destination if notification.destination and fixed else self._named(notification)[0]
        )
        received = [
            row for row in self.of_alert[alert.id] if row.kind not in ENDS and self._was_received(row)
        ]
        first = notification.first_attempt
        lapsed = [ended for _, reason, ended in self.tries.get(notification.id, ()) if reason == NO_OUTCOME]
        windows = active_windows(self.windows.get(str(notification.group_id), ()), now)
        active = muting(windows, MatchSubject(hostname=f"db{alert.target_key}"))
        addressed = bool(notification.destination) and place == notification.destination
        into = self._merged(notification, now) if addressed else None
        return replace(
            due_notification(notification, _incident_of(alert)),
            addressed=addressed,
            merged_into=into.id if into else None,
            perhaps_notified=any(row.destination in (notification.destination, "") for row in received),
            lapsed_too_often=sum(first is not None and ended >= first for ended in lapsed) >= LAPSES_AT_MOST,
            mute=Mute(active.window.id, active.until) if active else None,
        )

    def _merged(self, notification: Notification, now: datetime) -> SameDestination | None:
        """`merged_notifications`, for one notification."""
        others = [
            row
            for row in self.of_alert[str(notification.alert_id)]
            if row.destination == notification.destination
            and row.status == NotificationStatus.DELIVERED.value
        ]
        return merged_into(self._described(notification), map(self._described, others), now)

    def _described(self, row: Notification) -> SameDestination:
        return merged_notifications._described(row, self.settings[int(row.setting_id, 16)])

    def _named(self, notification: Notification) -> tuple[str, str]:
        """`_named_destination`: its id, and its URL."""
        setting = self.settings[int(notification.setting_id, 16)]
        url: str = setting.fields["webhookUrl"]
        return destination_of(str(notification.group_id), url), url

    def _apply(self, verdict: DeliveryVerdict, notification: Notification, now: datetime) -> None:
        """The cases of `_decide_one` that finish a notification."""
        match verdict.step:
            case DeliveryStep.DROP:
                self.finish(notification, status=NotificationStatus.DROPPED.value, reason=verdict.reason)
            case DeliveryStep.MERGE:
                self._merge(notification, verdict, now)
            case DeliveryStep.REMOVE:
                self._remove(notification)
            case DeliveryStep.POSTPONE:
                self._postpone(notification, verdict)
            case DeliveryStep.GIVE_UP:
                failure = last_failure(notification) or NO_ANSWER
                reason = verdict.reason or not_retried(failure, verdict.stopped)
                if self.finish(notification, status=NotificationStatus.FAILED.value, reason=reason):
                    self._follow_up(notification, now)
            case DeliveryStep.ADDRESS:
                self._address(notification, now)

    def _merge(self, notification: Notification, verdict: DeliveryVerdict, now: datetime) -> None:
        """`_drop` of `delivery`, for a merged notification."""
        into = self._merged(notification, now)
        assert into is not None
        dropped = NotificationStatus.DROPPED.value
        if self.finish(notification, status=dropped, reason=verdict.reason, merged_into=into.id):
            self._follow_up(notification, now)

    def _postpone(self, notification: Notification, verdict: DeliveryVerdict) -> None:
        """`_postpone`."""
        keeps_destination = notification.perhaps_received or notification.kind in FOLLOWING
        self.finish(
            notification,
            due=verdict.until,
            reason=verdict.reason,
            silenced_by=verdict.silenced_by,
            first_attempt=None,
            destination=notification.destination if keeps_destination else "",
        )

    def _remove(self, notification: Notification) -> None:
        if self.holds(notification):
            row = self.rows.pop(notification.id)
            self.pending.pop(notification.id, None)
            self.of_alert[str(notification.alert_id)].remove(row)

    def _address(self, notification: Notification, now: datetime) -> None:
        """`_address`, with `destinations_keep`."""
        place, url = self._named(notification)
        if place not in self.places:
            host = url.rpartition("/")[0]
            self.places[place] = Destination(
                id=place,
                group_id=notification.group_id,
                channel="WEBHOOK",
                recipient=url,
                host=host,
                updated=now,
            )
        if notification.perhaps_received and notification.destination:
            if self.finish(
                notification,
                status=NotificationStatus.FAILED.value,
                reason=last_failure(notification) or NO_ANSWER,
            ):
                self._insert(redirected_row(notification, place, url, now))
            return
        moved = {"first_attempt": None} if notification.destination else {}
        self.finish(
            notification, destination=place, recipient=url, reason=last_failure(notification), **moved
        )

    def _begin(self, notification: Notification, now: datetime) -> bool:
        """`_MARK_BEGUN`."""
        if not self.holds(notification):
            return False
        row = self.rows[notification.id]
        row.attempts += 1
        row.first_attempt = row.first_attempt or now
        row.perhaps_received = True
        row.reason, row.silenced_by = last_failure(row), None
        notification.attempts, notification.first_attempt = row.attempts, row.first_attempt
        return True

    def _tried(self, names: Collection[str], now: datetime) -> set[str]:
        """`destinations_tried`."""
        taking = set()
        for name in sorted(names):
            place = self.places[name]
            gap = destination_health.PROBE_EVERY if place.failures >= PROBED_AFTER else timedelta()
            gap = max(gap, timedelta(milliseconds=place.pace_ms))
            place.tried = now
            if (
                not place.failures
                and Health(answered=place.answered, slowed=place.slowed).accepted_since_slowed
            ):
                taking.add(name)
            if gap:
                place.next_try = max(place.next_try or now, now + gap)
            if down := self.down.get(place.host):
                down.next_try = now + destination_health.probe_gap(down.failures)
        return taking

    def holds(self, notification: Notification) -> bool:
        """The fence."""
        row = self.rows.get(notification.id)
        return row is not None and row.lease_token == notification.lease_token

    def finish(self, notification: Notification, **changes: Any) -> bool:
        """`leases_release_with`."""
        if not self.holds(notification):
            return False
        self._set(self.rows[notification.id], **{**RELEASED, "silenced_by": None, **changes})
        return True

    # --- record ---------------------------------------------------------------------------------

    def record(self, ended: Sequence[tuple[delivery.DeliveryAttempt, Outcome]], now: datetime) -> None:
        """`delivery.record`."""
        recorded = [
            (attempt, outcome) for attempt, outcome in ended if self._record_one(attempt, outcome, now)
        ]
        for attempt, outcome in recorded:
            notification = attempt.notification
            self.tries.setdefault(notification.id, []).append((notification.attempts, outcome.reason, now))
        tried = [
            (attempt, outcome) for attempt, outcome in recorded if outcome.fault is not DeliveryFault.WORKER
        ]
        attempts = [
            (attempt.notification.destination, leased_at(attempt.notification), outcome)
            for attempt, outcome in tried
        ]
        self._record_destinations(attempts, now)

    def _record_one(self, attempt: delivery.DeliveryAttempt, outcome: Outcome, now: datetime) -> bool:
        """`delivery.record`, for one attempt."""
        notification = attempt.notification
        incident = _incident_of(self.alerts[str(notification.alert_id)])
        changes = delivery._result_of(attempt, {incident.incident.id: incident}, outcome, now)
        if not self.finish(notification, **changes):
            return False
        if changes["status"] in delivery._DELIVERED_OR_FAILED:
            self._follow_up(notification, now)
        return True

    def _follow_up(self, notification: Notification, now: datetime) -> None:
        """`schedule_follow_ups` and `schedule_reminders`."""
        alert = self.alerts[str(notification.alert_id)]
        setting = self.settings[int(notification.setting_id, 16)]
        due = repeat_due(setting.interval, now)
        if notification.kind not in OPEN_KINDS or alert.status != AlertStatus.OPEN.value or due is None:
            return
        rows = [row for row in self.of_alert[alert.id] if row.setting_id == setting.id]
        if any(row.kind in OPEN_KINDS and row.status == PENDING for row in rows):
            return
        kind = MessageKind.UPDATE
        number = sum(row.kind == kind for row in rows)
        self._insert(alert_row(setting, kind, alert, due=due, now=now, number=number))

    def _record_destinations(self, ended: Sequence[tuple[str, datetime, Outcome]], now: datetime) -> None:
        """`destinations_record`."""
        for name, began, outcome in sorted(ended, key=lambda result: result[0]):
            place = self.places[name]
            before = Health(**{field: getattr(place, field) for field in _HEALTH})
            after = destination_health.health_after(before, outcome, now, began=began)
            for field in _HEALTH:
                setattr(place, field, getattr(after, field))
            if before.failures and not after.failures:
                self.due_at_once(partial(_goes_to, name), now)
        last = destination_health.last_connections(
            (self.places[name].host, claimed, outcome) for name, claimed, outcome in ended
        )
        for host, (claimed, is_connected) in sorted(last.items()):
            down = self.down.get(host)
            if not is_connected or (down and claimed >= down.since):
                self._record_host(host, is_connected, now)

    def _record_host(self, host: str, reached: bool, now: datetime) -> None:
        """`_record_host`."""
        if not reached:
            down = self.down.setdefault(host, UnreachableHost(host=host, failures=0, since=now))
            down.failures += 1
            down.next_try = now + destination_health.probe_gap(down.failures)
        elif self.down.pop(host, None):
            self.due_at_once(
                lambda row: bool(row.destination) and self.places[row.destination].host == host, now
            )

    def due_at_once(self, which: Callable[[Notification], bool], now: datetime) -> None:
        """`_due_at_once`."""
        for row in self.pending.values():
            if row.lease_token is None and row.first_attempt is not None and row.due > now and which(row):
                row.due = now

    # --- looking on -----------------------------------------------------------------------------

    def next_time(self) -> datetime | None:
        """The earliest time at which something may be claimed, or lapses."""
        rows = self.pending.values()
        # What waits for another of its destination or subject is looked at again after that.
        busy = {row.destination for row in rows if row.lease_token is not None and row.destination}
        tried = {(row.destination, row.subject): row for row in rows if row.first_attempt}
        times = [
            self._next_of(row)
            for row in rows
            if row.lease_token is not None
            or (
                row.destination not in busy
                and tried.get((row.destination, row.subject), row).sequence >= row.sequence
            )
        ]
        return min(times, default=None)

    def _next_of(self, row: Notification) -> datetime:
        if row.lease_until is not None:
            return row.lease_until
        place = self.places.get(row.destination)
        if place is None:
            return row.due
        down = self.down.get(place.host)
        return max(row.due, place.next_try or row.due, down.next_try if down else row.due)

    def notifications(self) -> list[Notification]:
        return list(self.rows.values())

    def statuses(self) -> dict[str, str]:
        return {alert.id: alert.status for alert in self.alerts.values()}

    def place(self, destination: str) -> Destination | None:
        return self.places.get(destination)

    def backup(self) -> "MemoryStore":
        """A copy of all of it."""
        kept = MemoryStore()
        kept.rows = {name: _copy(row) for name, row in self.rows.items()}
        kept.pending = {name: kept.rows[name] for name in self.pending}
        kept.of_alert = {name: [kept.rows[row.id] for row in rows] for name, rows in self.of_alert.items()}
        kept.alerts = {name: _copy(alert) for name, alert in self.alerts.items()}
        kept.settings = [_copy(setting) for setting in self.settings]
        kept.places = {name: _copy(place) for name, place in self.places.items()}
        kept.down = {name: _copy(host) for name, host in self.down.items()}
        kept.windows = {name: list(spans) for name, spans in self.windows.items()}
        kept.tries = {name: list(tries) for name, tries in self.tries.items()}
        kept.sequence = self.sequence
        return kept


def _goes_to(destination: str, row: Notification) -> bool:
    return row.destination == destination


def _copy(row: Row) -> Row:
    """The row as another reads it."""
    copied = row.__class__.__new__(row.__class__)
    copied.__dict__.update(row.__dict__)
    return copied


@lru_cache(maxsize=4096)
def destination_of(group_id: str, url: str) -> str:
    """In place of `destination_id`, which differs from installation to installation."""
    return derived_id(group_id, url, time_digits=0)


_MESSAGE = Message(
    delivery_id="",
    kind=MessageKind.OPEN,
    occurred_at=datetime(2030, 1, 1, tzinfo=UTC),
    thread_key="",
    document={},
    event_type_name="HOST_DOWN",
    headline="",
    known={},
)
