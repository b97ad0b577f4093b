"""Repairs stored times that lie ahead: they were written while the clock of the database was ahead.

A time that lies more than a minute ahead says nothing about when something happened, but comparisons would
believe it until then: a dead agent would count as alive for a day. The first worker that finds such times
replaces them and says so in the log. docs/clocks.md lists all stored times.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.invitations.rules import LASTS
from accesslist.kiosks.rules import LONGEST
from alerting.destinations.rules import PROBE_EVERY
from alerting.reasons import NotificationReason
from automation.leases.rules import LEASE_INTERVALS, SHORTEST_LEASE
from automation.reports.rules import NEWEST
from automation.turns.rules import TURN_LENGTH
from events.choices import Work
from events.outbox.changes import wake_workers
from opsapi.clock import AHEAD
from opsapi.sql import database_time, execute

logger = logging.getLogger("opsapi.clock")


_PROMPT = "clock_timestamp() < %(begun)s + interval '10 s'"
"""A worker that was suspended meanwhile would take the times of living agents for times that lie ahead."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Replaces the times of one column that lie ahead.

    `changes` are the assignments. `latest` is the latest time that the column can have. Rows that somebody
    locks are repaired by the next search.
    """

    table: str
    column: str
    changes: str
    latest: str = "%(ahead)s"
    only: str = "true"
    key: str = "id"

    @property
    def statement(self) -> str:
        """The statement that repairs the rows."""
        return (
            f"UPDATE {self.table} SET {self.changes} WHERE ({self.key}) IN ("  # noqa: S608 - built from constants
            f"SELECT {self.key} FROM {self.table}"
            f" WHERE {self.column} > {self.latest} AND {self.only} AND {_PROMPT}"
            " FOR NO KEY UPDATE SKIP LOCKED)"
        )


def _is_now(table: str, column: str, **options: str) -> Repair:
    return Repair(table, column, f"{column} = %(now)s", **options)


_WAITS = "status = 'PENDING' AND lease_token IS NULL"

REPAIRS: Sequence[Repair] = (
    # An agent or host counts as heard now: if it is dead, its heartbeat timeout begins now.
    _is_now("automation_agent", "last_report"),
    _is_now("automation_agent", "returned"),
    _is_now("automation_host", "last_report"),
    _is_now("automation_agent", "observed"),
    _is_now("automation_agent", "waiting_observed"),
    _is_now("automation_agent", "waiting_since"),
    _is_now("automation_host", "observed"),
    _is_now("automation_host", "measured"),
    _is_now("automation_host", "unmeasured_since"),
    # The hosts of an agent that does not ask any more become free.
    Repair(
        "automation_watcher",
        "until",
        "until = %(now)s, asked = least(asked, %(now)s)",
        latest="%(ahead)s + greatest(interval * %(lease_intervals)s, %(shortest_lease)s)",
    ),
    _is_now("automation_watcher", "asked"),
    _is_now("automation_hostlease", "free_from", latest="%(ahead)s + interval '1 day'"),
    Repair("automation_hostlease", "since", "since = %(now)s, created = least(created, %(now)s)"),
    # The turn ends, and its agent asks again.
    Repair(
        "automation_planturn",
        "expires",
        "expires = %(now)s, until = least(until, %(now)s), granted = least(granted, %(now)s)",
        latest="%(ahead)s + %(turn_length)s",
        only="ended IS NULL",
    ),
    # A turn that was held while the clock was ahead lets no other move wait for longer, and its effects are
    # not planned for longer.
    Repair(
        "automation_planturn",
        "ended",
        "ended = %(now)s, granted = least(granted, %(now)s), until = least(until, %(now)s)",
    ),
    # A turn that was renewed since then goes on.
    Repair(
        "automation_planturn",
        "granted",
        "granted = least(ended, %(now)s), until = %(now)s + greatest(until - granted, interval '0')",
    ),
    Repair(
        "automation_waitingmove",
        "asked",
        "asked = %(now)s, began = least(began, %(now)s), since = least(since, %(now)s)",
    ),
    Repair("automation_waitingmove", "began", "began = %(now)s, since = least(since, %(now)s)"),
    _is_now("automation_reportanswer", "created"),
    _is_now("automation_processstatus", "reported"),
    _is_now("accesslist_accesslistentry", "last_used"),
    _is_now("accesslist_digestuse", "used", key="nonce, nc"),
    _is_now("accesslist_secondfactor", "created"),
    Repair(
        "accesslist_invitation",
        "expires",
        "expires = %(now)s + %(invitation_lasts)s",
        latest="%(ahead)s + %(invitation_lasts)s",
    ),
    Repair(
        "accesslist_kiosk",
        "expires",
        "expires = %(now)s + %(kiosk_lasts)s",
        latest="%(ahead)s + %(kiosk_lasts)s",
    ),
    _is_now("alerting_workerheartbeat", "stuck", key="name"),
    # Delays, reminders and retries keep their distance from the time at which they were written.
    Repair(
        "alerting_notification",
        "created",
        "due = %(now)s + greatest(due - created, interval '0'), created = %(now)s,"
        " first_attempt = least(first_attempt, %(now)s)",
        latest="%(ahead)s + %(reports_ahead)s",
        only=f"{_WAITS} AND due > %(now)s AND attempts = 0",
    ),
    Repair(
        "alerting_notification",
        "due",
        "due = %(now)s",
        latest="%(now)s",
        only=f"{_WAITS} AND attempts > 0 AND EXISTS ("
        "SELECT FROM alerting_notificationattempt AS last"
        " WHERE last.notification_id = alerting_notification.id"
        " AND last.number = alerting_notification.attempts AND last.ended > %(ahead)s)",
    ),
    # What a window, a plan or a missing report held back by a clock that was ahead is decided again. A window
    # can hold back no longer than it lasts, and the clocks of a time zone change by an hour.
    Repair(
        "alerting_notification",
        "due",
        "due = %(now)s",
        latest="%(now)s",
        only=f"{_WAITS} AND EXISTS ("
        "SELECT FROM alerting_maintenancewindow AS muting WHERE muting.id = silenced_by"
        ' AND (muting.start > %(ahead)s OR due > %(ahead)s + (muting."end" - muting.start)'
        " + CASE WHEN muting.recurrence IS NULL THEN interval '0' ELSE interval '1 hour' END))",
    ),
    Repair(
        "alerting_notification",
        "due",
        "due = %(now)s",
        only=f"{_WAITS} AND reason = '{NotificationReason.PLANNED.value}' AND NOT EXISTS ("
        "SELECT FROM automation_planturn AS turn"
        " WHERE turn.group_id = alerting_notification.group_id AND turn.until >= due)",
    ),
    Repair(
        "alerting_notification",
        "due",
        "due = %(now)s",
        only=f"{_WAITS} AND reason = '{NotificationReason.UNCONFIRMED.value}'",
    ),
    Repair(
        "alerting_alert",
        "created",
        "opens = %(now)s + (opens - created), created = %(now)s, updated = least(updated, %(now)s)",
        latest="%(ahead)s + %(reports_ahead)s",
        only="status = 'TRACKING'",
    ),
    # An alert that is over waits only for signals that exist now.
    _is_now("alerting_alert", "updated", only="over IS NOT NULL"),
    Repair(
        "alerting_destination",
        "tried",
        "tried = %(now)s, next_try = NULL, paused_until = NULL, updated = least(updated, %(now)s)",
    ),
    Repair("alerting_destination", "slowed", "slowed = %(now)s"),
    Repair("alerting_destination", "updated", "updated = %(now)s, next_try = NULL, paused_until = NULL"),
    _is_now("alerting_destination", "answered"),
    _is_now("alerting_destination", "failing_since"),
    # Its secrets are deleted from then on.
    _is_now("alerting_alertconfig", "deleted"),
    # The ends of alerts from then on have its texts.
    _is_now("alerting_alertconfig", "updated"),
    _is_now("alerting_unreachablehost", "next_try", latest="%(ahead)s + %(probe)s", key="host"),
    # A message that is claimed from then on can say that the host accepts connections.
    _is_now("alerting_unreachablehost", "since", key="host"),
    # Tests from then on are remembered.
    _is_now("integrations_integration", "updated"),
    # The next accepted message is newer than the failed test.
    _is_now("integrations_integration", "test_failed"),
)
"""All columns whose times are compared and can lie ahead. Other columns are compared on both sides."""


@transaction.atomic
def times_repair(*, clock: Callable[[], datetime]) -> int:
    """Replace stored times that lie ahead of `clock`, that of the database. Return their number."""
    begun = database_time()
    now = clock()
    values: dict[str, Any] = {
        "begun": begun,
        "now": now,
        "ahead": now + AHEAD,
        "lease_intervals": LEASE_INTERVALS,
        "turn_length": TURN_LENGTH,
        "shortest_lease": SHORTEST_LEASE,
        "invitation_lasts": LASTS,
        "kiosk_lasts": LONGEST,
        "reports_ahead": NEWEST,
        "probe": PROBE_EVERY,
    }
    repaired = 0
    for repair in REPAIRS:
        if rows := execute(repair.statement, values):
            repaired += rows
            logger.warning(
                "%d times of %s.%s were ahead of the clock of the database and are replaced",
                rows,
                repair.table,
                repair.column,
            )
    if repaired:
        wake_workers(Work.MESSAGES)
    return repaired
