"""Every entry of the error catalogue can be raised, is rendered whole, and is published."""

import string
from typing import Any, NoReturn

import pytest

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, reason_phrase
from opsapi.api.links import PUBLIC
from opsapi.api.root import RootViewSet
from tests.client import ApiClient, authorization
from tests.each import each

PARAMETERS = ("first", "second")
pytestmark = pytest.mark.django_db


def raised(owner: ApiClient, monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    """The answer of an endpoint that raises this."""

    def retrieve(*_: Any, **__: Any) -> NoReturn:
        raise error

    monkeypatch.setattr(RootViewSet, "retrieve", retrieve)
    assert owner.key
    return owner.http.get(PUBLIC, RAW_URI=PUBLIC, HTTP_AUTHORIZATION=authorization(owner.key, "GET", PUBLIC))


@each("code", ErrorCode)
def test_an_entry_is_raised_and_rendered(
    owner: ApiClient, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    assert {name for _, name, _, _ in string.Formatter().parse(code.message)} <= {None, "0", "1"}
    answer = raised(owner, monkeypatch, ApiError(code, *PARAMETERS))
    assert answer.status_code == code.status
    assert answer.json() == {
        "error": code.status,
        "reason": reason_phrase(code.status),
        "errorCode": code.value,
        "detail": code.message.format(*PARAMETERS),
        "parameters": ["first", "second"],
    }


@each("code", [code for code in ErrorCode if code.status == 400])
def test_a_validation_error_shows_every_field(
    owner: ApiClient, monkeypatch: pytest.MonkeyPatch, code: ErrorCode
) -> None:
    faults = [BadField("a.b[0]", code, "is wrong", ["x", "y"]), BadField("c", code, "is wrong too")]
    document = raised(owner, monkeypatch, ApiError.of_fields(faults)).json()
    assert document["errorCode"] == code.value
    assert document["badFields"] == [
        {"field": "a.b[0]", "message": "is wrong", "allowed": ["x", "y"]},
        {"field": "c", "message": "is wrong too"},
    ]


def test_an_unforeseen_error_is_answered_without_a_traceback(
    owner: ApiClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answer = raised(owner, monkeypatch, KeyError("a secret detail"))
    assert (answer.status_code, answer.json()["errorCode"]) == (500, "UNEXPECTED_ERROR")
    assert answer.json()["parameters"] == [answer.headers["X-Request-ID"]]
    assert "secret" not in answer.content.decode()
    assert "a secret detail" in caplog.text


def test_the_catalogue_is_whole_and_published(owner: ApiClient) -> None:
    published = owner.get("/errorCodes?itemsPerPage=500").json()["results"]
    assert published == [
        {"errorCode": code.value, "status": code.status, "message": code.message} for code in ErrorCode
    ]
