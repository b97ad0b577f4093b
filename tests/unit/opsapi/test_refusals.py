"""The errors that an action can answer, from its declaration."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework import serializers

from opsapi.api import errors
from opsapi.api.catalogue import ErrorCode
from opsapi.api.components import refusals_of
from opsapi.api.documents import Document
from opsapi.api.fields import EmailAddress, ListOf, OneOf, Text, Whole
from opsapi.api.permissions import ANY_KEY, OPEN, Access, in_group, in_installation, in_org
from opsapi.api.query import Parameter
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role
from tests.each import each

ALWAYS = {"UNEXPECTED_ERROR", "SERVICE_UNAVAILABLE", "INVALID_QUERY_PARAMETER"}
KEYED = {"INVALID_AUTHORIZATION_URI", "UNAUTHORIZED", "IP_ADDRESS_NOT_ON_ACCESS_LIST", "RATE_LIMITED"}
BODY = {
    "INVALID_JSON",
    "MISSING_ATTRIBUTE",
    "INVALID_ATTRIBUTE",
    "UNSUPPORTED_MEDIA_TYPE",
    "REQUEST_TOO_LARGE",
}


class Inner(Document):
    """A document in another one."""

    refusals = (ErrorCode.UNITS_MISMATCH,)

    minutes = Whole(range_code=ErrorCode.NOTIFICATION_INTERVAL_OUT_OF_RANGE)
    address = EmailAddress()


class Outer(Document):
    """A body."""

    parts = ListOf(Inner(), missing_code=ErrorCode.MISSING_NOTIFICATIONS)
    kind = OneOf(["A"])


class Stored(Document):
    """A body with a field that says what is stored."""

    id = serializers.CharField(read_only=True)
    name = Text()


def codes(path_parameters: tuple[str, ...] = (), **declared: Any) -> set[str]:
    """The codes of the action `act` of a view so declared."""
    view = type("View", (ApiViewSet,), {"access": {"act": OPEN}, **declared})
    found = refusals_of(view, "act", path_parameters)
    return {code.value for some in found.values() for code in some}


@each(
    ("access", "more"),
    [
        (OPEN, set()),
        (ANY_KEY, KEYED),
        (in_installation(Role.GLOBAL_OWNER), KEYED | {"USER_UNAUTHORIZED"}),
        (
            in_org(Role.ORG_OWNER),
            KEYED | {"USER_UNAUTHORIZED", "INVALID_ORG_ID", "ORG_NOT_FOUND"},
        ),
        (
            in_group(Role.GROUP_OWNER),
            KEYED | {"USER_UNAUTHORIZED", "NOT_IN_GROUP", "INVALID_GROUP_ID", "GROUP_NOT_FOUND"},
        ),
    ],
)
def test_access_determines_the_refusals_of_other_callers(access: Access, more: set[str]) -> None:
    assert codes(access={"act": access}) == ALWAYS | more


@each(
    ("declared", "path_parameters", "more"),
    [
        ({"answers": {"act": Stored}}, (), {"INVALID_ATTRIBUTE"}),
        ({"answers": {"act": Stored}, "linked": False}, (), set()),
        ({"answers": {"other": Stored}}, (), set()),
        (
            {"identifiers": {"key_id": ErrorCode.INVALID_API_KEY_ID}},
            ("key_id",),
            {"INVALID_API_KEY_ID", "API_KEY_NOT_FOUND"},
        ),
        ({"identifiers": {"key_id": ErrorCode.INVALID_API_KEY_ID}}, (), set()),
        (
            {"parameters": {"act": [Parameter("s", str, code=ErrorCode.INVALID_ALERT_STATUS)]}},
            (),
            {"INVALID_ALERT_STATUS"},
        ),
        ({"refusals": {"act": [ErrorCode.ORG_NOT_EMPTY]}}, (), {"ORG_NOT_EMPTY"}),
        ({"refusals": {"other": [ErrorCode.ORG_NOT_EMPTY]}}, (), set()),
        ({"bodies": {"act": Stored}}, (), BODY | {"ATTRIBUTE_READ_ONLY"}),
        ({"bodies": {"act": [Stored]}}, (), BODY | {"ATTRIBUTE_READ_ONLY"}),
        (
            {"bodies": {"act": Outer}},
            (),
            BODY
            | {
                "INVALID_ENUM_VALUE",
                "MISSING_NOTIFICATIONS",
                "UNITS_MISMATCH",
                "NOTIFICATION_INTERVAL_OUT_OF_RANGE",
                "INVALID_EMAIL_ADDRESS",
            },
        ),
    ],
)
def test_declarations_determine_the_refusals(
    declared: Mapping[str, Any], path_parameters: tuple[str, ...], more: set[str]
) -> None:
    assert codes(path_parameters, **declared) - ALWAYS == more


def test_codes_are_grouped_by_status_in_the_order_of_the_catalogue() -> None:
    view = type("View", (ApiViewSet,), {"access": {"act": OPEN}, "bodies": {"act": Stored}})
    assert refusals_of(view, "act", ()) == {
        400: [
            ErrorCode.MISSING_ATTRIBUTE,
            ErrorCode.INVALID_ATTRIBUTE,
            ErrorCode.ATTRIBUTE_READ_ONLY,
            ErrorCode.INVALID_JSON,
            ErrorCode.INVALID_QUERY_PARAMETER,
        ],
        413: [ErrorCode.REQUEST_TOO_LARGE],
        415: [ErrorCode.UNSUPPORTED_MEDIA_TYPE],
        500: [ErrorCode.UNEXPECTED_ERROR],
        503: [ErrorCode.SERVICE_UNAVAILABLE],
    }


@each(
    ("status", "reason"),
    [
        (413, "Request Entity Too Large"),
        (414, "Request-URI Too Long"),
        (416, "Requested Range Not Satisfiable"),
        (422, "Unprocessable Entity"),
    ],
)
def test_the_reason_of_a_status_that_python_renamed_stays(
    status: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errors, "HTTPStatus", lambda _: SimpleNamespace(phrase="another name"))
    assert errors.reason_phrase(status) == reason
    assert errors.reason_phrase(404) == "another name"
