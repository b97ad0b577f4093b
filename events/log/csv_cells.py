"""Cells of a CSV file that no spreadsheet runs (RFC 4180). Pure.

Texts come from users and agents, and a spreadsheet runs a cell that begins like a formula:
https://owasp.org/www-community/attacks/CSV_Injection. A spreadsheet with another separator than the comma
finds further cells within a text, so what follows a separator counts as the beginning of a cell too.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from events.diffs import compact_json

_APOSTROPHE = "'"
# ASCII, full-width, small and mathematical forms, which spreadsheets treat alike.
_FORMULA = frozenset("=+-@＝＋－＠﹦﹢﹣﹫−")
_LEADING = frozenset("\t\r\n")
_SEPARATOR = re.compile("([,;|\t\r\n])")
# Characters that spreadsheets skip: spaces (known to `str.strip`), quotes, zero-width characters.
_QUOTES = "\"'`‘’“”\ufeff\u200b\u200c\u200d\u2060"
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')


def text_cell(text: str) -> str:
    """The text, with an apostrophe in front of everything that a spreadsheet would treat as a formula."""
    harmless = "".join(_APOSTROPHE + part if _formula_at(part) is not None else part for part in _parts(text))
    return _APOSTROPHE + harmless if text[:1] in _LEADING else harmless


def json_cell(value: Any) -> str:
    """A value as compact JSON that parses to the same value, with the first character of formulas escaped."""
    return _JSON_TEXT.sub(lambda match: "".join(map(_escaped, _parts(match[0]))), compact_json(value))


def csv_lines(records: Iterable[Sequence[str]]) -> str:
    """Records with line ends (RFC 4180, 2). Every cell is quoted, so no character splits it."""
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(records)
    return text.getvalue()


def _parts(text: str) -> list[str]:
    """The text split at every separator, keeping the separators."""
    return _SEPARATOR.split(text)


def _formula_at(part: str) -> int | None:
    """The position where a formula starts in a cell with this text; None if there is none."""
    for place, character in enumerate(part):
        if character in _FORMULA:
            return place
        if not (character.isspace() or character in _QUOTES):
            return None
    return None


def _escaped(part: str) -> str:
    place = _formula_at(part)
    return part if place is None else f"{part[:place]}\\u{ord(part[place]):04x}{part[place + 1 :]}"
