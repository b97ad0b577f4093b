"""How noisy alert configurations are: two statements, however many configurations and alerts there are."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, FloatField, OrderBy
from django.db.models.sql.compiler import SQLCompiler

from alerting.configs.models import AlertConfig
from alerting.configs.store import shortest_delays
from alerting.insight.noise import FLAP_WITHIN, PERIOD, Noise, alerts_per_week
from alerting.insight.suggestions import LONGEST_DELAY_MIN, suggest_delay
from events.retention import kept_rows
from opsapi import clock
from opsapi.sql import fetch_rows, statements_within, took_too_long

NOISE_SECONDS: Final = 5.0
"""The longest time of a statement about noise."""

# The alerts that opened. A pending alert that ended is no noise. The index alert_config_noise has all columns
# of this statement.
# A target is identified by a 64-bit hash, because sorting by names takes much longer. Equal hashes of two
# targets are hardly possible, and only change the number of flaps.
_OPENED = """
SELECT config_id, created, resolved, acknowledged_until,
       extract(epoch FROM resolved - created) AS seconds,
       created - lag(resolved) OVER (
           PARTITION BY config_id, hashtextextended(target_key, hashtextextended(group_id, 0))
           ORDER BY created, id) AS pause
  FROM alerting_alert
 WHERE created >= %(since)s AND (status = 'OPEN' OR resolved >= opens)"""
_FLAPS = "count(*) FILTER (WHERE pause < %(flap)s)"
_MEDIAN = "percentile_disc(0.5) WITHIN GROUP (ORDER BY seconds)"
_ACKNOWLEDGED = "count(*) FILTER (WHERE acknowledged_until IS NOT NULL)"
_SHORTER = ", ".join(
    f"count(*) FILTER (WHERE seconds < {minutes * 60})" for minutes in range(1, LONGEST_DELAY_MIN + 1)
)
_NOISE = f"""
SELECT config_id, count(*), {_MEDIAN}, {_FLAPS}, {_ACKNOWLEDGED}, ARRAY[{_SHORTER}]
  FROM ({_OPENED} AND config_id = ANY(%(ids)s)) AS opened GROUP BY config_id
"""  # noqa: S608 - built from constants
_DELIVERED = """
  FROM alerting_alert AS alert
  JOIN alerting_notification AS notification ON notification.alert_id = alert.id
 WHERE alert.created >= %(since)s AND notification.status = 'DELIVERED'"""
_DAYS = f"""
SELECT config_id, floor(extract(epoch FROM %(until)s - created) / 86400)::int AS days_ago, count(*)
  FROM ({_OPENED} AND created <= %(until)s AND config_id = ANY(%(ids)s)) AS opened GROUP BY 1, 2
"""  # noqa: S608 - built from constants
_MESSAGES = f"""
SELECT alert.config_id, count(*) {_DELIVERED} AND alert.config_id = ANY(%(ids)s) GROUP BY alert.config_id
"""


class NoiseUnknownError(Exception):
    """The noise could not be counted in time."""


@contextmanager
def noise_within_time() -> Iterator[None]:
    """Let PostgreSQL end a statement about noise after NOISE_SECONDS.

    Raises: NoiseUnknownError: a statement took longer.
    """
    try:
        with transaction.atomic(), statements_within(NOISE_SECONDS):
            yield
    except OperationalError as error:
        if not took_too_long(error):
            raise
        raise NoiseUnknownError from None


def noise_since(now: datetime) -> datetime:
    """The start of the period: ended alerts that retention has deleted are not counted."""
    return now - min(PERIOD, kept_rows().alerts.period or PERIOD)


def noise_of(configs: Collection[AlertConfig], *, now: datetime) -> dict[str, Noise]:
    """The noise of each configuration, by its ID. Call it within `noise_within_time`."""
    ids = [config.id for config in configs]
    since = noise_since(now)
    parameters: Mapping[str, Any] = {"ids": ids, "since": since, "flap": FLAP_WITHIN}
    counted = {config_id: row for config_id, *row in fetch_rows(_NOISE, parameters)}
    messages = dict(fetch_rows(_MESSAGES, parameters))
    delays = shortest_delays(ids)
    return {
        config.id: _noise(
            config,
            counted.get(config.id),
            messages.get(config.id, 0),
            delays=delays,
            since=since,
            now=now,
        )
        for config in configs
    }


def alerts_per_day(configs: Collection[AlertConfig], *, now: datetime) -> dict[str, list[int]]:
    """The alerts of each configuration in each of the last 24 hours of PERIOD, oldest first, by its ID.

    Call it within `noise_within_time`.
    """
    parameters = {"ids": [config.id for config in configs], "since": noise_since(now), "until": now}
    days = {config.id: [0] * PERIOD.days for config in configs}
    for config_id, days_ago, count in fetch_rows(_DAYS, parameters):
        if days_ago < PERIOD.days:
            days[config_id][-1 - days_ago] = count
    return days


def _noise(
    config: AlertConfig,
    row: list[Any] | None,
    messages: int,
    *,
    delays: Mapping[str, timedelta],
    since: datetime,
    now: datetime,
) -> Noise:
    if row is None:
        return Noise(since=since, until=now)
    alerts, median, flaps, acknowledged, shorter = row
    suggestion = suggest_delay(alerts, shorter, delay=delays.get(config.id, timedelta()))
    return Noise(
        since=since,
        until=now,
        alerts=alerts,
        per_week=alerts_per_week(alerts, since=since, created=config.created, until=now),
        median=None if median is None else timedelta(seconds=float(median)),
        flaps=flaps,
        acknowledged=acknowledged,
        messages=messages,
        suggestions=[suggestion] if suggestion else [],
    )


_OF_ROW = "config_id = alerting_alertconfig.id"
FIGURES: Final[Mapping[str, str]] = {
    "alerts": f"SELECT nullif(count(*), 0) FROM ({_OPENED} AND {_OF_ROW}) AS opened",  # noqa: S608 - constants
    "median": f"SELECT {_MEDIAN} FROM ({_OPENED} AND {_OF_ROW}) AS opened",  # noqa: S608 - constants
    "flaps": f"SELECT CASE WHEN count(*) > 0 THEN {_FLAPS} END FROM ({_OPENED} AND {_OF_ROW}) AS opened",  # noqa: S608 - constants
    "acknowledged": f"SELECT {_ACKNOWLEDGED}::float / nullif(count(*), 0) "  # noqa: S608 - constants
    f"FROM ({_OPENED} AND {_OF_ROW}) AS opened",
    # Counted once for all rows: with a million messages, looking each up takes far longer.
    "messages": "WITH counted AS MATERIALIZED "  # noqa: S608 - constants
    f"(SELECT alert.config_id, count(*) AS figure {_DELIVERED} "
    f"GROUP BY alert.config_id) SELECT (SELECT figure FROM counted WHERE {_OF_ROW})",
}
"""The figures by which configurations can be sorted, as SQL; null without alerts."""


class NoiseFigure(Expression):
    """A figure of a configuration's noise, for sorting configurations."""

    output_field = FloatField()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[Any, ...]]:
        """The figure of the row of the statement, over the period before now."""
        named = {"since": noise_since(clock.now()), "flap": FLAP_WITHIN}
        return _positional(f"({FIGURES[self.name]})", named)


class NoiseOrder(OrderBy):
    """The order by a figure of noise. Configurations without alerts are last, in both directions."""

    def __init__(self, name: str, *, descending: bool = False) -> None:
        super().__init__(NoiseFigure(name), descending=descending, nulls_last=True)

    def reverse_ordering(self) -> "NoiseOrder":
        """Only the direction changes."""
        self.descending = not self.descending
        return self


def _positional(statement: str, named: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]]:
    """The statement with parameters by position, as Django combines statements."""
    first, *others = statement.split("%(")
    parts, parameters = [first], list[Any]()
    for other in others:
        name, _, rest = other.partition(")s")
        parameters.append(named[name])
        parts.append(f"%s{rest}")
    return "".join(parts), tuple(parameters)
