"""Stored readings: the identity of their report, the number of each metric, and their rows. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from automation.metrics import Metric
from automation.reports.rules import Samples
from opsapi.wire_json import write_json

NUMBERS: Mapping[Metric, int] = {metric: place for place, metric in enumerate(Metric, 1)}
"""The 1-based position of the value of each metric in a row of numbers."""
METRICS: Mapping[int, Metric] = {number: metric for metric, number in NUMBERS.items()}
_SECOND = timedelta(seconds=1)


class MeasuredAt(NamedTuple):
    """The time of a report and its number, which distinguishes reports of the same microsecond."""

    reported: datetime
    report: int

    @property
    def wire(self) -> str:
        """The form in signals."""
        return f"{self.reported.isoformat()} {self.report}"

    @classmethod
    def read(cls, wire: str) -> "MeasuredAt":
        """Parse the output of `wire`."""
        reported, report = wire.split(" ")
        return cls(datetime.fromisoformat(reported), int(report))


def reported_before(observed: datetime, seconds: int) -> datetime:
    """Return the time of a row of a report: `observed`, or the whole second that is `seconds` earlier."""
    return _cut(observed) - seconds * _SECOND if seconds else observed


def rows_of(samples: Samples, reported: datetime) -> list[tuple[int, str]]:
    """For each moment, its age and the numbers at the positions of their metrics.

    The age is in whole seconds before `reported`. The numbers are the text of a PostgreSQL array. A metric
    with two values at the same moment makes another row.
    """
    rows: dict[tuple[datetime, int], dict[int, float]] = {}
    for metric, numbers in samples.items():
        place = NUMBERS[metric]
        if len(numbers) == 1:
            [(moment, number)] = numbers
            rows.setdefault((moment, 1), {})[place] = number
            continue
        times: dict[datetime, int] = {}
        for moment, number in numbers:
            time = times[moment] = times.get(moment, 0) + 1
            rows.setdefault((moment, time), {})[place] = number
    second = _cut(reported)
    return [((second - _cut(moment)) // _SECOND, _array(row)) for (moment, _), row in rows.items()]


def samples_of(reported: datetime, rows: Iterable[tuple[int, Sequence[float | None]]]) -> Samples:
    """Convert the rows (age, numbers) of a report to samples by metric, oldest first."""
    second = _cut(reported)
    found: dict[Metric, list[tuple[datetime, float]]] = {}
    for age, numbers in sorted(rows, key=lambda row: -row[0]):
        moment = second - age * _SECOND
        for place, number in enumerate(numbers, 1):
            if number is not None:
                found.setdefault(METRICS[place], []).append((moment, number))
    return found


def _array(row: dict[int, float]) -> str:
    numbers = write_json([row.get(place) for place in range(1, max(row) + 1)])
    return f"{{{numbers[1:-1].decode()}}}"  # PostgreSQL reads `null` as NULL.


def _cut(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
