"""Writes to the signal outbox, always in the transaction of the caller."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from events.choices import SignalKind, Work
from events.outbox.models import Signal
from opsapi.batches import batches
from opsapi.sql import each_value, execute, fetch_rows, insert_from_arrays
from opsapi.wire_json import JsonObject, write_json

WAKE_CHANNEL = "opsapi_work"


def signal_record(*, group_id: str, kind: SignalKind, payload: Mapping[str, Any], now: datetime) -> None:
    """Leave work for alerting, and wake the workers when the transaction commits."""
    signals_record(kind=kind, payloads=[(group_id, payload)], now=now)


def signals_record(
    *,
    kind: SignalKind,
    payloads: Iterable[tuple[str | None, Mapping[str, Any]]],
    now: datetime,
    observed: datetime | None = None,
    held_by: str | None = None,
    agent_id: str | None = None,
) -> None:
    """As `signal_record`, for pairs of a project id (or None) and a payload.

    `observed`: when its cause was observed, if that was before `now`. `held_by`: the id of an agent whose
    other reports wait; the signals are evaluated after `signals_release`, and are `LATE`. `agent_id`: the id
    of an agent if the signals can end only alerts about its hosts and their replica sets. Until they are
    evaluated, only these alerts wait for them, as for all signals that the agent holds.
    """
    signals_insert(
        Signal(
            created=now,
            group_id=group_id,
            kind=kind.value,
            payload=marked(payload, held_by, agent_id),
            # Its release changes `created`.
            observed=observed or (now if held_by else None),
            held_by=held_by,
            agent_id=held_by or agent_id,
        )
        for group_id, payload in payloads
    )


LATE = "late"
"""The field of a signal that was held: the id of the agent that reported it."""


_ANY_TARGET = "anyTarget"
"""The field of a held signal that can end alerts about any target of the project."""


def marked(payload: Mapping[str, Any], held_by: str | None, agent_id: str | None) -> dict[str, Any]:
    """Return the payload of a signal, with the marks of a held signal; see `signals_record`."""
    if held_by is None:
        return dict(payload)
    return {**payload, LATE: held_by} if agent_id else {**payload, LATE: held_by, _ANY_TARGET: True}


# Locked in the order of their ids, because reports and workers release signals concurrently.
_RELEASE = f"""
UPDATE events_signal
   SET held_by = NULL, created = %(now)s,
       agent_id = CASE WHEN payload ? '{_ANY_TARGET}' THEN NULL ELSE agent_id END
 WHERE id IN (SELECT id FROM events_signal WHERE held_by = ANY(%(agents)s) ORDER BY id FOR UPDATE)
"""  # noqa: S608 - built from constants
_HOLDING = each_value(
    "holding",
    "held_by",
    table="events_signal",
    where="held_by IS NOT NULL",
    order="held_by, coalesce(observed, created)",
)
_HOLDERS = f"{_HOLDING} SELECT held_by FROM holding WHERE held_by IS NOT NULL"  # noqa: S608 - constants
# Of each agent, as many signals are counted as can be released at once. The agents with few come first.
_FEW = """
SELECT agent FROM (
    SELECT agent, sum(number) OVER (ORDER BY number, agent) - number AS before
      FROM unnest(%(agents)s::text[]) AS holder (agent)
     CROSS JOIN LATERAL (
           SELECT count(*) AS number FROM (
                  SELECT FROM events_signal AS held
                   WHERE held.held_by = holder.agent
                   ORDER BY held.held_by, coalesce(held.observed, held.created) LIMIT %(most)s
                  ) AS held
           ) AS counted
) AS holder WHERE before < %(most)s ORDER BY before
"""


def signal_holders() -> set[str]:
    """Return the ids of the agents that hold signals; an agent that was deleted can hold signals."""
    return {holder for (holder,) in fetch_rows(_HOLDERS)}


def agents_with_few_signals(agents: Collection[str], *, most: int) -> list[str]:
    """Return agents that hold `most` signals together, the agents with few first. The last may exceed it."""
    return [agent for (agent,) in fetch_rows(_FEW, {"agents": list(agents), "most": most})]


def signals_release(*, agents: Collection[str], now: datetime) -> int:
    """Release the signals that these agents hold, in their order, for evaluation. Return their number."""
    released = execute(_RELEASE, {"agents": list(agents), "now": now})
    if released:
        wake_workers(Work.SIGNALS)
    return released


_SIGNAL_COLUMNS = {
    "created": "timestamptz",
    "group_id": "text",
    "kind": "text",
    "payload": "jsonb",
    "number_of_hosts": "smallint",
    "observed": "timestamptz",
    "held_by": "text",
    "agent_id": "text",
}
_INSERT_SIGNALS = f"""
WITH inserted AS ({insert_from_arrays("events_signal", _SIGNAL_COLUMNS)})
SELECT pg_notify('{WAKE_CHANNEL}', '{Work.SIGNALS.value}')
"""


def signals_insert(signals: Iterable[Signal]) -> None:
    """Insert signals and wake the workers when the transaction commits."""
    needs_transaction()
    for batch in batches(signals):
        columns: JsonObject = {
            name: [getattr(signal, name) for signal in batch]
            for name in ("created", "group_id", "kind", "observed", "held_by", "agent_id")
        }
        columns["payload"] = [write_json(signal.payload).decode() for signal in batch]
        columns["number_of_hosts"] = [len(signal.payload.get("hosts", (signal,))) for signal in batch]
        execute(_INSERT_SIGNALS, columns)


def wake_workers(work: Work) -> None:
    """Notify listening workers of new work. PostgreSQL sends it on commit, once per transaction."""
    execute(f"NOTIFY {WAKE_CHANNEL}, '{work.value}'")


def needs_transaction() -> None:
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("events and signals belong to the caller's transaction")
