"""Lines of the embedded server, and the level each is passed on with."""

import logging

from opsapi.embedded.server import parsed
from tests.each import each


@each(
    ("line", "level", "text"),
    [
        ("LOG:  database system is ready", logging.INFO, "database system is ready"),
        ("WARNING:  beware", logging.WARNING, "beware"),
        ("ERROR:  a: b", logging.ERROR, "a: b"),
        ("FATAL:  no more", logging.ERROR, "no more"),
        ("PANIC:  help", logging.CRITICAL, "help"),
        ("postgres: could not access", logging.INFO, "postgres: could not access"),
        ("HINT:  do", logging.INFO, "HINT:  do"),
        ("", logging.INFO, ""),
    ],
)
def test_a_line(line: str, level: int, text: str) -> None:
    assert parsed(line) == (level, text)
