"""SMS: the form of each message."""

from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs

import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.sms import TEXT_LIMIT, build_request
from integrations.choices import MessageKind
from tests.each import each
from tests.unit.integrations.messages import make_message, named_everywhere

NUMBER = "+12025550100"


@pytest.fixture(autouse=True)
def provider(settings: Any) -> None:
    """A provider is configured."""
    settings.OPSAPI_SMS_BASE_URL = "https://sms.example"
    settings.OPSAPI_SMS_ACCOUNT = "AC0123"
    settings.OPSAPI_SMS_TOKEN = "tökén:1"
    settings.OPSAPI_SMS_FROM = "+12025550199"


def form_of(number: str = NUMBER, **changes: Any) -> dict[str, str]:
    """The form of a message with these changes."""
    _, body, _ = build_request({"mobileNumber": number}, make_message(**changes))
    return {name: value for name, [value] in parse_qs(body.decode(), strict_parsing=True).items()}


def test_it_is_a_form_with_basic_credentials() -> None:
    url, _, headers = build_request({"mobileNumber": NUMBER}, make_message())
    assert url == "https://sms.example/2010-04-01/Accounts/AC0123/Messages.json"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    scheme, credentials = headers["Authorization"].split()
    assert (scheme, b64decode(credentials).decode()) == ("Basic", "AC0123:tökén:1")
    assert form_of() == {
        "From": "+12025550199",
        "To": NUMBER,
        "Body": "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments). "
        "Since: 2026-11-21 07:26:14Z",
    }


def test_an_account_cannot_lead_to_another_path(settings: Any) -> None:
    settings.OPSAPI_SMS_ACCOUNT = "a/b"
    url, _, _ = build_request({"mobileNumber": NUMBER}, make_message())
    assert url == "https://sms.example/2010-04-01/Accounts/a%2Fb/Messages.json"


@each(
    ("kind", "label"),
    [
        (MessageKind.OPEN, "[OPEN] [CRITICAL]"),
        (MessageKind.UPDATE, "[STILL OPEN] [CRITICAL]"),
        (MessageKind.CLOSE, "[CLOSED]"),
        (MessageKind.INFORM, "[EVENT] [CRITICAL]"),
    ],
)
def test_the_text_says_what_happened(kind: MessageKind, label: str) -> None:
    assert form_of(kind=kind)["Body"].startswith(f"{label} Host down: ")


LINK = "https://ops.example/admin/alerting/alert/6740a1b2c3d4e5f607080900/change/"


def test_the_most_important_is_first_and_the_link_last() -> None:
    known = {
        "Alert": "Outside metric threshold (OUTSIDE_METRIC_THRESHOLD)",
        "Metric": "Resident memory (MEMORY_RESIDENT)",
        "Replica set": "rs0",
        "Configuration": "MEMORY_RESIDENT above 1 GB",
        "Since": "2026-11-21 07:26:14Z",
    }
    headline = "Resident memory 2 GB > 1 GB"
    text = form_of(headline=headline, known=known, link=LINK, config_link=LINK)["Body"]
    assert text == (
        "[OPEN] [CRITICAL] Resident memory 2 GB > 1 GB: db1.example.com:27017 (project payments). "
        "Metric: Resident memory (MEMORY_RESIDENT). Replica set: rs0. Since: 2026-11-21 07:26:14Z. " + LINK
    )


@each("length", [TEXT_LIMIT - 1, TEXT_LIMIT, TEXT_LIMIT + 1])
def test_what_does_not_fit_is_left_out_whole(length: int) -> None:
    title = make_message(known={}).title
    link = "https://ops.example/".ljust(length - len(title) - len(". "), "x")
    text = form_of(known={}, link=link)["Body"]
    assert text == (f"{title}. {link}" if length <= TEXT_LIMIT else title)


def test_long_and_odd_names_are_one_line_that_fits() -> None:
    hostile = "x\r\n\u0000\ud800\u2028&To=+1900" + "é" * 5000
    form = form_of(**named_everywhere(hostile))
    assert form["To"] == NUMBER
    assert form["Body"].isprintable()
    assert len(form["Body"]) == TEXT_LIMIT


@each(
    ("number", "dialled"),
    [
        ("+12025550100", "+12025550100"),
        ("+1 (202) 555-0100", "+12025550100"),
        ("0049.30/123456", "004930123456"),
        ("112", "112"),
        ("+123456789012345", "+123456789012345"),
    ],
)
def test_a_number_is_dialled_without_what_people_put_between(number: str, dialled: str) -> None:
    assert form_of(number)["To"] == dialled


@each(
    "number",
    [
        "12",
        "+1234567890123456",
        "++12025550100",
        "12025550100+",
        "+",
        "",
        "call me",
        "+12025550100\n",
        "whatsapp:+12025550100",
        "+١٢٠٢٥٥٥٠١٠٠",
        "+12025550100,+12025550101",
    ],
)
def test_what_is_no_number_fails_for_good(number: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        form_of(number)
    assert (caught.value.reason, caught.value.retryable) == ("the mobile number is not valid", False)
