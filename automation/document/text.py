"""The document as text and back: numbers and the order of keys stay as they were written. Pure."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import orjson

from automation.document.unkept import Unkept, kept_alone
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.strict_json import read_json

Number = TypeVar("Number")

LONGEST_NUMBER = 1000
"""Characters of a number: longer ones cost the square of their length to read."""

_SAFE_DIGITS = 18  # any integer of so many digits fits into the 64 bits the writer knows


class ExactNumber(Decimal):
    """A number with a fraction or an exponent, that remembers how it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "ExactNumber":
        """Raises ValueError for one beyond what can be kept."""
        try:
            number = super().__new__(cls, text)
        except InvalidOperation:
            raise ValueError("has too large an exponent") from None
        number.text = text
        return number


class ExactInteger(int):
    """An integer that the writer would not write as it came: one of more than 64 bits, or -0."""

    text: str

    def __new__(cls, text: str) -> "ExactInteger":
        """Of its digits."""
        number = super().__new__(cls, text)
        number.text = text
        return number


def read(text: bytes | str) -> dict[str, Any]:
    """The document; the order of its keys and what its numbers mean are kept, whatever their size.

    Raises:
        ApiError: as `read_sent`; or INVALID_ATTRIBUTE, where there is what cannot be kept.
    """
    document, faults = read_sent(text)
    if faults:
        raise ApiError.of_fields(faults)
    return document


def read_sent(text: bytes | str) -> tuple[dict[str, Any], list[BadField]]:
    """As `read`, for a document that is going to be checked: what cannot be kept is told, by JSON Pointer.

    Where such a value was, there is null; what has such a name is not there, and its object is told.
    At most MOST_FAULTS are.

    Raises:
        ApiError: INVALID_JSON, with what is wrong; JSON that is no object too.
    """
    numbers = _Numbers()
    try:
        document = read_json(text, read_float=numbers.number, read_integer=numbers.integer)
    except ValueError as error:
        raise ApiError(ErrorCode.INVALID_JSON, str(error)) from None
    if not isinstance(document, dict):
        raise ApiError(ErrorCode.INVALID_JSON, "it is JSON, but not an object")
    # Without an escape no text holds what cannot be kept: most documents are spared the walk.
    has_escapes = b"\\u" in text if isinstance(text, bytes) else "\\u" in text
    return kept_alone(document) if has_escapes or numbers.has_unkept else (document, [])


def write(value: Any, *, pretty: bool = False) -> str:
    """The JSON text that `read` reads as this value: compact, or `pretty` with an indent of 2."""
    return _written(value, orjson.OPT_INDENT_2 if pretty else 0)


def for_people(text: str) -> str:
    """A text that `write` wrote, with an indent of 2."""
    return write(_quickly_read(text) or read(text), pretty=True)


def _quickly_read(text: str) -> Any:
    """As `read`, in a fraction of the time; None where something would get lost, such as a last zero."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:  # it holds a number that no double does
        return None
    return value if orjson.dumps(value).decode() == text else None


def canonical(value: Any) -> str:
    """A text that two values share exactly when they are the same JSON; the order of keys aside.

    Python's own comparison takes 1, 1.0 and true for equal.
    """
    return _written(value, orjson.OPT_SORT_KEYS)


def _written(value: Any, options: int) -> str:
    return orjson.dumps(value, _as_it_came, options | orjson.OPT_PASSTHROUGH_SUBCLASS).decode()


def _as_it_came(value: Any) -> orjson.Fragment:
    if isinstance(value, ExactNumber | ExactInteger):
        return orjson.Fragment(value.text)
    raise TypeError(f"{type(value).__name__} is not a value of a document")


class _Numbers:
    """Reads the numbers of one document, and knows whether each could be kept."""

    has_unkept = False

    def number(self, text: str) -> ExactNumber | Unkept:
        return self._bounded(text, ExactNumber)

    def integer(self, text: str) -> int | Unkept:
        if len(text) <= _SAFE_DIGITS and text != "-0":
            return int(text)
        return self._bounded(text, ExactInteger)

    def _bounded(self, text: str, made: Callable[[str], Number]) -> Number | Unkept:
        if len(text) > LONGEST_NUMBER:
            return self._unkept(f"must have at most {LONGEST_NUMBER} characters")
        try:
            return made(text)
        except ValueError as error:
            return self._unkept(str(error))

    def _unkept(self, message: str) -> Unkept:
        self.has_unkept = True
        return Unkept(message)
