"""From signal to alert, in the order things happen (architecture, "the way of a signal").

    collect ─► decide ─► apply            `evaluate_signals`: one project, or what happened without one,
                                          at a time, in one transaction
    open                                  `open_tracked`: alerts whose delay has passed

Each is called again and again by the worker and answers whether it found work. `delivery` goes on from there.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import QuerySet

from accesslist.models import Project
from alerting.choices import AlertStatus
from alerting.evaluating import evaluate
from alerting.models import Alert
from alerting.services.alerts import alerts_open
from alerting.services.locks import global_configs_try_share, project_try_lock
from events.choices import SignalKind
from events.models import Signal
from opsapi.batches import delete_batch
from opsapi.postgresql.faults import passes

logger = logging.getLogger("opsapi.pipeline")

SIGNALS_AT_ONCE = 20
EVALUATION_SECONDS = 0.5
"""After so long a transaction takes no further signal: what it changed is locked until it ends."""
SIGNALS_DROPPED_AT_ONCE = 500
ALERTS_AT_ONCE = 100
_GROUPS_TRIED = 50

# The projects with signals, found one by one in the index, so that backlogs do not matter; then what happened
# without a project. The one that was served longest ago is first.
_WAITING = """
WITH RECURSIVE waiting(group_id) AS (
    (SELECT group_id FROM events_signal WHERE failed IS NULL AND group_id IS NOT NULL
      ORDER BY group_id LIMIT 1)
    UNION ALL
    SELECT (SELECT signal.group_id FROM events_signal AS signal
             WHERE signal.failed IS NULL AND signal.group_id > waiting.group_id
             ORDER BY signal.group_id LIMIT 1)
      FROM waiting WHERE waiting.group_id IS NOT NULL
)
SELECT source.group_id FROM (
    SELECT group_id FROM waiting WHERE group_id IS NOT NULL
    UNION ALL
    SELECT NULL WHERE EXISTS (SELECT FROM events_signal WHERE failed IS NULL AND group_id IS NULL)
) AS source
  LEFT JOIN alerting_evaluationturn AS turn ON turn.group_id = coalesce(source.group_id, '')
 ORDER BY turn.served NULLS FIRST, source.group_id LIMIT %(limit)s
"""
_SERVED = """
INSERT INTO alerting_evaluationturn (group_id, served) VALUES (%(group_id)s, %(now)s)
ON CONFLICT (group_id) DO UPDATE SET served = %(now)s
"""
_OPENING = """
SELECT id FROM (
    SELECT alert.id, opens, row_number() OVER (PARTITION BY alert.group_id ORDER BY opens, alert.id) AS turn
      FROM alerting_alert AS alert
     WHERE status = 'TRACKING' AND opens <= %(now)s AND NOT EXISTS (
           SELECT FROM events_signal AS unread
            WHERE unread.group_id = alert.group_id AND unread.failed IS NULL
              AND unread.created <= alert.opens)
) AS opening ORDER BY turn, opens LIMIT %(limit)s
"""


# --- collect, decide, apply ---------------------------------------------------------------------


@transaction.atomic
def evaluate_signals(*, now: datetime) -> bool:
    """Evaluate the oldest signals of one project, or of none, that no other worker has in hand.

    Projects take turns: however many signals and configurations one has, it delays itself only.
    """
    source = _claim_source(now)
    if source is None:
        return False
    if source.is_deleted():
        # Deleted after they were written: nobody is to be told, and the purge takes them away.
        delete_batch(source.signals(), SIGNALS_DROPPED_AT_ONCE)
        return True
    until = time.monotonic() + EVALUATION_SECONDS
    for signal in source.signals().filter(failed=None).order_by("id")[:SIGNALS_AT_ONCE]:
        if _evaluated(signal, now):
            signal.delete()
        if time.monotonic() > until or signal.kind == SignalKind.VERSIONS.value:
            # The rows of the fleet that weighing versions locked are not kept: reports wait for them.
            break
    return True


@dataclass(frozen=True, slots=True)
class _Source:
    """Where signals come from: a project, or None for what happened without a project."""

    group_id: str | None

    def signals(self) -> QuerySet[Signal]:
        return Signal.objects.filter(group_id=self.group_id)

    def is_deleted(self) -> bool:
        return self.group_id is not None and not Project.objects.filter(id=self.group_id).exists()


def _claim_source(now: datetime) -> _Source | None:
    """Where there are signals and nobody holds the lock; held until the transaction ends.

    None while a global configuration is written: it may concern every project.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"limit": _GROUPS_TRIED})
        groups: list[str | None] = [group_id for (group_id,) in cursor.fetchall()]
    if not groups or not global_configs_try_share():
        return None
    source = next((_Source(group_id) for group_id in groups if project_try_lock(group_id)), None)
    if source is not None:
        with connection.cursor() as cursor:
            cursor.execute(_SERVED, {"group_id": source.group_id or "", "now": now})
    return source


def _evaluated(signal: Signal, now: datetime) -> bool:
    """Evaluate one signal; one that cannot be is set aside: it neither stops the rest nor vanishes."""
    try:
        with transaction.atomic():
            evaluate(signal, now=now)
    except Exception as error:  # whatever it is, the other signals of the project still count
        if passes(error):
            raise
        logger.exception("signal %s cannot be evaluated and was set aside", signal.pk)
        Signal.objects.filter(pk=signal.pk).update(failed=now)
        return False
    return True


# --- open ---------------------------------------------------------------------------------------


@transaction.atomic
def open_tracked(*, now: datetime) -> bool:
    """Open alerts whose smallest delay has passed; those another worker has in hand are left to it.

    Where signals from before that moment wait to be evaluated, the condition may have ended: they go first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OPENING, {"now": now, "limit": ALERTS_AT_ONCE})
        ids = [name for (name,) in cursor.fetchall()]
    due = Alert.objects.filter(id__in=ids, status=AlertStatus.TRACKING.value, opens__lte=now)
    alerts = list(due.order_by("id").select_for_update(skip_locked=True)) if ids else []
    alerts_open(alerts=alerts, now=now)
    return bool(alerts)
