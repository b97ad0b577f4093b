"""Log lines for people: one line per event, which no input can forge."""

import logging
import time

# Attributes of every record, and attributes that formatting adds. All others came as `extra`.
STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "request",
    "status_code",
}
ESCAPES = {number: f"\\x{number:02x}" for number in (*range(32), *range(127, 160))}
ESCAPES |= {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0x2028: "\\u2028", 0x2029: "\\u2029"}


class LineFormatter(logging.Formatter):
    """`2026-11-21T07:26:14.123Z INFO logger message key=value`, control characters escaped.

    A traceback follows on indented lines, so that each line that starts with a time is a record.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line, followed by its traceback, if any."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        start = f"{moment}.{int(record.msecs):03d}Z {record.levelname} {record.name}"
        extras = [f"{key}={_value(value)}" for key, value in vars(record).items() if key not in STANDARD]
        line = " ".join([start, _escaped(record.getMessage()), *extras])
        return line + self._trace(record)

    def _trace(self, record: logging.LogRecord) -> str:
        text = self.formatException(record.exc_info) if record.exc_info else record.exc_text or ""
        return "".join(f"\n    {_escaped(line)}" for line in text.splitlines())


def _escaped(text: str) -> str:
    return text.translate(ESCAPES)


def _value(value: object) -> str:
    """Quoted if spaces, quotes or equals signs would make the end ambiguous."""
    text = _escaped(str(value))
    if text and not set(text) & set(' "='):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def first_line(error: Exception) -> str:
    """Return the first line of the error, without hints; the name of its type if it has no text."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
