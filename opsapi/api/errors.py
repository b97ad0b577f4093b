"""The exception that refuses a request, and its error document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeVar

from opsapi.api.catalogue import ErrorCode
from opsapi.roles import Role
from opsapi.wire_json import JsonObject

T = TypeVar("T")

_LONGEST_ECHO = 200

MOST_FAULTS = 100
"""Maximum number of faults in a response, which must not be far larger than its request."""

UNAVAILABLE_RETRY_SECONDS = 5

_MOST_NAMED = 8

WHOLE_BODY = "body"
"""The `field` of a fault of the whole body."""


_PHRASES = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}


def reason_phrase(status: int) -> str:
    """Return the name of an HTTP status, which is the same under every version of Python.

    Python 3.13 renamed the statuses of `_PHRASES` as RFC 9110 15.5 names them.
    """
    return _PHRASES.get(status) or HTTPStatus(status).phrase


@dataclass(frozen=True, slots=True)
class BadField:
    """A wrong field of a body, or a wrong query parameter. `field` is its dotted path."""

    field: str
    code: ErrorCode
    message: str
    allowed: Sequence[str] = ()

    def below(self, prefix: str) -> "BadField":
        """Return the same fault, with the path as seen from the enclosing document."""
        joint = "" if not self.field or self.field.startswith("[") else "."
        return BadField(f"{prefix}{joint}{self.field}", self.code, self.message, self.allowed)

    def document(self) -> JsonObject:
        document: JsonObject = {"field": self.field, "message": self.message}
        if self.allowed:
            document["allowed"] = list(self.allowed)
        return document


class ApiError(Exception):
    """A refusal: a code of the catalogue with its parameters, and every wrong field of a validation."""

    def __init__(
        self,
        code: ErrorCode,
        *parameters: str,
        bad_fields: Sequence[BadField] = (),
        headers: Mapping[str, str] | None = None,
        note: str = "",
        roles: Sequence[Role] = (),
    ) -> None:
        """Keep the parts of the document.

        `note`: a sentence after the message of the code, such as the setting that causes the refusal.
        `roles`: of which the caller lacks all, for pages that say who can give them.
        """
        super().__init__(code)
        self.code = code
        self.parameters = [_shortened(parameter) for parameter in parameters]
        self.bad_fields = bad_fields
        self.headers = dict(headers or {})
        self.note = note
        self.roles = roles

    @classmethod
    def of_fields(cls, bad_fields: Sequence[BadField]) -> "ApiError":
        """Return a validation error. The first wrong field gives the code; `bad_fields` must not be empty."""
        first = bad_fields[0]
        return cls(first.code, first.field, first.message, bad_fields=bad_fields[:MOST_FAULTS])

    @classmethod
    def of_field(cls, field: str, code: ErrorCode, message: str) -> "ApiError":
        """Return a validation error of one field."""
        return cls.of_fields([BadField(field, code, message)])

    @property
    def status(self) -> int:
        return self.code.status

    def document(self) -> JsonObject:
        document: JsonObject = {
            "error": self.status,
            "reason": reason_phrase(self.status),
            "errorCode": self.code.value,
            "detail": " ".join(filter(None, (self.code.message.format(*self.parameters), self.note))),
            "parameters": self.parameters,
        }
        if self.bad_fields:
            document["badFields"] = [bad.document() for bad in self.bad_fields]
        return document


def must_be_one_of(allowed: Sequence[str]) -> str:
    """Return the message for a value outside a closed set. Only `allowed` of the fault lists a large set."""
    names = ", ".join(map(str, allowed)) if len(allowed) <= _MOST_NAMED else "the allowed values"
    return f"must be one of {names}"


def needs_role(roles: Sequence[Role]) -> ApiError:
    """Return the error 403 for a caller without any of the roles."""
    return ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(roles), roles=roles)


def unavailable(reason: str) -> ApiError:
    """Return the 503 with its Retry-After."""
    headers = {"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)}
    return ApiError(ErrorCode.SERVICE_UNAVAILABLE, reason, headers=headers)


def rate_limited(seconds: int, *, note: str = "") -> ApiError:
    """Return the 429 with its Retry-After. `note`: a sentence that names the limit."""
    return ApiError(ErrorCode.RATE_LIMITED, str(seconds), headers={"Retry-After": str(seconds)}, note=note)


def get_or_404(row: T | None, code: ErrorCode, *parameters: str) -> T:
    """Return the row, or raise the 404 of its kind if it is None."""
    if row is None:
        raise ApiError(code, *parameters)
    return row


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ECHO else text[:_LONGEST_ECHO] + "…"
