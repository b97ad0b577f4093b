"""Measured quantities in words for people: numbers, units, and in which unit a value is read best. Pure."""

from automation.metrics import Metric, allowed_units, base_unit
from automation.units import Unit, convert

# A number longer than this is told by its exponent.
_WRITTEN_OUT = 1e15
_SMALLEST = 0.001


def quantity(number: float, units: Unit) -> str:
    """A number with its units, where it has any: `1,650`, `2.5 gigabytes`."""
    return f"{number_words(number)} {unit_words(units)}".rstrip()


def quantity_of(metric: Metric, value: float) -> str:
    """A stored value of a metric in the unit it is read best in: `8.2 gigabytes`."""
    units = best_unit(metric, value)
    return quantity(convert(value, base_unit(metric), units), units)


def best_unit(metric: Metric, value: float) -> Unit:
    """The greatest unit in which it is at least one; none smaller than that it is measured in."""
    base = base_unit(metric)
    units = allowed_units(metric)
    greater = [unit for unit in units[units.index(base) :] if convert(abs(value), base, unit) >= 1]
    return greater[-1] if greater else base


def unit_words(units: Unit) -> str:
    """`gigabytes`; empty for what is only counted."""
    return "" if units is Unit.RAW else units.value.lower()


def number_words(number: float) -> str:
    """A number as people read it: to three places, thousands parted; great and tiny ones by exponent."""
    size = abs(number)
    if not size < _WRITTEN_OUT or 0 < size < _SMALLEST:
        return f"{number:g}"
    text = f"{number:,.3f}"
    return text.rstrip("0").rstrip(".")
