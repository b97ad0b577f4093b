"""Units of measured values and the conversion between them."""

from enum import StrEnum


class UnitsMismatch(ValueError):  # noqa: N818 - named as the error code UNITS_MISMATCH
    """Two units do not measure the same kind of quantity."""


class Family(StrEnum):
    """Kinds of quantity; units convert within one family only."""

    RAW = "RAW"
    PERCENT = "PERCENT"
    BITS = "BITS"
    BYTES = "BYTES"
    TIME = "TIME"


class Unit(StrEnum):
    """All units of values and thresholds; the values are the wire values."""

    RAW = "RAW"
    PERCENT = "PERCENT"
    BITS = "BITS"
    KILOBITS = "KILOBITS"
    MEGABITS = "MEGABITS"
    GIGABITS = "GIGABITS"
    BYTES = "BYTES"
    KILOBYTES = "KILOBYTES"
    MEGABYTES = "MEGABYTES"
    GIGABYTES = "GIGABYTES"
    TERABYTES = "TERABYTES"
    PETABYTES = "PETABYTES"
    NANOSECONDS = "NANOSECONDS"
    MILLISECONDS = "MILLISECONDS"
    SECONDS = "SECONDS"
    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"


# The size of each unit in the smallest unit of its family. K is 1,024 for bits and bytes.
_SIZES: dict[Unit, tuple[Family, int]] = {
    Unit.RAW: (Family.RAW, 1),
    Unit.PERCENT: (Family.PERCENT, 1),
    Unit.BITS: (Family.BITS, 1),
    Unit.KILOBITS: (Family.BITS, 1024),
    Unit.MEGABITS: (Family.BITS, 1024**2),
    Unit.GIGABITS: (Family.BITS, 1024**3),
    Unit.BYTES: (Family.BYTES, 1),
    Unit.KILOBYTES: (Family.BYTES, 1024),
    Unit.MEGABYTES: (Family.BYTES, 1024**2),
    Unit.GIGABYTES: (Family.BYTES, 1024**3),
    Unit.TERABYTES: (Family.BYTES, 1024**4),
    Unit.PETABYTES: (Family.BYTES, 1024**5),
    Unit.NANOSECONDS: (Family.TIME, 1),
    Unit.MILLISECONDS: (Family.TIME, 10**6),
    Unit.SECONDS: (Family.TIME, 10**9),
    Unit.MINUTES: (Family.TIME, 60 * 10**9),
    Unit.HOURS: (Family.TIME, 3600 * 10**9),
    Unit.DAYS: (Family.TIME, 86_400 * 10**9),
}


def family_of(unit: Unit) -> Family:
    return _SIZES[unit][0]


def units_of(family: Family) -> tuple[Unit, ...]:
    """Return the units of a family, smallest first."""
    return tuple(unit for unit, (its_family, _) in _SIZES.items() if its_family is family)


def convert(number: float, from_unit: Unit, to_unit: Unit) -> float:
    """Return the quantity in another unit; infinite if a float cannot hold it.

    Raises: UnitsMismatch: the units belong to different families. OverflowError: a float cannot hold the
    integer.
    """
    from_family, from_size = _SIZES[from_unit]
    to_family, to_size = _SIZES[to_unit]
    if from_family is not to_family:
        raise UnitsMismatch(f"{from_unit} is of the family {from_family}, {to_unit} of {to_family}")
    # Sizes of a family divide each other, so the result is rounded at most once.
    if from_size >= to_size:
        return float(number) * (from_size // to_size)
    return float(number) / (to_size // from_size)
