"""The errors that an action can return, derived from its declaration.

The view's `refusals` declare the errors of its services and of `load`, a document's `refusals` the errors of
`check`. All others follow from access, path, parameters and fields.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rest_framework import serializers

from opsapi.api.catalogue import CATALOGUE, ErrorCode
from opsapi.api.documents import Document
from opsapi.api.permissions import Access, Where
from opsapi.api.query import EVERYWHERE
from opsapi.api.views import ApiViewSet

_ALWAYS = (ErrorCode.UNEXPECTED_ERROR, ErrorCode.SERVICE_UNAVAILABLE)
_OF_CALLERS = (ErrorCode.UNAUTHORIZED, ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, ErrorCode.RATE_LIMITED)
_OF_ROLES = {
    Where.INSTALLATION: (ErrorCode.USER_UNAUTHORIZED,),
    Where.ORG: (ErrorCode.USER_UNAUTHORIZED, ErrorCode.INVALID_ORG_ID, ErrorCode.ORG_NOT_FOUND),
    Where.GROUP: (
        ErrorCode.USER_UNAUTHORIZED,
        ErrorCode.NOT_IN_GROUP,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.GROUP_NOT_FOUND,
    ),
}
_OF_BODIES = (
    ErrorCode.INVALID_JSON,
    ErrorCode.MISSING_ATTRIBUTE,
    ErrorCode.INVALID_ATTRIBUTE,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE,
    ErrorCode.REQUEST_TOO_LARGE,
)


def refusals_of(
    view: ApiViewSet | type[ApiViewSet], action: str, path_parameters: Iterable[str]
) -> Mapping[int, list[ErrorCode]]:
    """Return HTTP status → codes, in the order of the catalogue. 405 belongs to paths, not to actions."""
    codes = {
        *_ALWAYS,
        *_of_access(view.access[action]),
        *_of_path(view.identifiers, path_parameters),
        *(parameter.code for parameter in (*EVERYWHERE, *view.parameters.get(action, ()))),
        *_of_body(view.bodies.get(action)),
        *view.refusals.get(action, ()),
    }
    if view.linked and action in view.answers:
        codes.add(ErrorCode.INVALID_ATTRIBUTE)  # A Host that is not allowed.
    found: dict[int, list[ErrorCode]] = {}
    for code in sorted(codes, key=list(ErrorCode).index):
        found.setdefault(CATALOGUE[code].status, []).append(code)
    return found


def _of_access(access: Access) -> Iterator[ErrorCode]:
    if access.where is not Where.NOWHERE:
        yield from _OF_CALLERS
    yield from _OF_ROLES.get(access.where, ())


def _of_path(identifiers: Mapping[str, ErrorCode], path_parameters: Iterable[str]) -> Iterator[ErrorCode]:
    """Return the codes for a malformed ID, and for a well-formed ID that does not exist."""
    for name in path_parameters:
        if name in identifiers:
            yield identifiers[name]
            subject = identifiers[name].removeprefix("INVALID_").removesuffix("_ID")
            yield ErrorCode(f"{subject}_NOT_FOUND")


def _of_body(body: type[Document] | list[type[Document]] | None) -> Iterator[ErrorCode]:
    if body is not None:
        yield from _OF_BODIES
        yield from _of_field(body[0]() if isinstance(body, list) else body())


def _of_field(field: serializers.Field[Any, Any, Any, Any]) -> Iterator[ErrorCode]:
    """Return the codes of a field and of the fields in it."""
    if field.read_only:
        yield ErrorCode.ATTRIBUTE_READ_ONLY
        return
    codes = ("code", "range_code", *(["missing_code"] if field.required else []))
    named = (getattr(field, name, None) for name in codes)
    yield from (code for code in named if isinstance(code, ErrorCode))
    if isinstance(field, Document):
        yield from field.refusals
        for part in field.fields.values():
            yield from _of_field(part)
    elif isinstance(field, serializers.ListField):
        yield from _of_field(field.child)
