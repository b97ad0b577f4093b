"""Answers to requests that never reach the application."""

import json
from http import HTTPStatus

from gunicorn.http import errors

from opsapi.supervisor.web_worker import refusal, status_of
from tests.each import each


@each(
    ("error", "status"),
    [
        (errors.InvalidRequestLine("x"), 400),
        (errors.InvalidHeader("x"), 400),
        (errors.LimitRequestLine(9000, 8190), 414),
        (errors.LimitRequestHeaders("x"), 431),
        (errors.ExpectationFailed("x"), 417),
        (errors.UnsupportedTransferCoding("x"), 501),
        (errors.InvalidResponseHeader("x"), 500),
        (errors.InvalidResponseHeaderName("x"), 500),
        (ValueError("x"), 500),
    ],
)
def test_the_parsers_refusals_are_the_clients_fault(error: Exception, status: int) -> None:
    assert status_of(error) == status


@each(
    ("status", "code"),
    [
        (HTTPStatus.BAD_REQUEST, "INVALID_ATTRIBUTE"),
        (HTTPStatus.REQUEST_TIMEOUT, "INVALID_ATTRIBUTE"),
        (HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "INVALID_ATTRIBUTE"),
        (HTTPStatus.INTERNAL_SERVER_ERROR, "UNEXPECTED_ERROR"),
        (HTTPStatus.SERVICE_UNAVAILABLE, "SERVICE_UNAVAILABLE"),
    ],
)
def test_an_answer_is_whole_and_in_the_shape_of_all_refusals(status: HTTPStatus, code: str) -> None:
    head, _, body = refusal(status).decode("ascii").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    document = json.loads(body)
    assert first == f"HTTP/1.1 {status.value} {status.phrase}"
    assert headers["Content-Length"] == str(len(body))
    assert (headers["Connection"], headers["Content-Type"]) == ("close", "application/json")
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert (document["error"], document["reason"]) == (status.value, status.phrase)
    assert document["errorCode"] == code
    assert code != "UNEXPECTED_ERROR" or document["parameters"] == [headers["X-Request-ID"]]
