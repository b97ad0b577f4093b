"""Units: their sizes, their families, and the way there and back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automation.units import Family, Unit, UnitsMismatch, convert, family_of, units_of
from tests.each import each


@each(
    ("number", "from_unit", "to_unit", "expected"),
    [
        (7.5, Unit.RAW, Unit.RAW, 7.5),
        (82.5, Unit.PERCENT, Unit.PERCENT, 82.5),
        (1, Unit.KILOBITS, Unit.BITS, 1024),
        (1, Unit.GIGABITS, Unit.MEGABITS, 1024),
        (1, Unit.KILOBYTES, Unit.BYTES, 1024),
        (1, Unit.MEGABYTES, Unit.BYTES, 1_048_576),
        (1, Unit.GIGABYTES, Unit.MEGABYTES, 1024),
        (1, Unit.TERABYTES, Unit.GIGABYTES, 1024),
        (1, Unit.PETABYTES, Unit.TERABYTES, 1024),
        (512, Unit.BYTES, Unit.KILOBYTES, 0.5),
        (1_000_000, Unit.NANOSECONDS, Unit.MILLISECONDS, 1),
        (300, Unit.MILLISECONDS, Unit.SECONDS, 0.3),
        (1.5, Unit.MINUTES, Unit.SECONDS, 90),
        (2, Unit.HOURS, Unit.MINUTES, 120),
        (1, Unit.DAYS, Unit.HOURS, 24),
        (-1, Unit.SECONDS, Unit.MILLISECONDS, -1000),
        (0, Unit.DAYS, Unit.NANOSECONDS, 0),
        (1e308, Unit.PETABYTES, Unit.BYTES, math.inf),
    ],
)
def test_it_converts(number: float, from_unit: Unit, to_unit: Unit, expected: float) -> None:
    assert convert(number, from_unit, to_unit) == expected


@each("from_unit", Unit)
@each("to_unit", Unit)
def test_it_converts_within_one_family_only(from_unit: Unit, to_unit: Unit) -> None:
    if family_of(from_unit) is family_of(to_unit):
        assert convert(1, from_unit, to_unit) > 0
    else:
        with pytest.raises(UnitsMismatch, match=f"{from_unit} is of the family"):
            convert(1, from_unit, to_unit)


@each(
    ("family", "names"),
    [
        (Family.RAW, "RAW"),
        (Family.PERCENT, "PERCENT"),
        (Family.BITS, "BITS KILOBITS MEGABITS GIGABITS"),
        (Family.BYTES, "BYTES KILOBYTES MEGABYTES GIGABYTES TERABYTES PETABYTES"),
        (Family.TIME, "NANOSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS"),
    ],
)
def test_it_knows_the_units_of_a_family(family: Family, names: str) -> None:
    assert list(units_of(family)) == names.split()


@given(
    st.floats(min_value=-1e200, max_value=1e200, allow_nan=False),
    st.sampled_from(Family).flatmap(lambda family: st.tuples(*[st.sampled_from(units_of(family))] * 2)),
)
def test_it_converts_there_and_back(number: float, units: tuple[Unit, Unit]) -> None:
    there = convert(number, *units)
    assert math.isclose(convert(there, units[1], units[0]), number, rel_tol=1e-12, abs_tol=1e-300)
