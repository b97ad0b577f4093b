"""SMS: the form of each message."""

from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs

import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.sms import TEXT_LIMIT, SmsProvider, build_request
from integrations.choices import MessageKind
from tests.unit.integrations.messages import make_message

PROVIDER = SmsProvider("https://sms.example", "AC0123", "tökén:1", "+12025550199")
NUMBER = "+12025550100"


def form_of(number: str = NUMBER, **changes: Any) -> dict[str, str]:
    """The form of a message with those changes."""
    _, body, _ = build_request({"mobileNumber": number}, make_message(**changes), provider=PROVIDER)
    return {name: value for name, [value] in parse_qs(body.decode(), strict_parsing=True).items()}


def test_it_is_a_form_with_basic_credentials() -> None:
    url, _, headers = build_request({"mobileNumber": NUMBER}, make_message(), provider=PROVIDER)
    assert url == "https://sms.example/2010-04-01/Accounts/AC0123/Messages.json"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    scheme, credentials = headers["Authorization"].split()
    assert (scheme, b64decode(credentials).decode()) == ("Basic", "AC0123:tökén:1")
    assert form_of() == {
        "From": "+12025550199",
        "To": NUMBER,
        "Body": "[OPEN] HOST_DOWN db1.example.com:27017 (project payments)",
    }


def test_an_account_cannot_lead_to_another_path() -> None:
    provider = SmsProvider("https://sms.example", "a/b", "t", "f")
    url, _, _ = build_request({"mobileNumber": NUMBER}, make_message(), provider=provider)
    assert url == "https://sms.example/2010-04-01/Accounts/a%2Fb/Messages.json"


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        (MessageKind.OPEN, "OPEN"),
        (MessageKind.UPDATE, "STILL OPEN"),
        (MessageKind.CLOSE, "CLOSED"),
        (MessageKind.INFORM, "EVENT"),
    ],
)
def test_the_text_says_what_happened(kind: MessageKind, label: str) -> None:
    assert form_of(kind=kind)["Body"].startswith(f"[{label}] HOST_DOWN ")


@pytest.mark.parametrize(
    ("target", "ending"),
    [("t" * 100, ": 93 RAW"), ("t" * 10, ": 93 RAW")],
    ids=["long", "short"],
)
def test_the_current_value_stands_at_the_end(target: str, ending: str) -> None:
    assert form_of(target=target, current_value="93 RAW")["Body"].endswith(ending)


@pytest.mark.parametrize("length", [TEXT_LIMIT - 1, TEXT_LIMIT, TEXT_LIMIT + 1])
def test_a_value_that_does_not_fit_is_left_out(length: int) -> None:
    # "[OPEN] ", two names with a blank between, " (project ", the third, ")", ": " and the value.
    project = "p" * 100
    value = "v" * (length - 7 - 80 - 1 - 80 - 10 - 100 - 1 - 2)
    names = {"event_type_name": "e" * 80, "target": "t" * 80, "project_name": project}
    text = form_of(**names, current_value=value)["Body"]
    assert text.endswith(value if length <= TEXT_LIMIT else f"(project {project})")
    assert len(text) <= TEXT_LIMIT


def test_long_and_odd_names_are_one_line_that_fits() -> None:
    hostile = "x\r\n\u0000\ud800\u2028&To=+1900" + "é" * 5000
    form = form_of(target=hostile, project_name=hostile, event_type_name=hostile, current_value=hostile)
    assert form["To"] == NUMBER
    assert form["Body"].isprintable()
    assert len(form["Body"]) == TEXT_LIMIT


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
