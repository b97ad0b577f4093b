"""What people read of a message."""

import pytest

from integrations.choices import MessageKind
from integrations.messages import printable
from tests.unit.integrations.messages import make_message


@pytest.mark.parametrize(
    ("changes", "title"),
    [
        ({}, "[OPEN] HOST_DOWN db1.example.com:27017 (project payments)"),
        ({"target": None}, "[OPEN] HOST_DOWN (project payments)"),
        ({"project_name": None}, "[OPEN] HOST_DOWN db1.example.com:27017"),
        ({"kind": MessageKind.UPDATE}, "[STILL OPEN] HOST_DOWN db1.example.com:27017 (project payments)"),
        (
            {"kind": MessageKind.INFORM, "is_test": True, "target": None},
            "[TEST] HOST_DOWN (project payments)",
        ),
        ({"kind": MessageKind.CLOSE, "target": ""}, "[CLOSED] HOST_DOWN (project payments)"),
        (
            {"project_name": "a\r\nBcc: x@y.z"},
            "[OPEN] HOST_DOWN db1.example.com:27017 (project a Bcc: x@y.z)",
        ),
    ],
)
def test_it_says_state_type_target_and_project_in_one_line(changes: dict[str, str], title: str) -> None:
    assert make_message(**changes).title == title


def test_its_title_stays_short_however_long_the_names() -> None:
    message = make_message(event_type_name="E" * 500, target="t" * 500, project_name="p" * 500)
    assert message.title == f"[OPEN] {'E' * 119}… {'t' * 119}… (project {'p' * 119}…)"


@pytest.mark.parametrize("kind", list(MessageKind))
def test_every_kind_has_a_label(kind: MessageKind) -> None:
    assert make_message(kind=kind).label.isupper()


def test_it_lists_only_facts_that_have_a_value() -> None:
    assert dict(make_message(current_value="93 RAW", target=None).facts) == {
        "Event type": "HOST_DOWN",
        "State": "OPEN",
        "Project": "payments",
        "Current value": "93 RAW",
        "Time": "2026-11-21T07:26:14Z",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("Grüße, 世界", "Grüße, 世界"),
        ("a\r\nb", "a b"),
        ("a\x00b\x1b[31mc\x7f", "a b [31mc"),
        ("a\u2028b\u2029c", "a b c"),
        ("a\u202eb\u200bc\ufeff", "a b c"),
        ("a\ud800b", "a b"),
        ("  a  \t b ", "a b"),
        ("x" * 10, "x" * 10),
        ("x" * 11, "x" * 9 + "…"),
        ("xxxxxxxx yyy", "xxxxxxxx…"),
    ],
)
def test_it_makes_one_printable_line_of_ten(text: str, expected: str) -> None:
    assert printable(text, 10) == expected
