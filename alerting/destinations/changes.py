"""Addresses of notifications: where the alert configuration sends each of them now."""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery
from django.utils.crypto import salted_hmac

from alerting.configs.models import NotificationSetting
from alerting.configs.store import NoCredentialsError, credentials_for, setting_credentials, type_of
from alerting.destinations.models import Destination, UnreachableHost
from alerting.destinations.rules import (
    PROBE_EVERY,
    PROBED_AFTER,
    Health,
    health_after,
    last_connections,
    probe_gap,
)
from alerting.destinations.store import waiting_for
from alerting.engine.choices import NotificationStatus
from alerting.engine.ledger import HEALTH, DestinationConfigs, Ledger, NamedDestination
from alerting.engine.models import LONGEST_RECIPIENT, Notification
from alerting.engine.schedule import redirected_row
from alerting.incidents.models import Alert
from alerting.reasons import HOLDING_BACK, AttemptFailure, NotificationReason
from integrations.channels import CHANNELS
from integrations.channels.outcome import Outcome
from integrations.choices import ENDS, FOLLOWING, ChannelType, DeliveryStatus
from opsapi.batches import delete_batch
from opsapi.encryption import CannotDecryptError, decrypt, encrypt
from opsapi.fields import Among
from opsapi.ids import ID_LENGTH
from opsapi.outbound.errors import NO_ANSWER
from opsapi.sql import execute, fetch_rows

logger = logging.getLogger("opsapi.delivery")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationAddress:
    """Where a notification goes. There are four cases:

    - settled: it is sent to the destination that it has
    - settled, with `failure`: the attempt fails with this outcome
    - not settled, with `destination`: it is addressed to this destination
    - not settled, without `destination`: it is for people, whose addresses are looked up
    """

    is_settled: bool = True
    destination: NamedDestination | None = None
    failure: Outcome | None = None


class AddressLookup:
    """Finds the addresses of notifications that are decided together, and looks up equal ones once."""

    def __init__(self, stored: DestinationConfigs) -> None:
        self._stored = stored
        self._named: dict[tuple[object, ...], NamedDestination | Outcome] = {}

    def address_of(
        self, notification: Notification, alert: Alert | None, setting: NotificationSetting | None
    ) -> NotificationAddress:
        """Return where a notification goes. Ends and acknowledgements go where the opening went."""
        if notification.channel is None:
            return NotificationAddress(is_settled=False)
        if notification.kind in FOLLOWING and notification.destination:
            if notification.destination in self._stored:
                return NotificationAddress()
            return NotificationAddress(
                failure=Outcome(DeliveryStatus.FAILED, NotificationReason.SECRETS_GONE.value, 0)
            )
        named = self._named_destination(notification, alert, setting)
        if isinstance(named, Outcome):
            return NotificationAddress(failure=named)
        # Addressing replaces stored fields that cannot be decrypted by the fields in the configuration.
        is_readable = isinstance(self._stored.get(notification.destination), Mapping)
        if named.id == notification.destination and is_readable:
            return NotificationAddress()
        return NotificationAddress(is_settled=False, destination=named)

    def _named_destination(
        self, notification: Notification, alert: Alert | None, setting: NotificationSetting | None
    ) -> NamedDestination | Outcome:
        # `alert.is_global` is not in the key, because it is the same for all alerts of a setting.
        key = (
            notification.setting_id,
            notification.type_name,
            notification.channel,
            notification.group_id,
            notification.recipient,
            notification.kind in ENDS,
        )
        if key not in self._named:
            self._named[key] = _look_up(notification, alert, setting)
        return self._named[key]


def _look_up(
    notification: Notification, alert: Alert | None, setting: NotificationSetting | None
) -> NamedDestination | Outcome:
    """Return the destination that the configuration names, or the outcome of a failed attempt."""
    try:
        credentials = credentials_for(notification, setting)
    except NoCredentialsError as error:
        return Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Retried, because another machine may have the key, or this machine after a restart.
        logger.error("notification %s cannot be sent: %s", notification.id, error)
        return Outcome(DeliveryStatus.RETRY, AttemptFailure.SECRETS_UNREADABLE.value, 0)
    group_id, channel = notification.group_id, ChannelType(str(notification.channel))
    of_global_config = setting is not None and setting.config.group_id is None
    is_global = alert.is_global if alert else of_global_config
    key = destination_id(group_id=group_id, channel=channel, config=credentials.config, is_global=is_global)
    return NamedDestination(key, group_id, channel, credentials, is_global)


class _Values(NamedTuple):
    """The values that one statement writes; `moved` if the notifications had another destination."""

    destination: str
    recipient: str
    reason: str | None
    moved: bool


def addresses_write(
    to_address: Sequence[tuple[Notification, NamedDestination]], *, now: datetime, ledger: Ledger
) -> None:
    """Address notifications, and release them: the next claim sends them. The caller locks destinations."""
    ledger.destinations_keep((destination for _, destination in to_address), now=now)
    # One statement for all notifications that get the same values.
    addressed: dict[_Values, list[Notification]] = defaultdict(list)
    for notification, destination in to_address:
        recipient = destination.credentials.shown[:LONGEST_RECIPIENT]
        moved = notification.destination not in {"", destination.id}
        if moved and notification.perhaps_received:
            _redirect(notification, destination.id, recipient, now, ledger)
        else:
            values = _Values(destination.id, recipient, last_failure(notification), moved)
            addressed[values].append(notification)
    for values, rows in addressed.items():
        # The hour of retries begins again with a new destination.
        restarted = {"first_attempt": None} if values.moved else {}
        ledger.release_with(
            rows,
            destination=values.destination,
            recipient=values.recipient,
            reason=values.reason,
            **restarted,
        )


def _redirect(
    notification: Notification, destination: str, recipient: str, now: datetime, ledger: Ledger
) -> None:
    """Fail the notification, and insert the same message for another destination.

    The earlier destination perhaps received the message. The failed notification stays in the log, so that
    the earlier destination gets the end of the alert too.
    """
    failed, reason = NotificationStatus.FAILED.value, last_failure(notification) or NO_ANSWER
    if ledger.release_with([notification], status=failed, reason=reason):
        ledger.insert([redirected_row(notification, destination, recipient, now)])


def last_failure(notification: Notification) -> str | None:
    """Return the reason of the last failed attempt; None if no attempt failed, or it was held back later.

    `_MARK_BEGUN` in `engine.postgresql`, `_TO_DROP` in `engine.schedule` and HELD_BACK state the same
    rule in SQL.
    """
    was_held_back = notification.silenced_by or notification.reason in HOLDING_BACK
    return None if was_held_back else notification.reason


CACHED = timedelta(days=1)
"""The time after which an unused destination is deleted."""
CHECKED_EVERY = timedelta(minutes=5)
"""The interval of checks whether a message may still need a destination's configuration."""
ANSWERED_WITHIN = timedelta(seconds=10)
TRIM_SECONDS = 0.3
"""After this time `destinations_trim` checks the destinations of no other project."""
_AT_ONCE = 50

_UNREACHABLE = """
INSERT INTO alerting_unreachablehost AS known (host, failures, since, next_try)
VALUES (%(host)s, 1, %(now)s, %(now)s)
ON CONFLICT (host) DO UPDATE SET failures = known.failures + 1, next_try = %(now)s
RETURNING failures
"""
_TRIED = """
UPDATE alerting_destination SET tried = %(now)s, next_try = CASE
           WHEN failures >= %(limit)s OR pace_ms > 0 THEN greatest(next_try, %(now)s + greatest(
               CASE WHEN failures >= %(limit)s THEN %(probe)s ELSE interval '0' END,
               pace_ms * interval '1 millisecond'))
           ELSE next_try END
 WHERE id IN (SELECT id FROM alerting_destination WHERE id = ANY(%(ids)s) ORDER BY id FOR UPDATE)
RETURNING CASE WHEN failures = 0 AND answered > coalesce(slowed, '-infinity') THEN id END,
          (SELECT down.host FROM alerting_unreachablehost AS down WHERE down.host = alerting_destination.host)
"""
_KEEP = """
INSERT INTO alerting_destination AS known
       (id, group_id, is_global, channel, recipient, host, config, failures, pace_ms, updated)
SELECT kept.*, 0, 0, %(now)s
  FROM unnest(%(id)s::text[], %(group_id)s::text[], %(is_global)s::boolean[], %(channel)s::text[],
              %(recipient)s::text[], %(host)s::text[], %(config)s::text[]) AS kept
ON CONFLICT (id) DO UPDATE SET updated = %(now)s, host = excluded.host, recipient = excluded.recipient,
       config = excluded.config
"""


def destination_id(
    *, group_id: str | None, channel: ChannelType, config: Mapping[str, str], is_global: bool
) -> str:
    """Return the id of the destination with this configuration. The id reveals nothing about it.

    Configurations with the same receiver have the same id (`Channel.identity`).
    """
    identity = CHANNELS[channel].identity(config)
    text = json.dumps([group_id, is_global, channel, sorted(identity.items())])
    return salted_hmac("alerting.destination", text, algorithm="sha256").hexdigest()[:ID_LENGTH]


def known_destinations(
    named: Iterable[tuple[NotificationSetting, str, bool]], *, ledger: Ledger
) -> dict[tuple[str, str, bool], str]:
    """Return the healthy destinations that settings name, by setting, project and `is_global`.

    Notifications that are due at once can be written with them, so that delivery need not look them up.
    Delivery still does for new and failing destinations, and for people.
    """
    ids: dict[tuple[str, str, bool], str] = {}
    for setting, group_id, is_global in named:
        key = (setting.id, group_id, is_global)
        if key not in ids and not type_of(setting).for_people:
            with suppress(NoCredentialsError, CannotDecryptError):  # delivery reports the error
                config = setting_credentials(setting, group_id=group_id).config
                channel = ChannelType(setting.type_name)
                ids[key] = destination_id(
                    group_id=group_id, channel=channel, config=config, is_global=is_global
                )
    if not ids:
        return {}
    known = ledger.healthy_destinations(set(ids.values()))
    return {key: name for key, name in ids.items() if name in known}


def healthy_destinations(ids: Collection[str]) -> set[str]:
    """Return which of these destinations have accepted the last message."""
    healthy = Destination.objects.filter(config__isnull=False, failures=0, answered__isnull=False)
    return set(healthy.filter(Among("id", ids)).values_list("id", flat=True))


def destinations_keep(places: Iterable[NamedDestination], *, now: datetime) -> None:
    """Store destinations with their configurations, which the ends of alerts need."""
    kept = sorted({place.id: place for place in places}.values(), key=lambda place: place.id)
    if not kept:
        return
    values: Mapping[str, Any] = {
        "id": [place.id for place in kept],
        "group_id": [place.group_id for place in kept],
        "is_global": [place.is_global for place in kept],
        "channel": [place.channel for place in kept],
        "recipient": [place.credentials.shown[:LONGEST_RECIPIENT] for place in kept],
        "host": [destination_host(place) for place in kept],
        "config": [encrypt(json.dumps(dict(place.credentials.config)), owner=place.id) for place in kept],
        "now": now,
    }
    execute(_KEEP, values)


def destination_host(place: NamedDestination) -> str:
    """Return scheme, name and port of its server; empty without an address."""
    channel, config = CHANNELS[place.channel], place.credentials.config
    return "" if channel.missing(config) else channel.origin(config)[:LONGEST_RECIPIENT]


def destinations_lock(ids: Iterable[str]) -> None:
    """Lock these destinations, in one order, until the transaction ends."""
    rows = Destination.objects.filter(Among("id", set(ids))).order_by("id")
    list(rows.select_for_update(no_key=True).values_list("id"))


def destination_configs(ids: Collection[str]) -> dict[str, dict[str, str] | CannotDecryptError]:
    """Return the configuration of each destination, or the error if it cannot be decrypted.

    Destinations whose configuration was removed, because no message needed it, are left out.
    """
    configs: dict[str, dict[str, str] | CannotDecryptError] = {}
    rows = Destination.objects.filter(Among("id", ids), config__isnull=False)
    for key, encrypted in rows.values_list("id", "config"):
        try:
            configs[key] = json.loads(decrypt(str(encrypted), owner=key))
        except CannotDecryptError as error:
            configs[key] = error
    return configs


def destinations_tried(*, ids: Sequence[str], now: datetime) -> set[str]:
    """Record that attempts begin, so that probed and paced destinations are not tried again too early.

    Return the destinations that take messages: they accepted one since they were last slowed down.
    """
    values = {"ids": sorted(ids), "now": now, "limit": PROBED_AFTER, "probe": PROBE_EVERY}
    rows = fetch_rows(_TRIED, values)
    taking = {key for key, _ in rows if key is not None}
    unreachable = {host for _, host in rows if host is not None}
    if not unreachable:
        return taking
    hosts = UnreachableHost.objects.filter(Among("host", unreachable)).order_by("host")
    for host in hosts.select_for_update():
        host.next_try = now + probe_gap(host.failures)
        host.save(update_fields=["next_try"])
    return taking


def next_tries_at_pace(ids: Collection[str]) -> dict[str, datetime | None]:
    """Return the paced destinations among these, with the time of the next message."""
    return dict(Destination.objects.filter(Among("id", ids), pace_ms__gt=0).values_list("id", "next_try"))


def destinations_record(
    *, ended: Iterable[tuple[str, datetime, Outcome]], now: datetime, ledger: Ledger
) -> None:
    """Record the outcomes for destinations and hosts. Messages for recovered ones become due now.

    `ended` are destinations, times of claims, and outcomes.
    """
    outcomes = sorted(ended, key=lambda attempt: attempt[0])
    locked = ledger.destinations_to_record({key for key, _, _ in outcomes})
    known = {row.id: row for row, _ in locked}
    attempts = [(known[key], claimed, outcome) for key, claimed, outcome in outcomes if key in known]
    for destination, claimed, outcome in attempts:
        _record(destination, outcome, now, began=claimed, ledger=ledger)
    last = last_connections((row.host, claimed, outcome) for row, claimed, outcome in attempts if row.host)
    since = {row.host: away for row, away in locked if away}
    for host, (claimed, is_connected) in sorted(last.items()):
        # Only an attempt that was claimed since then is a probe.
        if not is_connected or (host in since and claimed >= since[host]):
            _record_host(host, is_connected, now, ledger)


def _record(row: Destination, outcome: Outcome, now: datetime, *, began: datetime, ledger: Ledger) -> None:
    before = Health(**{name: getattr(row, name) for name in HEALTH})
    after = health_after(before, outcome, now, began=began)
    # Writing the time of the last answer for each message would be slow. The pace needs it.
    is_fresh = before.answered is not None and now - before.answered < ANSWERED_WITHIN and not before.pace_ms
    if is_fresh and replace(after, answered=before.answered) == before:
        return
    for name in HEALTH:
        setattr(row, name, getattr(after, name))
    row.updated = now
    ledger.health_write(row)
    if before.failures and not after.failures:
        ledger.retries_due(destination=row.id, now=now)
        logger.info("destination is back", extra=_named(row))
    elif after.failures and not before.failures:
        logger.warning("destination fails", extra={**_named(row), "reason": after.last_error})


def _named(row: Destination) -> dict[str, str]:
    return {"destination": row.id, "project": row.group_id or "-", "channel": row.channel}


def _record_host(host: str, reached: bool, now: datetime, ledger: Ledger) -> None:
    if not reached:
        ledger.host_failed(host, now=now)
    elif ledger.host_back(host):
        ledger.retries_due_at_host(host, now=now)
        logger.info("host is back", extra={"host": host})


def destinations_to_record(ids: Collection[str]) -> list[tuple[Destination, datetime | None]]:
    """Lock these destinations, in one order.

    Return them, each with the time since which its host accepts no connections; None if it does.
    """
    away = UnreachableHost.objects.filter(host=OuterRef("host")).values("since")
    rows = Destination.objects.filter(Among("id", ids)).order_by("id").annotate(away=Subquery(away))
    return [(row, row.away) for row in rows.select_for_update()]


def health_write(row: Destination) -> None:
    """Write the health of a locked destination."""
    row.save(update_fields=[*HEALTH, "updated"])


def host_failed(host: str, *, now: datetime) -> None:
    """Record that a host accepted no connection."""
    [(failures,)] = fetch_rows(_UNREACHABLE, {"host": host, "now": now})
    UnreachableHost.objects.filter(host=host).update(next_try=now + probe_gap(failures))


def host_back(host: str) -> bool:
    """Record that a host accepts connections. Return whether it accepted none before."""
    return bool(UnreachableHost.objects.filter(host=host).delete()[0])


def retries_due(*, destination: str, now: datetime) -> None:
    """Make retries at a destination due now."""
    _due_at_once(Q(destination=destination), now)


def retries_due_at_host(host: str, *, now: datetime) -> None:
    """Make retries at all destinations of a host due now."""
    _due_at_once(Q(destination__in=Destination.objects.filter(host=host).values("id")), now)


def _due_at_once(which: Q, now: datetime) -> None:
    """Make retries that wait for a later time due now, in their order."""
    waiting = Notification.objects.filter(
        which,
        status=NotificationStatus.PENDING.value,
        lease_token=None,
        first_attempt__isnull=False,
        due__gt=now,
    ).order_by("id")
    # Locked notifications are being decided on, or are finished.
    held = waiting.select_for_update(skip_locked=True)
    Notification.objects.filter(id__in=held.values("id")).update(due=now)


def destinations_trim(*, now: datetime, clock: Callable[[], float] = time.monotonic) -> bool:
    """Remove configurations that no message needs any more, and destinations unused for a day.

    A configuration is needed while a message waits for its destination, or an alert is active that it was
    notified of. A message that waits for a deleted destination is addressed again. Return whether there may
    be more.
    """
    more = _configs_trim(now, clock)
    with transaction.atomic():
        unused = Destination.objects.filter(updated__lt=now - CACHED, config=None)
        unneeded = unused.filter(~Exists(waiting_for(OuterRef("id"))))
        gone = delete_batch(unneeded, _AT_ONCE, first=("updated",))
        UnreachableHost.objects.filter(next_try__lt=now - CACHED).delete()
        waiting_for(F("destination")).filter(
            ~Exists(Destination.objects.filter(id=OuterRef("destination"))), lease_token=None
        ).update(destination="")
    return more or gone == _AT_ONCE


def _configs_trim(now: datetime, clock: Callable[[], float]) -> bool:
    """Remove the configurations of some destinations that no message needs.

    The destinations of at least one project are checked, and of other projects until TRIM_SECONDS have
    passed. Return whether there may be more.
    """
    end = clock() + TRIM_SECONDS
    old = Destination.objects.filter(updated__lt=now - CHECKED_EVERY).exclude(config=None)
    rows = list(old.order_by("updated").only("id", "group_id", "tried")[:_AT_ONCE])
    of_groups: dict[str | None, list[Destination]] = defaultdict(list)
    for row in rows:
        of_groups[row.group_id].append(row)
    checked = 0
    for group_id, of_group in of_groups.items():
        checked += _configs_trim_of(group_id, of_group, now)
        if clock() >= end:
            return checked > 0
    return checked == _AT_ONCE


# One search in all open incidents of a project for all destinations.
_NAMED_BY_INCIDENTS = """
SELECT DISTINCT message.destination
  FROM alerting_incident AS incident
  JOIN alerting_notification AS message ON message.alert_id = incident.lead_id
 WHERE incident.group_id = %(group)s AND incident.ended IS NULL AND message.destination = ANY(%(ids)s)
"""


def _configs_trim_of(group_id: str | None, rows: Sequence[Destination], now: datetime) -> int:
    """Remove the configurations of destinations of a project that no message needs.

    A project can have many open incidents, and deliveries wait for locked destinations. So the incidents are
    searched without locks, and a destination that was used meanwhile is checked later. Return how many were
    checked.
    """
    ids = [row.id for row in rows]
    named = {name for (name,) in fetch_rows(_NAMED_BY_INCIDENTS, {"group": group_id, "ids": ids})}
    before = {row.id: row.tried for row in rows}
    with transaction.atomic():
        unused = Destination.objects.filter(id__in=ids, updated__lt=now - CHECKED_EVERY).exclude(config=None)
        locked = unused.select_for_update(skip_locked=True).values_list("id", "tried")
        checked = {name for name, tried in locked if tried == before[name]}
        # After the incidents: if an incident ends in between, its end is waiting.
        needed = {name for name in checked if name in named or waiting_for(name).exists()}
        Destination.objects.filter(id__in=needed).update(updated=now)
        Destination.objects.filter(id__in=checked - needed).update(config=None)
    return len(checked)
