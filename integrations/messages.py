"""What is told to the outside: one frozen message, the same for every channel. Pure."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from integrations.choices import MessageKind
from opsapi.clock import wire_time

_LABELS: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "OPEN",
    MessageKind.UPDATE: "STILL OPEN",
    MessageKind.ACKNOWLEDGE: "ACKNOWLEDGED",
    MessageKind.CLOSE: "CLOSED",
    MessageKind.CANCEL: "CANCELLED",
    MessageKind.INFORM: "EVENT",
}
_FACT_LIMIT = 120
# Control, format, surrogate, private and unassigned characters, line and paragraph separators.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to one receiver. Channels know of alerts only what stands here.

    `delivery_id` is the same on every retry; `thread_key` the same for all messages of one alert.
    `document` is the alert or event document as the API shows it; the rest is for people to read.
    `is_test`: nothing happened, somebody tries whether messages arrive.
    """

    delivery_id: str
    kind: MessageKind
    occurred_at: datetime
    thread_key: str
    document: Mapping[str, object]
    event_type_name: str
    project_name: str | None = None
    target: str | None = None
    current_value: str | None = None
    link: str | None = None
    is_test: bool = False

    @property
    def label(self) -> str:
        """The state in a word or two, for a title."""
        return "TEST" if self.is_test else _LABELS[self.kind]

    @property
    def title(self) -> str:
        """One line: `[OPEN] HOST_DOWN db1.example.com:27017 (project payments)`."""
        words = [f"[{self.label}]", printable(self.event_type_name), printable(self.target or "")]
        line = " ".join(word for word in words if word)
        return f"{line} (project {printable(self.project_name)})" if self.project_name else line

    @property
    def facts(self) -> Mapping[str, str]:
        """What a person wants to know, label → one printable line; without those that have no value."""
        facts = {
            "Event type": self.event_type_name,
            "State": self.label,
            "Project": self.project_name,
            "Target": self.target,
            "Current value": self.current_value,
            "Time": wire_time(self.occurred_at),
        }
        return {label: printable(value) for label, value in facts.items() if value}


def printable(text: str, limit: int = _FACT_LIMIT) -> str:
    """One line of at most `limit` characters: runs of blanks and unprintable ones become one blank."""
    clean = "".join(" " if unicodedata.category(char) in _UNPRINTABLE else char for char in text)
    line = " ".join(clean.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
