"""What the channels share whose service keeps an alert's state."""

from collections.abc import Mapping

import pytest

from integrations.channels import http
from integrations.channels.http import ServiceRequest, document_text, over_http, place
from opsapi.outbound import OutboundResponse
from tests.each import each
from tests.unit.integrations.messages import NOW, make_message


@each(
    ("changes", "shown"),
    [
        ({}, "db1.example.com:27017"),
        ({"target": None}, "payments"),
        ({"target": " \u0000"}, "payments"),
        ({"target": None, "project_name": None}, "HOST_DOWN"),
        ({"target": "", "project_name": "\n", "event_type_name": ""}, "Ops API"),
        ({"target": "x" * 255}, "x" * 255),
        ({"target": "x" * 256}, "x" * 254 + "…"),
    ],
    ids=["target", "none", "unprintable", "no project", "nothing at all", "longest", "too long"],
)
def test_the_place_is_never_empty_nor_long(changes: dict[str, str | None], shown: str) -> None:
    assert place(make_message(**changes)) == shown


@each(
    ("value", "shown"),
    [
        ("on it", "on it"),
        ("on\r\nit", "on it"),
        ("x" * 11, "x" * 9 + "…"),
        ("", None),
        (" \u2028", None),
        (None, None),
        (7, None),
        (["on it"], None),
    ],
)
def test_a_text_of_the_document_is_one_line_or_none(value: object, shown: str | None) -> None:
    assert document_text(make_message(document={"comment": value}), "comment", 10) == shown


def test_a_text_that_is_not_there_is_none() -> None:
    assert document_text(make_message(), "comment", 10) is None


@pytest.mark.parametrize(("is_test", "seconds"), [(False, [15.0]), (True, [7.5, 7.5])], ids=["alert", "test"])
def test_both_requests_of_a_test_have_the_time_of_one(
    monkeypatch: pytest.MonkeyPatch, is_test: bool, seconds: list[float]
) -> None:
    given: list[float] = []

    def post(url: str, body: bytes, headers: Mapping[str, str], **bounds: float) -> OutboundResponse:
        given.append(bounds["total_timeout"])
        return OutboundResponse(202, None, b"")

    monkeypatch.setattr(http, "post", post)
    request = ServiceRequest("https://service.example", {})
    send = over_http(lambda _config, _message, _now: request, closes_tests=True)
    send({}, make_message(is_test=is_test), now=NOW)
    assert given == seconds
