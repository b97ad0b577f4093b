"""settings.md: the settings that the code reads, with their comments in `.env.example`."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from opsapi.environment import READ
from opsapi.reference.example_file import Entry, entries
from opsapi.reference.markdown import code, codes, table

_INTRODUCTION = """# Settings

Set environment variables, or write lines to `.env` ([.env.example](../../.env.example) has all settings).
Environment variables override the file. A wrong value stops the start with one line that says what is wrong.
"""


def page(example: Path) -> str:
    """The page. Raises ValueError when the example does not have exactly the settings that are read."""
    found = list(entries(example.read_text()))
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
