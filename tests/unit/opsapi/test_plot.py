"""A plot as its script takes it."""

from datetime import UTC, datetime, timedelta

from opsapi.console.widgets import Plot

NOON = datetime(2099, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_times_are_milliseconds_and_absent_values_are_null() -> None:
    plot = Plot(label="CONNECTIONS", units="", since=NOON - HOUR, until=NOON, points=[(NOON, 3.5)])
    noon = round(NOON.timestamp()) * 1000
    assert plot.data() == {
        "label": "CONNECTIONS",
        "units": "",
        "since": noon - 3_600_000,
        "until": noon,
        "points": [[noon, 3.5]],
        "threshold": None,
        "began": None,
        "ended": None,
        "spans": [],
    }


def test_marks_are_part_of_the_data() -> None:
    data = Plot(
        label="",
        units="",
        since=NOON,
        until=NOON,
        points=[],
        threshold=2.0,
        began=NOON - HOUR,
        ended=NOON,
        spans=[(NOON - HOUR, NOON)],
    ).data()
    assert (data["threshold"], data["ended"] - data["began"]) == (2.0, 3_600_000)
    assert data["spans"] == [[data["began"], data["ended"]]]
