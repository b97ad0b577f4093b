"""Measured quantities in words: numbers, units, and the most readable unit of a value. Pure."""

from collections.abc import Mapping
from datetime import timedelta

from automation.metrics import Metric, allowed_units, base_unit
from automation.units import Family, Unit, convert, family_of, units_of
from opsapi.clock import exact_words

# Longer numbers use an exponent.
_WRITTEN_OUT = 1e15
_SMALLEST = 0.001
_WHOLE_FROM = 1_000
"""From this number on, a measured value has no decimals."""
_ALL, _NEARLY_ALL = 100, 99.9
"""Percentages: rounding does not turn less than all into all."""
_MINUTE, _WRITTEN_TIME = 60, 1e12
"""Between these limits in seconds, a measured time has one or two units."""
_SHORT_FROM, _SHORT_TO = 0.01, 10_000
"""Between these limits, a number is readable in the chosen unit."""

_SYMBOLS: Mapping[Unit, str] = {
    Unit.RAW: "",
    Unit.PERCENT: "%",
    Unit.BITS: "bit",
    Unit.KILOBITS: "Kbit",
    Unit.MEGABITS: "Mbit",
    Unit.GIGABITS: "Gbit",
    Unit.BYTES: "B",
    Unit.KILOBYTES: "KB",
    Unit.MEGABYTES: "MB",
    Unit.GIGABYTES: "GB",
    Unit.TERABYTES: "TB",
    Unit.PETABYTES: "PB",
    Unit.NANOSECONDS: "ns",
    Unit.MILLISECONDS: "ms",
    Unit.SECONDS: "s",
    Unit.MINUTES: "min",
    Unit.HOURS: "h",
    Unit.DAYS: "d",
}


def quantity(number: float, units: Unit) -> str:
    """A number with its unit, if any: `1,650`, `2.5 GB`."""
    return f"{number_words(number)} {unit_words(units)}".rstrip()


def recorded_quantity(number: float, units: str) -> str:
    """As `quantity`, of units that another build may have recorded."""
    return quantity(number, Unit(units)) if units in set(Unit) else f"{number_words(number)} {units}"


def readable_quantity(number: float, units: Unit) -> str:
    """A quantity in its unit, or a shorter one if the number is long: `2 GB`, not `2,147,483,648 B`."""
    size = abs(number)
    if size == 0 or _SHORT_FROM <= size < _SHORT_TO:
        return quantity(number, units)
    greater = [unit for unit in units_of(family_of(units)) if convert(size, units, unit) >= 1]
    better = greater[-1] if greater else units
    return quantity(convert(number, units, better), better)


def quantity_of(metric: Metric, value: float) -> str:
    """A stored value of a metric as it reads best, without needless digits: `8.2 GB`, `6 min 41 s`."""
    units = best_unit(metric, value)
    number = convert(value, base_unit(metric), units)
    rounded = _rounded(number)
    if units is Unit.PERCENT and number < _ALL <= rounded:
        rounded = _NEARLY_ALL
    return _length(number, units) or quantity(rounded, units)


def measured_quantity(number: float, units: Unit) -> str:
    """As `readable_quantity`, of a measured value; a length of time has one or two units: `6 min 41 s`."""
    return _length(number, units) or readable_quantity(number, units)


def _length(number: float, units: Unit) -> str:
    """A time from a minute on; empty for other quantities."""
    if family_of(units) is not Family.TIME:
        return ""
    seconds = convert(number, units, Unit.SECONDS)
    return exact_words(timedelta(seconds=seconds)) if _MINUTE <= seconds < _WRITTEN_TIME else ""


def _rounded(number: float) -> float:
    """The number to three significant digits, but to a whole number if that is longer."""
    return float(f"{number:.0f}" if abs(number) >= _WHOLE_FROM else f"{number:.3g}")


def best_unit(metric: Metric, value: float) -> Unit:
    """The largest unit in which the value is at least 1, but none below the base unit."""
    base = base_unit(metric)
    units = allowed_units(metric)
    greater = [unit for unit in units[units.index(base) :] if convert(abs(value), base, unit) >= 1]
    return greater[-1] if greater else base


def unit_words(units: Unit) -> str:
    """`GB`; empty for a plain count."""
    return _SYMBOLS[units]


def number_words(number: float) -> str:
    """A number for people: three decimals, thousands separators, an exponent if very large or small."""
    size = abs(number)
    if not size < _WRITTEN_OUT or 0 < size < _SMALLEST:
        return f"{number:g}"
    text = f"{number:,.3f}"
    return text.rstrip("0").rstrip(".")


def counted_words(number: int, noun: str) -> str:
    """For example: no alerts, 1 alert, 1,200 alerts."""
    return f"{f'{number:,}' if number else 'no'} {noun}{'' if number == 1 else 's'}"
