"""`manage.py reference`: writes docs/reference from the code, or checks that it is current."""

import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import groupby, starmap
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.text import capfirst
from drf_spectacular.drainage import GENERATOR_STATS

from alerting.reasons import AlertReason, AttemptFailure, NotificationReason, ReasonQuestion
from automation.metrics import Metric, allowed_units, base_unit, by_subject
from automation.plan.reasons import PlanReason, ReasonKind
from events.types import EVENT_TYPES, AlertEffect, Category, EventType, EventTypeSpec
from integrations.channels.stages import TABLES, Quote, StageRow
from integrations.choices import DeliveryStatus
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import reason_phrase
from opsapi.api.links import PUBLIC
from opsapi.api.schema import openapi_document
from opsapi.environment import READ
from opsapi.metric_series import DECLARED


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks in cells are kept."""
    lines = [_line(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"


def code(text: str) -> str:
    """As code; empty text stays empty."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str], separator: str = ", ") -> str:
    return separator.join(code(text) for text in texts)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells)
    return "| " + " | ".join(escaped) + " |"


_SETTINGS = """# Settings

Set environment variables, or write lines to `.env` ([.env.example](../../.env.example) has all settings).
Environment variables override the file. A wrong value stops the start with one line that says what is wrong.
"""
_TITLE = re.compile(r"# --- (?P<title>.+?) -+")
_VALUE = re.compile(r"#(?P<name>[A-Z][A-Z0-9_]*)=(?P<default>.*)")
_WORDS = re.compile(r"# (?P<words>.+)")


@dataclass
class Entry:
    """The settings of one comment: name → default as written."""

    section: str
    words: str = ""
    defaults: dict[str, str] = field(default_factory=dict)


def entries(text: str) -> Iterator[Entry]:
    """The entries of `.env.example` in order.

    Raises: ValueError: a line that has none of the three forms, or a setting without a comment.
    """
    entry = Entry("")
    for line in text.partition("\n\n")[2].splitlines():
        if title := _TITLE.fullmatch(line):
            yield from [entry] if entry.defaults else []
            entry = Entry(title["title"].partition(" (")[0])
        elif value := _VALUE.fullmatch(line):
            if not entry.words:
                raise ValueError(f".env.example: {value['name']} has no comment")
            entry.defaults[value["name"]] = value["default"]
        elif words := _WORDS.fullmatch(line):
            if entry.defaults:
                yield entry
                entry = Entry(entry.section)
            entry.words = f"{entry.words} {words['words']}".strip()
        elif line:
            raise ValueError(f".env.example: {line!r} is not a title, comment or setting")
    yield entry


def settings_page(example: Path) -> str:
    """The page. Raises ValueError when the example does not have exactly the settings that are read."""
    found = list(entries(example.read_text(encoding="utf-8")))
    _compare([name for entry in found for name in entry.defaults])
    columns = ("setting", "default", "allowed", "meaning")
    sections = [
        f"\n## {capfirst(title)}\n\n{table(columns, map(_setting_row, group))}"
        for title, group in groupby(found, lambda entry: entry.section)
    ]
    return _SETTINGS + "".join(sections)


def _compare(written: list[str]) -> None:
    if len(set(written)) != len(written) or set(written) != READ.keys():
        twice = {name for name in written if written.count(name) > 1}
        wrong = sorted({*written} ^ READ.keys() | twice)
        raise ValueError(f".env.example: these settings are missing, unknown or repeated: {wrong}")


def _setting_row(entry: Entry) -> tuple[str, str, str, str]:
    allowed = dict.fromkeys(READ[name].allowed for name in entry.defaults)
    defaults = [code(default) or "empty" for default in entry.defaults.values()]
    shown = defaults if len(set(defaults)) > 1 else defaults[:1]
    return codes(entry.defaults, "\n"), "\n".join(shown), "\n".join(allowed), entry.words


_EVENTS = """# Event types

`GET /api/public/v1.0/eventTypes` lists the same types.

| column | meaning |
|---|---|
| effect | *opens* → the type that closes the alert; *closes*; *notifies once*; *audit*: recorded only |
| severity | the severity of alert configurations that choose none |
| alertable | an alert configuration can use the type; *global only*: only a global one |
| reported | an agent can report the type |
| produced | the type occurs: the platform or an agent writes it |
"""
_EFFECTS = {AlertEffect.CLOSING: "closes", AlertEffect.ONE_SHOT: "notifies once", AlertEffect.AUDIT: "audit"}


def events_page() -> str:
    """The page, category by category."""
    columns = ("event type", "effect", "severity", "alertable", "reported", "produced")
    sections = []
    for category in Category:
        types = (item for item in EVENT_TYPES.items() if item[1].category is category)
        sections.append(f"\n## {category}\n\n{table(columns, starmap(_event_row, types))}")
    return _EVENTS + "".join(sections)


def _event_row(name: EventType, spec: EventTypeSpec) -> tuple[str, str, str, str, str, str]:
    effect = f"opens → {code(spec.closed_by)}" if spec.closed_by else _EFFECTS[spec.kind]
    alertable = "global only" if spec.global_only else _yes(spec.alertable)
    severity = code(spec.severity) if spec.severity else ""
    return code(name), effect, severity, alertable, _yes(spec.reported), _yes(spec.produced)


def _yes(holds: bool) -> str:
    return "yes" if holds else ""


_ERRORS = """# Errors

A refused request gets an error document with `error` (the status), `reason`, `errorCode`, `detail` and
`parameters`. If fields or query parameters are wrong, `badFields` lists all of them
([order of checks](../decisions.md#order-of-checks)).

In this page, `…` is a parameter. Paths are below `/api/public/v1.0`, except the paths of agents and scrapers.
`GET /errorCodes` lists the codes and messages.
"""
_METHODS = ("get", "post", "put", "patch", "delete")
_MOST_PATHS = 5


def errors_page() -> str:
    """The page, status by status."""
    operations = _operations()
    total = len({operation for found in operations.values() for operation in found})
    by_status = sorted(ErrorCode, key=lambda each: each.status)
    sections = [
        f"\n## {status} {reason_phrase(status)}\n\n"
        + table(
            ("code", "message", "operations"),
            ((code(each), each.message.format("…", "…"), _where(operations[each], total)) for each in group),
        )
        for status, group in groupby(by_status, lambda each: each.status)
    ]
    return _ERRORS + "".join(sections)


def _operations() -> Mapping[ErrorCode, list[tuple[str, str]]]:
    """Code → the operations that declare it, as path and method."""
    with GENERATOR_STATS.silence():
        paths = openapi_document()["paths"]
    found: dict[ErrorCode, list[tuple[str, str]]] = {each: [] for each in ErrorCode}
    for path, operations in paths.items():
        for method in _METHODS:
            for each in _codes(operations.get(method, {})):
                found[each].append((path.removeprefix(PUBLIC) or "/", method.upper()))
    return found


def _codes(operation: Mapping[str, Any]) -> list[ErrorCode]:
    described = [response["description"].split(", ") for response in operation.get("responses", {}).values()]
    return [ErrorCode[word] for words in described for word in words if word in ErrorCode.__members__]


def _where(operations: list[tuple[str, str]], total: int) -> str:
    """The paths if they are few. An error that no operation declares can come from any path (405, 404)."""
    by_path = {
        path: [method for _, method in group]
        for path, group in groupby(operations, lambda operation: operation[0])
    }
    if not by_path:
        return "any path"
    if len(by_path) > _MOST_PATHS:
        return "every operation" if len(operations) == total else f"{len(operations)} of {total} operations"
    return "\n".join(f"{', '.join(methods)} {code(path)}" for path, methods in by_path.items())


_SERIES = """# Metrics

## Metrics of the platform

Prometheus reads them at `/metrics`, from loopback and the networks in `OPSAPI_METRICS_ALLOW`
([settings](settings.md)). Counters and histograms cover one machine since its start. Gauges are queries at
each scrape, the same on all machines.
"""
_HOST_METRICS = """## Metrics of hosts

Agents report these metrics of hosts and databases, and alert configurations can have thresholds for them.
`GET /api/public/v1.0/metricNames` lists the same.

- **Units.** Values are stored and shown in the base unit, which is also the default of reports. Reports and
  thresholds can use the other allowed units.
- **Kinds.** A gauge is a level, or a share or mean since the previous sample. A rate is the increase of a
  counter per second, computed by the agent. Computed values have five significant digits and at most three
  decimals.
- Metrics under *No longer measured* are deprecated. Servers no longer have them; reports can still contain
  them.
"""
_COLUMNS = ("metric", "kind", "base unit", "allowed", "engines", "meaning")


def metrics_page() -> str:
    """The series by name, then the metrics of hosts subject by subject."""
    series = [DECLARED[name] for name in sorted(DECLARED)]
    rows = ((code(each.name), each.type.value, codes(each.labels), each.help) for each in series)
    sections = [
        f"\n### {subject}\n\n{table(_COLUMNS, map(_metric_row, metrics))}"
        for subject, metrics in by_subject(Metric)
    ]
    platform = table(("series", "type", "labels", "meaning"), rows)
    return f"{_SERIES}\n{platform}\n{_HOST_METRICS}{''.join(sections)}"


def _metric_row(metric: Metric) -> Sequence[str]:
    spec = metric.spec
    units = code(base_unit(metric)), codes(allowed_units(metric))
    return code(metric), spec.kind.lower(), *units, codes(spec.engines), spec.meaning


_STAGES = """# Stages of a delivery

This page lists the possible results of an attempt to deliver a message. Each row is a stage of the
conversation with a receiver, and an answer at this stage. The row of a code takes precedence over the row of
its class (`4xx`).

- **Fault.** *message*: only this message fails. *destination*: the other messages to this destination wait.
  *host*: the messages to all destinations on the host wait, and one message tries the host. *settings*: the
  settings of the platform are wrong; if the message is retried, other messages wait as for *host*. *worker*:
  nothing was sent, and no other message waits.
- **Received.** Whether the receiver has the message. *perhaps*: the platform sends the end of the alert in
  any case, and repeats of a message have the same id.
- **Then.** *retry*: the platform retries after 5 s, then after delays that double up to 5 min, for an hour.
  *failed*: the platform does not retry.
- **People read.** The sentence in the log of notifications and on the page of the destination. The text of a
  receiver is cut to 200 characters. `******` replaces secrets, mail addresses and internal addresses.

The platform has no client certificate. A receiver that asks for it refuses at the stage TLS, also under
TLS 1.3, where the refusal arrives after the handshake. Over HTTP, a receiver that says nothing or hangs up
during TLS has the row of *connect*, so that nobody can explore the network of the platform.

Over HTTP, the platform skips interim responses (1xx), up to 256 KiB. The status line decides: broken or slow
header fields and bodies do not change the result. Only Slack says in the body whether it posted the message.

If Slack does not change an earlier message, the same attempt posts a new message (*new message*), and the
first table of Slack applies.

The tables have {rows} rows. Tests try each of them with real servers.
"""


def stages_page() -> str:
    """The page, table by table."""
    columns = ("stage", "answer", "fault", "received", "then", "people read")
    sections = [f"\n## {title}\n\n{table(columns, map(_stage_row, rows))}" for title, rows in TABLES.items()]
    return _STAGES.format(rows=sum(map(len, TABLES.values()))) + "".join(sections)


def _stage_row(row: StageRow) -> tuple[str, ...]:
    if row.status is DeliveryStatus.DELIVERED:
        return row.stage, codes(row.answers), "", row.receipt, "delivered", ""
    if row.posts_again:
        return row.stage, codes(row.answers), "", row.receipt, "new message", ""
    said = row.said.replace("{code}", "…")
    words = f"{said}: {row.quote}" if row.quote in {Quote.PEER, Quote.LIBRARY} else said
    status = "retry" if row.is_retried else "failed"
    return row.stage, codes(row.answers), row.fault, row.receipt, status, words


_REASONS = """# Reasons

This page lists the reasons that explanations, the log of notifications and the console give. The code is the
`reason` in the API. `…` is a name or a value.
"""
_MESSAGES = """
## Messages

The `reason` of a message in the explanation of an alert. The log of notifications has the sentence of a
message that was dropped or is held back. If an attempt failed, the log has the
[failure](#attempts-without-a-receiver) instead.
"""
_SETTINGS_WITHOUT = """
## Notifications without a message

The `reason` of a notification in `withoutMessage`.
"""
_USERS = """
## Users

With `userId`, the explanation of an alert says why each notification did, or did not, reach the user. It uses
the reasons above, and these reasons and sentences:
"""
_HOSTS = """
## Hosts

The `reason` of `POST …/alertConfigs/{id}/explain`: the first that applies, in this order.
"""
_EVALUATION = """
## Evaluation

With `OPSAPI_LOG_LEVEL=DEBUG`, the log says for each compared condition what happens to the alert, with the
code of the reason. It also uses `MATCHER`, `METRIC_NOT_REPORTED` and `INSIDE_THRESHOLD`.
"""
_PLANS = {
    ReasonKind.WAITS: """
## Plans that wait

The `waits` of the plan in a [dry run](../how-to/preview-an-automation-configuration.md) of an automation
configuration.
""",
    ReasonKind.REFUSED: """
## Plans that refuse

The `refused` of the plan.
""",
    ReasonKind.ASSUMED: """
## Assumptions of plans

The `assumed` of the plan.
""",
}
_ATTEMPTS = """
## Attempts without a receiver

An attempt can fail before it contacts a receiver. [Stages of a delivery](stages.md) lists the failures at
receivers. The log of notifications has the sentence:
"""


def reasons_page() -> str:
    """The page, question by question."""
    head = ("code", "sentence")
    notifications: Mapping[ReasonQuestion, list[NotificationReason]] = {
        question: [reason for reason in NotificationReason if question in reason.questions]
        for question in ReasonQuestion
    }
    users = [reason for reason in NotificationReason if reason.of_user != reason.value]
    without = (_reason_row(reason, reason.value) for reason in notifications[ReasonQuestion.SETTING])
    of_user = (
        _reason_row(reason, reason.of_user) for reason in [*users, *notifications[ReasonQuestion.USER]]
    )
    hosts = [reason for reason in AlertReason if ReasonQuestion.HOST in reason.questions]
    evaluation = [reason for reason in AlertReason if ReasonQuestion.HOST not in reason.questions]
    sections = {
        _MESSAGES: (_reason_row(reason, reason.value) for reason in notifications[ReasonQuestion.MESSAGE]),
        _SETTINGS_WITHOUT: without,
        _USERS: of_user,
        _HOSTS: (_reason_row(reason, reason.value) for reason in hosts),
        _EVALUATION: (_reason_row(reason, reason.value) for reason in evaluation),
    }
    failures = table(("sentence",), ((_shown(failure.value),) for failure in AttemptFailure))
    tables = "".join(f"{text}\n{table(head, rows)}" for text, rows in sections.items())
    plans = "".join(f"{text}\n{table(head, _plan_rows(kind))}" for kind, text in _PLANS.items())
    return f"{_REASONS}{tables}{_ATTEMPTS}\n{failures}{plans}"


def _plan_rows(kind: ReasonKind) -> list[tuple[str, str]]:
    return [(code(reason.name), _shown(reason.sentence)) for reason in PlanReason if reason.kind is kind]


def _reason_row(reason: NotificationReason | AlertReason, sentence: str) -> tuple[str, str]:
    return code(reason.name), _shown(sentence)


def _shown(sentence: str) -> str:
    return code(re.sub(r"\{\w+\}", "…", sentence))


_MADE = "<!-- Generated by `make reference` from the code: change the code. -->\n\n"


class Command(BaseCommand):
    """Writes settings, event types, errors, metrics, stages and reasons from the code."""

    help = "Write docs/reference; with --check, only check that it is current."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--check", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError for a fault in .env.example, or with --check a page that is not current."""
        for name in (settings.ROOT_URLCONF, "opsapi.api.middleware"):
            import_module(name)  # Together they import all modules that declare settings and series.
        directory: Path = settings.BASE_DIR / "docs" / "reference"
        pages = {directory / name: _MADE + text for name, text in _pages().items()}
        if options["check"]:
            _check(pages)
        else:
            directory.mkdir(parents=True, exist_ok=True)
            for path, text in pages.items():
                path.write_text(text)


def _pages() -> Mapping[str, str]:
    """File name → text."""
    try:
        settings_text = settings_page(settings.BASE_DIR / ".env.example")
    except ValueError as error:
        raise CommandError(str(error)) from None
    return {
        "settings.md": settings_text,
        "events.md": events_page(),
        "errors.md": errors_page(),
        "metrics.md": metrics_page(),
        "stages.md": stages_page(),
        "reasons.md": reasons_page(),
    }


def _check(pages: Mapping[Path, str]) -> None:
    outdated = [path for path, text in pages.items() if not path.exists() or path.read_text() != text]
    if outdated:
        names = ", ".join(f"docs/reference/{path.name}" for path in outdated)
        raise CommandError(f"{names}: not current; run make reference")
