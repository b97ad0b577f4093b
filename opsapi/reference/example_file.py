"""Reads `.env.example`, where what each setting means is written, once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TITLE = re.compile(r"# --- (?P<title>.+?) -+")
_VALUE = re.compile(r"#(?P<name>[A-Z][A-Z0-9_]*)=(?P<default>.*)")
_WORDS = re.compile(r"# (?P<words>.+)")


@dataclass
class Entry:
    """Settings that one comment is about: name → default as it is written."""

    section: str
    words: str = ""
    defaults: dict[str, str] = field(default_factory=dict)


def entries(text: str) -> Iterator[Entry]:
    """The entries in their order. Raises ValueError for a line that is none of the three forms, or a setting
    that no comment is about.
    """
    entry = Entry("")
    for line in text.partition("\n\n")[2].splitlines():
        if title := _TITLE.fullmatch(line):
            yield from [entry] if entry.defaults else []
            entry = Entry(title["title"].partition(" (")[0])
        elif value := _VALUE.fullmatch(line):
            if not entry.words:
                raise ValueError(f".env.example: nothing is said about {value['name']}")
            entry.defaults[value["name"]] = value["default"]
        elif words := _WORDS.fullmatch(line):
            if entry.defaults:
                yield entry
                entry = Entry(entry.section)
            entry.words = f"{entry.words} {words['words']}".strip()
        elif line:
            raise ValueError(f".env.example: {line!r} is no title, comment or setting")
    yield entry
