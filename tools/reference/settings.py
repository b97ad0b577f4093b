"""settings.md: the settings that the code reads, with their comments in `.env.example`."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from opsapi.environment import READ
from tools.reference.markdown import code, codes, table

_INTRODUCTION = """# Settings

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

    Raises:
        ValueError: a line that has none of the three forms, or a setting without a comment.
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


def page(example: Path) -> str:
    """The page. Raises ValueError when the example does not have exactly the settings that are read."""
    found = list(entries(example.read_text(encoding="utf-8")))
    _compare([name for entry in found for name in entry.defaults])
    sections = [
        f"\n## {title[:1].upper()}{title[1:]}\n\n{_section(group)}"
        for title, group in groupby(found, lambda entry: entry.section)
    ]
    return _INTRODUCTION + "".join(sections)


def _compare(written: list[str]) -> None:
    if len(set(written)) != len(written) or set(written) != READ.keys():
        twice = {name for name in written if written.count(name) > 1}
        raise ValueError(f".env.example: what is read differs by {sorted({*written} ^ READ.keys() | twice)}")


def _section(found: Iterable[Entry]) -> str:
    return table(("setting", "default", "allowed", "meaning"), (_row(entry) for entry in found))


def _row(entry: Entry) -> tuple[str, str, str, str]:
    allowed = dict.fromkeys(READ[name].allowed for name in entry.defaults)
    defaults = [code(default) or "empty" for default in entry.defaults.values()]
    shown = defaults if len(set(defaults)) > 1 else defaults[:1]
    return codes(entry.defaults, "\n"), "\n".join(shown), "\n".join(allowed), entry.words
