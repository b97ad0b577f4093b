"""The order of evaluation: the project that used least of the workers' time has the next turn.

Signals without a project have turns like a project.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from alerting.configs.locks import try_lock
from alerting.engine.models import EvaluationTurn
from alerting.engine.queues import PROJECTS_WITH_SIGNALS
from alerting.engine.rules import Progress, progress_of
from alerting.engine.usage_rules import UNIT_SECONDS, minute_of
from events.choices import SignalKind
from events.models import Signal
from opsapi.batches import delete_batch
from opsapi.sql import execute, fetch_rows

SIGNALS_AT_ONCE = 200
HOSTS_AT_ONCE = 200
"""The number of hosts whose signals are read together: reading more may take longer than evaluating."""
SIGNALS_DROPPED_AT_ONCE = 500
_GROUPS_TRIED = 50

# The projects with signals, found one by one in the index, so that backlogs do not matter; then signals
# without a project. The project that used least of the workers' time in this minute and the last comes first
# (`engine.usage_rules`), of these the project that was evaluated longest ago; the first with free locks is
# chosen.
_TAKE = f"""
{PROJECTS_WITH_SIGNALS}
SELECT group_id FROM (
    SELECT source.group_id FROM (
        SELECT group_id FROM waiting WHERE group_id IS NOT NULL
        UNION ALL
        SELECT '' WHERE EXISTS (
               SELECT FROM events_signal
                WHERE failed IS NULL AND held_by IS NULL AND group_id IS NULL)
    ) AS source LEFT JOIN alerting_evaluationturn AS turn USING (group_id)
                LEFT JOIN alerting_projectusage AS used USING (group_id)
     ORDER BY floor(CASE used.minute WHEN %(minute)s THEN used.seconds + used.seconds_before
                                     WHEN %(minute)s - 1 THEN used.seconds ELSE 0 END / %(unit)s),
              turn.served NULLS FIRST, source.group_id LIMIT %(limit)s
) AS source
 WHERE {try_lock("group_id")} LIMIT 1
"""  # noqa: S608 - built from constants
# The project is now the last, even if the clock has stepped back. A separate statement, which sees all
# transactions that were committed before the lock.
_SERVE = """
INSERT INTO alerting_evaluationturn AS turn (group_id, served)
SELECT %(group_id)s, greatest(%(now)s, max(served) + interval '1 microsecond') FROM alerting_evaluationturn
ON CONFLICT (group_id) DO UPDATE SET served = excluded.served
RETURNING group_id <> '' AND NOT EXISTS (
          SELECT FROM accesslist_project AS project WHERE project.id = turn.group_id AND deleted IS NULL),
          progress::text
"""
# A signal may contain hundreds of hosts. A column has their number, because reading the payloads of many
# signals to count the hosts takes long. Signals of an earlier version have no number.
_NEXT = """
SELECT id, created, group_id, kind, payload, number_of_hosts, observed, held_by, failed FROM (
    SELECT *, sum(size) OVER (ORDER BY id) - size AS hosts_before FROM (
        SELECT *, coalesce(number_of_hosts, jsonb_array_length(payload -> 'hosts'), 1) AS size
          FROM events_signal
         WHERE {source} AND failed IS NULL AND held_by IS NULL
         ORDER BY id LIMIT %(signals)s) AS oldest) AS counted
 WHERE hosts_before < %(hosts)s ORDER BY id
"""
_NEXT_OF_GROUP = _NEXT.format(source="group_id = %(group_id)s")
_NEXT_OF_NO_GROUP = _NEXT.format(source="group_id IS NULL")


@dataclass(frozen=True, slots=True)
class Turn:
    """A project whose signals only this transaction evaluates; None: signals without a project.

    `project_is_deleted`: the project was deleted after its signals were written. `progress`: what the last
    turn began and did not finish.
    """

    group_id: str | None
    project_is_deleted: bool
    progress: Progress | None = None

    def next_signals(self) -> list[Signal]:
        """Read the signals of the progress; without progress, the oldest signals.

        These are up to HOSTS_AT_ONCE hosts and SIGNALS_AT_ONCE signals, or one signal without a project,
        because it ends the turn.
        """
        if self.progress is not None:
            begun = Signal.objects.filter(
                id__in=self.progress.signals, group_id=self.group_id, failed=None
            ).order_by("id")
            return list(begun)
        statement = _NEXT_OF_NO_GROUP if self.group_id is None else _NEXT_OF_GROUP
        values: Mapping[str, Any] = {
            "group_id": self.group_id,
            "signals": 1 if self.group_id is None else SIGNALS_AT_ONCE,
            "hosts": HOSTS_AT_ONCE,
        }
        return list(Signal.objects.raw(statement, values))

    def keep(self, progress: Progress | None) -> None:
        """Keep where the next turn continues, in the transaction that writes the changes."""
        if progress != self.progress:
            stored = progress.stored() if progress else None
            EvaluationTurn.objects.filter(group_id=self.group_id or "").update(progress=stored)

    def drop_signals(self) -> int:
        """Delete a batch of the signals without evaluating them, and return their number.

        CANCELLED signals stay.
        """
        signals = Signal.objects.filter(group_id=self.group_id).exclude(kind=SignalKind.CANCELLED.value)
        return delete_batch(signals, SIGNALS_DROPPED_AT_ONCE)


def turn_skip(group_id: str | None, *, now: datetime) -> None:
    """Let other projects be first, after the transaction of a turn was rolled back."""
    execute(_SERVE, {"group_id": group_id or "", "now": now})


def turn_take(*, now: datetime) -> Turn | None:
    """Lock the project whose turn it is and that is not locked, until the transaction ends.

    Projects that used less of the workers' time come first, then projects that have waited longer.

    None if no signal waits, or while a global configuration is written, because it may apply to every
    project.
    """
    taken = fetch_rows(_TAKE, {"limit": _GROUPS_TRIED, "minute": minute_of(now), "unit": UNIT_SECONDS})
    if not taken:
        return None
    [(group_id,)] = taken
    [(project_is_deleted, progress)] = fetch_rows(_SERVE, {"group_id": group_id, "now": now})
    return Turn(
        group_id or None, project_is_deleted, progress_of(orjson.loads(progress)) if progress else None
    )


def signals_delete(ids: Sequence[int]) -> None:
    execute("DELETE FROM events_signal WHERE id = ANY(%s)", [list(ids)])
