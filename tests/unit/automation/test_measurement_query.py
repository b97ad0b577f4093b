"""What the parameters of a query for measurements ask for together."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from automation.choices import Granularity
from automation.measurements.query import MOST_POINTS, read_series_query
from automation.metrics import Metric
from opsapi.api.errors import ApiError
from tests.each import each

NOW = datetime(2026, 11, 21, 10, 17, 31, tzinfo=UTC)
WEEK = timedelta(days=7)


def asked(**given: Any) -> dict[str, Any]:
    """The checked parameters; what is not given is as when it is left out."""
    return {"granularity": "PT1M", "period": None, "start": None, "end": None, "m": [], **given}


def ago(**span: int) -> datetime:
    """So long before now."""
    return NOW - timedelta(**span)


@each(
    ("given", "start", "end"),
    [
        ({"period": timedelta(hours=1)}, "2026-11-21T09:17:00", NOW),
        ({"period": timedelta(hours=1), "granularity": "PT1H"}, "2026-11-21T09:00:00", NOW),
        ({"start": ago(minutes=10)}, "2026-11-21T10:07:00", NOW),
        ({"start": ago(minutes=10), "end": ago(minutes=5)}, "2026-11-21T10:07:00", ago(minutes=5)),
        ({"start": ago(days=400), "end": ago(days=399)}, "2025-10-17T10:17:00", ago(days=399)),
        ({"start": NOW}, "2026-11-21T10:17:00", NOW),
        ({"start": ago(minutes=5), "end": ago(minutes=5)}, "2026-11-21T10:12:00", ago(minutes=5)),
        ({"period": WEEK, "granularity": "PT5M"}, "2026-11-14T10:15:00", NOW),
    ],
)
def test_it_asks_for_whole_buckets_from_the_first(given: dict[str, Any], start: str, end: datetime) -> None:
    query = read_series_query(asked(**given), now=NOW, retention=WEEK)
    assert query.start == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert query.end == end
    assert query.granularity is Granularity(asked(**given)["granularity"])


def test_metrics_are_in_the_order_of_their_closed_set_and_once() -> None:
    named = ["OPCOUNTER_CMD", "CONNECTIONS", "OPCOUNTER_CMD"]
    query = read_series_query(asked(period=WEEK, granularity="P1D", m=named), now=NOW, retention=WEEK)
    assert query.metrics == [Metric.CONNECTIONS, Metric.OPCOUNTER_CMD]


@each(
    ("given", "code", "fields"),
    [
        ({"granularity": None, "period": WEEK}, "MISSING_QUERY_PARAMETER", ["granularity"]),
        ({"granularity": None}, "MISSING_QUERY_PARAMETER", ["granularity", "period"]),
        ({}, "MISSING_QUERY_PARAMETER", ["period"]),
        ({"end": NOW}, "MISSING_QUERY_PARAMETER", ["start"]),
        ({"period": WEEK, "start": NOW}, "INVALID_QUERY_PARAMETER", ["start"]),
        ({"period": WEEK, "end": NOW}, "INVALID_QUERY_PARAMETER", ["end"]),
        ({"period": WEEK, "start": NOW, "end": NOW}, "INVALID_QUERY_PARAMETER", ["start", "end"]),
        ({"start": NOW + timedelta(seconds=1)}, "INVALID_QUERY_PARAMETER", ["start"]),
        ({"start": NOW, "end": ago(seconds=1)}, "INVALID_QUERY_PARAMETER", ["start"]),
        ({"start": NOW + WEEK}, "INVALID_QUERY_PARAMETER", ["start"]),
        ({"period": timedelta(minutes=MOST_POINTS, seconds=1)}, "INVALID_QUERY_PARAMETER", ["period"]),
        ({"start": ago(minutes=MOST_POINTS, seconds=1)}, "INVALID_QUERY_PARAMETER", ["start"]),
        (
            {"granularity": "P1D", "period": WEEK + timedelta(seconds=1)},
            "INVALID_QUERY_PARAMETER",
            ["period"],
        ),
        ({"period": timedelta(hours=999_999_999)}, "INVALID_QUERY_PARAMETER", ["period"]),
    ],
)
def test_what_is_missing_or_does_not_go_together_is_named(
    given: dict[str, Any], code: str, fields: list[str]
) -> None:
    with pytest.raises(ApiError) as refused:
        read_series_query(asked(**given), now=NOW, retention=WEEK)
    assert refused.value.code.value == code
    assert [bad.field for bad in refused.value.bad_fields] == fields


def test_the_most_points_are_not_too_many() -> None:
    query = read_series_query(asked(period=timedelta(minutes=MOST_POINTS)), now=NOW, retention=WEEK)
    assert query.end - query.start == timedelta(minutes=MOST_POINTS, seconds=31)


def test_what_is_kept_for_good_can_be_asked_for_as_far_back_as_there_are_points() -> None:
    asks = asked(granularity="P1D", period=timedelta(days=MOST_POINTS))
    assert read_series_query(asks, now=NOW, retention=None).start.year == 2013
