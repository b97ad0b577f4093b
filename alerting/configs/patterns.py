"""Regular expressions of matchers, for a linear-time engine; their answers are remembered. Pure."""

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Final, Protocol

import re2

MAX_REGEX_LENGTH: Final = 1000
"""The most characters that a pattern may have."""

_REGEX_MEMORY = 1024 * 1024  # octets one compiled pattern may use, its automaton included
_REGEX_CACHE = 256

MOST_TEXTS: Final = 32_768
"""The most texts whose answers are remembered."""
MOST_PATTERNS: Final = 4_096
"""The most patterns whose answers are remembered."""


class Regex(Protocol):
    """A compiled pattern."""

    @property
    def programsize(self) -> int:
        """The number of instructions. A search takes at most so many steps for each octet of the text."""

    def search(self, text: str | bytes, /) -> object | None:
        """Return a match anywhere in the text, or None."""


@lru_cache(maxsize=_REGEX_CACHE)
def compile_regex(pattern: str, ignore_case: bool = False) -> Regex:
    """Compile a pattern for the linear-time engine; the result is cached.

    Raises ValueError with a text for the author of the pattern.
    """
    if len(pattern) > MAX_REGEX_LENGTH:
        raise ValueError(f"longer than {MAX_REGEX_LENGTH} characters")
    return _compiled(pattern, ignore_case)


def finds(pattern: str, text: str, *, ignore_case: bool) -> bool:
    """Whether the pattern matches anywhere in the text. The answer is remembered.

    Agents report the same hosts every minute, so most answers are known. A known answer needs no compiled
    pattern: the patterns of a project that has more of them than the cache are not compiled again and again.

    Raises ValueError as `compile_regex`.
    """
    answer = _ANSWERS.get(pattern, ignore_case, text)
    if answer is None:
        answer = compile_regex(pattern, ignore_case).search(text) is not None
        _ANSWERS.put(pattern, ignore_case, text, answer)
    return answer


LAST_PORT: Final = 65_535
# An octet that is in no UTF-8 text ends each port, so that a match cannot continue in the next line.
_PORTS_AT_ONCE = 1_000
_PORT_BLOCKS = [
    b"\xff".join(b"\n%d\n" % port for port in range(first, min(first + _PORTS_AT_ONCE, LAST_PORT + 1)))
    for first in range(1, LAST_PORT + 1, _PORTS_AT_ONCE)
]
# Patterns that behave differently in a line among many: anchors of the text, and flags.
_NOT_BY_LINE = ("\\A", "\\z", "(?")


def finds_a_port(pattern: str, may_search: Callable[[], bool]) -> bool:
    """Whether the pattern matches any port, or the absent port; true if it is not known.

    It is not known of patterns with flags or anchors of the text, or once `may_search` says that the time is
    over. The ports are searched in lines, because 65,535 searches would take a tenth of a second.
    """
    by_line = f"(?m){pattern}"
    if len(by_line) > MAX_REGEX_LENGTH or any(part in pattern for part in _NOT_BY_LINE):
        return True
    regex = compile_regex(by_line)
    return any(not may_search() or regex.search(lines) is not None for lines in _PORT_BLOCKS)


class _Answers:
    """The answers of patterns about texts: two bits for each pair.

    When it is full it forgets everything, and searches fill it again.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: dict[tuple[str, bool], int] = {}
        self._known: dict[str, tuple[int, int]] = {}
        """Of each text: the patterns that were compared, and the patterns that match, as bits."""

    def get(self, pattern: str, ignore_case: bool, text: str) -> bool | None:
        """The answer; None if it is not known."""
        with self._lock:
            place, known = self._places.get((pattern, ignore_case)), self._known.get(text)
        if place is None or known is None or not known[0] >> place & 1:
            return None
        return bool(known[1] >> place & 1)

    def put(self, pattern: str, ignore_case: bool, text: str, answer: bool) -> None:
        """Remember an answer."""
        key = pattern, ignore_case
        with self._lock:
            is_full = len(self._places) >= MOST_PATTERNS and key not in self._places
            if is_full or (len(self._known) >= MOST_TEXTS and text not in self._known):
                self._places.clear()
                self._known.clear()
            place = self._places.setdefault(key, len(self._places))
            compared, matching = self._known.get(text, (0, 0))
            self._known[text] = compared | 1 << place, matching | answer << place

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._places.clear()
            self._known.clear()


_ANSWERS = _Answers()


def forget_answers() -> None:
    """Forget the answers and the compiled patterns of this process."""
    _ANSWERS.clear()
    compile_regex.cache_clear()


def _compiled(pattern: str, ignore_case: bool) -> Regex:
    try:
        compiled: Regex = re2.compile(pattern, _regex_options(ignore_case))
    except re2.error as error:
        raise ValueError(f"not a valid regular expression: {_explanation(error)}") from None
    except UnicodeEncodeError:
        raise ValueError("not a valid regular expression: not Unicode text") from None
    return compiled


def _regex_options(ignore_case: bool) -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # the engine would write users' patterns to stderr
    options.max_mem = _REGEX_MEMORY
    options.case_sensitive = not ignore_case
    options.never_capture = True  # nobody reads groups, and finding them takes longer than the search
    return options


def _explanation(error: Exception) -> str:
    text = error.args[0]
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
