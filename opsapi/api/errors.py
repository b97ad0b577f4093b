"""The one exception that refuses a request, and the error document that it becomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from opsapi.api.catalogue import CATALOGUE, ErrorCode
from opsapi.wire_json import JsonObject

T = TypeVar("T")

_LONGEST_ECHO = 200

MOST_FAULTS = 100
"""So many faults are named at the most: an answer must not be many times its question."""

UNAVAILABLE_RETRY_SECONDS = 5

WHOLE_BODY = "body"
"""What a fault of the whole body names: it has no path, and a fault without a name helps nobody."""


@dataclass(frozen=True, slots=True)
class BadField:
    """One wrong field of a body or one wrong query parameter; `field` is its dotted path."""

    field: str
    code: ErrorCode
    message: str
    allowed: Sequence[str] = ()

    def below(self, prefix: str) -> "BadField":
        """The same fault seen from the document that holds this one."""
        joint = "" if not self.field or self.field.startswith("[") else "."
        return BadField(f"{prefix}{joint}{self.field}", self.code, self.message, self.allowed)

    def document(self) -> JsonObject:
        """As `badFields` shows it."""
        shown: JsonObject = {"field": self.field, "message": self.message}
        if self.allowed:
            shown["allowed"] = list(self.allowed)
        return shown


class ApiError(Exception):
    """A refusal: a code of the catalogue, its parameters, and for validation every wrong field."""

    def __init__(
        self,
        code: ErrorCode,
        *parameters: str,
        bad_fields: Sequence[BadField] = (),
        headers: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        """`note`: a sentence that follows the code's own message, such as which setting refuses it."""
        super().__init__(code)
        self.code = code
        self.parameters = [_shortened(parameter) for parameter in parameters]
        self.bad_fields = bad_fields
        self.headers = dict(headers or {})
        self.note = note

    @classmethod
    def of_fields(cls, bad_fields: Sequence[BadField]) -> "ApiError":
        """A validation error; the first wrong field gives the code. `bad_fields` must not be empty."""
        first = bad_fields[0]
        return cls(first.code, first.field, first.message, bad_fields=bad_fields[:MOST_FAULTS])

    @property
    def status(self) -> int:
        """The HTTP status."""
        return CATALOGUE[self.code].status

    def document(self) -> JsonObject:
        """The body of the answer."""
        spec = CATALOGUE[self.code]
        shown: JsonObject = {
            "error": spec.status,
            "reason": HTTPStatus(spec.status).phrase,
            "errorCode": self.code.value,
            "detail": " ".join(filter(None, (spec.message.format(*self.parameters), self.note))),
            "parameters": self.parameters,
        }
        if self.bad_fields:
            shown["badFields"] = [bad.document() for bad in self.bad_fields]
        return shown


def unavailable(reason: str) -> ApiError:
    """The 503 with its Retry-After."""
    headers = {"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)}
    return ApiError(ErrorCode.SERVICE_UNAVAILABLE, reason, headers=headers)


def rate_limited(seconds: int, *, note: str = "") -> ApiError:
    """The 429 with its Retry-After; `note` is a sentence that says which limit it is."""
    return ApiError(ErrorCode.RATE_LIMITED, str(seconds), headers={"Retry-After": str(seconds)}, note=note)


def get_or_404(row: T | None, code: ErrorCode, *parameters: str) -> T:
    """The row, or the 404 of its kind when there is none."""
    if row is None:
        raise ApiError(code, *parameters)
    return row


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ECHO else text[:_LONGEST_ECHO] + "…"
