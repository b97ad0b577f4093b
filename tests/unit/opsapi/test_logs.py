"""One event, one line, and nobody outside can forge a second one."""

import logging
from typing import Any

import pytest

from opsapi.logs import LineFormatter
from tests.each import each

MOMENT = 1795245974.1234


def test_a_line() -> None:
    line = _format("hello %s", "world", extra={"actor": "ada", "ms": 1.5})
    assert line == "2026-11-21T07:26:14.123Z INFO opsapi.test hello world actor=ada ms=1.5"


@each(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("two words", '"two words"'),
        ("a=b", '"a=b"'),
        ('a"b\\', '"a\\"b\\\\"'),
        (None, "None"),
        ("a\nb", "a\\nb"),
    ],
)
def test_an_extra_value(value: object, shown: str) -> None:
    assert _format("x", extra={"key": value}).endswith(f" x key={shown}")


@each(
    ("evil", "shown"),
    [
        ("\n2026-11-21T07:26:14.123Z INFO forged", "\\n2026-11-21T07:26:14.123Z INFO forged"),
        ("\r\t", "\\r\\t"),
        ("\x1b[31m\x00\x7f\x9b", "\\x1b[31m\\x00\\x7f\\x9b"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("ümlaut → 😀", "ümlaut → 😀"),
    ],
)
def test_control_characters_are_escaped(evil: str, shown: str) -> None:
    line = _format("%s", evil, extra={"key": "x"})
    assert line.endswith(f"opsapi.test {shown} key=x")
    assert len(line.splitlines()) == 1


def test_a_traceback_is_indented() -> None:
    with pytest.raises(ValueError, match="evil") as caught:
        _fail("evil\n2026-11-21T07:26:14.123Z INFO forged")
    error = (caught.type, caught.value, caught.tb)
    first, *rest = _format("failed", exc_info=error).splitlines()
    assert first.endswith("opsapi.test failed")
    assert rest
    assert all(line.startswith("    ") for line in rest)


def _fail(text: str) -> None:
    raise ValueError(text)


def _format(message: str, *args: object, **more: Any) -> str:
    record = logging.getLogger("opsapi.test").makeRecord(
        "opsapi.test", logging.INFO, __file__, 1, message, args, more.pop("exc_info", None), **more
    )
    record.created, record.msecs = MOMENT, 123.4
    return LineFormatter().format(record)
