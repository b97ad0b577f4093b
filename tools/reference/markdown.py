"""Markdown of the reference: tables with escaped cells."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; line breaks in cells are kept."""
    lines = [_line(head), "|" + "---|" * len(head)]
    return "\n".join([*lines, *(_line(row) for row in rows)]) + "\n"


def code(text: str) -> str:
    """As code; empty text stays empty."""
    return f"`{text}`" if text else ""


def codes(texts: Iterable[str], separator: str = ", ") -> str:
    """Each text as code."""
    return separator.join(code(text) for text in texts)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells)
    return "| " + " | ".join(escaped) + " |"
