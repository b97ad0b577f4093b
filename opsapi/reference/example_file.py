"""Reads `.env.example`, which explains each setting."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
    """The entries in order. Raises ValueError for a line that has none of the three forms, or a setting
    without a comment.
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
