"""The message that channels send, equal for all channels. Pure."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from events.types import Severity
from integrations.choices import OPEN_KINDS, MessageKind

_STATES: Mapping[MessageKind, str] = {
    MessageKind.OPEN: "Open",
    MessageKind.UPDATE: "Still open",
    MessageKind.ACKNOWLEDGE: "Acknowledged",
    MessageKind.CLOSE: "Closed",
    MessageKind.CANCEL: "Cancelled",
    MessageKind.INFORM: "Event (no alert is open)",
}
_TEST_STATE = "Test: no action needed"
_REPORT_STATE = "Report"
_URGENT_KINDS = frozenset({*OPEN_KINDS, MessageKind.INFORM})
_NAME_LIMIT = 120
_FACT_LIMIT = 300
_DESCRIPTION_LIMIT = 1000
# Control, format, surrogate, private and unassigned characters, line and paragraph separators.
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to one receiver: all that channels know of an alert or an event.

    `delivery_id` is the same on every retry; `thread_key` is the same for all messages of one alert.
    `document` is the alert or event document as the API shows it; the rest is for people to read:
    `severity` is that of the alert, or of the alert configuration; INFO for a test. `description` and
    `runbook_url` are from the configuration.
    `headline` says what happened, `target` where, `known` everything else, label → text. `link` opens the
    alert or event in the console, `config_link` its configuration.
    `is_test`: nothing happened; somebody checks whether messages arrive. `handle` names an earlier message
    about the same alert at the receiver, which this message changes (`integrations.channels.outcome.Posted`).
    `report`: the lines of a report by the title of their section; a message with a report has no other facts.
    """

    delivery_id: str
    kind: MessageKind
    occurred_at: datetime
    thread_key: str
    document: Mapping[str, object]
    event_type_name: str
    severity: Severity
    headline: str
    known: Mapping[str, str]
    project_name: str | None = None
    target: str | None = None
    link: str | None = None
    config_link: str | None = None
    description: str = ""
    runbook_url: str | None = None
    is_test: bool = False
    handle: str | None = None
    report: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        if self.report:
            return _REPORT_STATE.upper()
        return "TEST" if self.is_test else _STATES[self.kind].partition(" (")[0].upper()

    @property
    def state(self) -> str:
        if self.report:
            return _REPORT_STATE
        return _TEST_STATE if self.is_test else _STATES[self.kind]

    @property
    def what(self) -> str:
        """What happened: `Host down`."""
        return printable(f"Test notification for {self.headline}" if self.is_test else self.headline)

    @property
    def where(self) -> str:
        """Where: `db1.example.com:27017 (project payments)`."""
        project = f"(project {printable(self.project_name)})" if self.project_name else ""
        return f"{printable(self.target or '')} {project}".strip()

    @property
    def title(self) -> str:
        """One line: `[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)`.

        The severity is left out if it is INFO, and after the alert was acknowledged or has ended.
        """
        separator = ": " if printable(self.target or "") else " "
        is_urgent = self.kind in _URGENT_KINDS and self.severity is not Severity.INFO
        mark = f" [{self.severity}]" if is_urgent else ""
        return f"[{self.label}]{mark} {self.what}{separator}{self.where}".rstrip()

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts for people, label → printable line; facts without a value are left out.

        The sections of a report are its facts, with a line for each of their lines.
        """
        if self.report:
            return {
                title: "\n".join(["", *lines] if len(lines) > 1 else lines)
                for title, lines in self.report.items()
            }
        facts = {"State": self.state, "Severity": self.severity.capitalize(), **self.known}
        lines = {label: printable(value, _FACT_LIMIT) for label, value in facts.items()}
        lines["Description"] = printable(self.description, _DESCRIPTION_LIMIT)
        return {label: line for label, line in lines.items() if line}

    @property
    def lines(self) -> list[str]:
        """The facts and the links, a line each."""
        return [f"{label}: {value}" for label, value in [*self.facts.items(), *self.links.items()]]

    @property
    def links(self) -> Mapping[str, str]:
        """The runbook and related pages of the console, label → URL, the most important first."""
        what = "report" if self.report else "event" if self.kind is MessageKind.INFORM else "alert"
        links = {
            f"Open the {what}": self.link,
            "Runbook": self.runbook_url,
            "Alert configuration": self.config_link,
        }
        return {label: url for label, url in links.items() if url}


def printable(text: str, limit: int = _NAME_LIMIT) -> str:
    """A line of at most `limit` characters; runs of spaces and unprintable characters become a space."""
    clean = "".join(" " if unicodedata.category(char) in _UNPRINTABLE else char for char in text)
    line = " ".join(clean.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def joined(pieces: Iterable[str], limit: int, separator: str = "\n") -> str:
    """As many pieces, in order, as fit into `limit` characters; no piece is cut."""
    text = ""
    for piece in pieces:
        longer = f"{text}{separator}{piece}" if text else piece
        text = longer if len(longer) <= limit else text
    return text
