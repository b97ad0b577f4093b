"""A valid message from nothing."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from events.types import Severity
from integrations.choices import MessageKind
from integrations.messages import Message

NOW = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)

_MESSAGE = Message(
    delivery_id="6740a1b2c3d4e5f607080910",
    kind=MessageKind.OPEN,
    occurred_at=NOW,
    thread_key="6740a1b2c3d4e5f607080900",
    document={"id": "6740a1b2c3d4e5f607080900", "status": "OPEN", "tags": []},
    event_type_name="HOST_DOWN",
    severity=Severity.CRITICAL,
    headline="Host down",
    known={
        "Alert": "Host down (HOST_DOWN)",
        "Host": "db1.example.com:27017",
        "Project": "payments",
        "Since": "2026-11-21 07:26:14Z",
    },
    project_name="payments",
    target="db1.example.com:27017",
)


def make_message(**changes: Any) -> Message:
    """A message that a host is down, with these changes. A test has the severity that tests have."""
    severity = {"severity": Severity.INFO} if changes.get("is_test") else {}
    return replace(_MESSAGE, **severity | changes)


def lines_of(message: Message) -> list[str]:
    """The facts of a valid message, a line each."""
    return [
        f"State: {message.state}",
        f"Severity: {message.severity.capitalize()}",
        *(f"{label}: {value}" for label, value in _MESSAGE.known.items()),
    ]


def named_everywhere(name: str, facts: int = 4) -> dict[str, Any]:
    """Changes that make a message say the same name wherever it can say one."""
    known = {f"Fact {number}": name for number in range(facts)}
    return {
        "event_type_name": name,
        "headline": name,
        "target": name,
        "project_name": name,
        "description": name,
        "known": known,
    }


MOST_FACTS = 16
"""No message has more, of all that an alert can have, besides state, severity and description."""
ODD = ["a\r\nb", "a\x00b\x1b[31m", "\u202egnp.exe", "x\u2028y", "\ud800", "😀" * 3]
"""Names no title may be broken by."""
LONGEST = ["x", "&", '"', "😀", "\\"]
"""Characters that are long in one way of writing or another."""
