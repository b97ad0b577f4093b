"""Query parameters: declared as data, all checked together, described in the OpenAPI document."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, QueryDict

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, must_be_one_of
from opsapi.clock import parse_filter_time
from opsapi.ids import ID_PATTERN, is_id

MAX_PAGE = 2_147_483_647
MAX_ITEMS_PER_PAGE = 500
LONGEST_NAME = 200
_ECHO_LENGTH, _MOST_ECHOED = 40, 3
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,30}(\.0{0,30})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter or a header. `read` converts its text, or raises ValueError."""

    name: str
    read: Callable[[str], Any]
    default: Any = None
    schema: Mapping[str, Any] | None = None
    description: str = ""
    repeatable: bool = False
    code: ErrorCode = ErrorCode.INVALID_QUERY_PARAMETER
    deprecated: bool = False
    allowed: Sequence[str] = ()
    is_header: bool = False


def read_flag(text: str) -> bool:
    """Read `true` or `false` in any case."""
    if text.lower() not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text.lower() == "true"


def read_whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return a reader of whole numbers in a range; `1.0` is 1."""

    def read(text: str) -> int:
        number = int(text.split(".", maxsplit=1)[0]) if _WHOLE_NUMBER.fullmatch(text) else minimum - 1
        if not minimum <= number <= maximum:
            raise ValueError(f"must be a whole number from {minimum} to {maximum}")
        return number

    return read


def read_choice(allowed: Sequence[str]) -> Callable[[str], str]:
    """Return a reader of values of a closed set."""
    known = frozenset(allowed)

    def read(text: str) -> str:
        if text not in known:
            raise ValueError(must_be_one_of(allowed))
        return text

    return read


def read_identifier(text: str) -> str:
    if not is_id(text):
        raise ValueError("must be 24 lower-case hex characters")
    return text


def read_name(text: str) -> str:
    """Read the beginning of a name."""
    if not 1 <= len(text) <= LONGEST_NAME or "\0" in text:
        raise ValueError(f"must be 1 to {LONGEST_NAME} characters, none of them NUL")
    return text


def flag_parameter(name: str, description: str, *, default: bool = False) -> Parameter:
    """Return a parameter that is `true` or `false`."""
    schema = {"type": "boolean", "default": default}
    return Parameter(name, read_flag, default, schema, description, allowed=("true", "false"))


def identifier_parameter(name: str, description: str, **schema: Any) -> Parameter:
    """Return a parameter that is an id. `schema`: parts of its schema besides type and pattern."""
    schema = {"type": "string", "pattern": f"^{ID_PATTERN}$", **schema}
    return Parameter(name, read_identifier, None, schema, description)


PRETTY = flag_parameter("pretty", "Pretty-print the response.")
ENVELOPE = flag_parameter("envelope", "Wrap the response together with its status.")
PAGE_NUM = Parameter(
    "pageNum",
    read_whole(1, MAX_PAGE),
    1,
    {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1},
    "Page number, starting at 1.",
)
ITEMS_PER_PAGE = Parameter(
    "itemsPerPage",
    read_whole(1, MAX_ITEMS_PER_PAGE),
    100,
    {"type": "integer", "minimum": 1, "maximum": MAX_ITEMS_PER_PAGE, "default": 100},
    "Items per page.",
)
INCLUDE_COUNT = flag_parameter("includeCount", "Whether to include totalCount.", default=True)
NAME = Parameter(
    "name",
    read_name,
    None,
    {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "examples": ["payments"]},
    "Only items whose name starts with this text, case-insensitive.",
)
MIN_DATE = Parameter(
    "minDate",
    lambda text: parse_filter_time(text, end_of_day=False),
    None,
    {"type": "string"},
    "Created at or after this time. ISO 8601; a date means the start of the day.",
)
MAX_DATE = Parameter(
    "maxDate",
    lambda text: parse_filter_time(text, end_of_day=True),
    None,
    {"type": "string"},
    "Created at or before this time. ISO 8601; a date means the end of the day.",
)

EVERYWHERE = (PRETTY, ENVELOPE)
PAGING = (PAGE_NUM, ITEMS_PER_PAGE)
LISTING = (*PAGING, INCLUDE_COUNT)


def read_query(
    query: QueryDict, parameters: Sequence[Parameter], headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the value of each declared parameter, or its default; repeatable parameters are lists.

    Parameters that are headers are read from `headers`. Unknown parameters are ignored.

    Raises: ApiError: with every wrong parameter in `badFields`; a repeated parameter is named once for each
    kind of fault.
    """
    by_name: dict[str, Any] = {}
    bad: list[BadField] = []
    for parameter in parameters:
        texts = _texts(parameter, query, headers or {})
        values, faults = _read_each(parameter, texts if parameter.repeatable else texts[-1:])
        bad.extend(BadField(parameter.name, parameter.code, fault, parameter.allowed) for fault in faults)
        if parameter.repeatable:
            by_name[parameter.name] = values
        else:
            by_name[parameter.name] = values[0] if values else parameter.default
    if bad:
        raise ApiError.of_fields(bad)
    return by_name


def _texts(parameter: Parameter, query: QueryDict, headers: Mapping[str, str]) -> list[str]:
    if parameter.is_header:
        return [headers[parameter.name]] if parameter.name in headers else []
    return query.getlist(parameter.name)


def _read_each(parameter: Parameter, texts: Sequence[str]) -> tuple[list[Any], Iterable[str]]:
    """Return the valid values, and the faults of the others, each fault once."""
    values: list[Any] = []
    faults: dict[str, list[str]] = {}
    for text in texts:
        try:
            values.append(parameter.read(text))
        except ValueError as error:
            faults.setdefault(str(error), []).append(text)
    return values, [_with_what_was_sent(fault, wrong) for fault, wrong in faults.items()]


def _with_what_was_sent(fault: str, wrong: Sequence[str]) -> str:
    """Return the fault with the wrong values, unless its text quotes them."""
    return fault if all(repr(text) in fault for text in wrong) else f"{fault} (sent: {_echo(wrong)})"


def _echo(sent: Sequence[str]) -> str:
    """Return the first of the sent values, without duplicates and shortened, and the number of the others."""
    texts = list(dict.fromkeys(sent))
    echoes = [f'"{text}"' if len(text) <= _ECHO_LENGTH else f'"{text[:_ECHO_LENGTH]}…"' for text in texts]
    more = len(texts) - _MOST_ECHOED
    return ", ".join(echoes[:_MOST_ECHOED]) + (f" and {more} more" if more > 0 else "")


def asks_for(request: HttpRequest, parameter: Parameter) -> bool:
    """Whether a flag is set, read leniently, for responses before the query is checked."""
    try:
        return str(request.GET.get(parameter.name, "")).lower() == "true"
    except SuspiciousOperation:  # Django reads no more parameters; such a request is refused anyway.
        return False
