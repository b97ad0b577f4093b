"""Samples as stored rows of numbers."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from automation.measurements.rules import METRICS, NUMBERS, rows_of, samples_of
from automation.metrics import Metric
from tests.hostile.budget import tries

REPORTED = datetime(2099, 11, 21, 12, 0, 30, 700_000, UTC)
SECOND = REPORTED.replace(microsecond=0)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
TAKEN = st.lists(st.tuples(st.integers(-300, 3600), FINITE), min_size=1, max_size=6)
SAMPLES = st.dictionaries(st.sampled_from(list(Metric)), TAKEN, max_size=8)


def parsed(text: str) -> list[float | None]:
    """The text of an array as PostgreSQL reads it."""
    return [None if value == "null" else float(value) for value in text[1:-1].split(",")]


def ago(seconds: int) -> datetime:
    return SECOND - timedelta(seconds=seconds)


@tries(25)
@given(SAMPLES)
def test_what_is_stored_is_what_was_measured(ages: dict[Metric, list[tuple[int, float]]]) -> None:
    samples = {metric: [(ago(age), number) for age, number in taken] for metric, taken in ages.items()}
    rows = [(age, parsed(text)) for age, text in rows_of(samples, REPORTED)]
    found = samples_of(REPORTED, rows)
    assert {metric: sorted(taken) for metric, taken in found.items()} == {
        metric: sorted(taken) for metric, taken in samples.items()
    }
    for taken in found.values():
        assert [moment for moment, _ in taken] == sorted(moment for moment, _ in taken)


def test_a_moment_has_one_row_however_many_metrics_were_measured() -> None:
    samples = {metric: [(REPORTED, 1.0), (ago(60), 2.0)] for metric in Metric}
    assert sorted(age for age, _ in rows_of(samples, REPORTED)) == [0, 60]


def test_a_metric_measured_twice_at_a_moment_has_two_rows() -> None:
    samples = {Metric.CONNECTIONS: [(SECOND, 1.0), (SECOND, 3.0)], Metric.MEMORY_RESIDENT: [(SECOND, 5.0)]}
    assert [age for age, _ in rows_of(samples, REPORTED)] == [0, 0]


def test_many_samples_of_one_moment_take_no_longer_than_of_many_moments() -> None:
    """A row for each; looking for a free one through all of them would take hours."""
    samples = {Metric.CONNECTIONS: [(SECOND, float(number)) for number in range(100_000)]}
    assert len(rows_of(samples, REPORTED)) == 100_000


def test_every_metric_has_a_number() -> None:
    assert set(NUMBERS) == set(Metric)
    assert sorted(METRICS) == list(range(1, len(Metric) + 1))


def test_no_number_that_was_ever_stored_has_changed() -> None:
    names = [METRICS[number].value for number in range(1, 134)]
    assert sha256(" ".join(names).encode()).hexdigest()[:16] == "d37ff488cdf72162"
