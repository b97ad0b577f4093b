"""The page of the fields of automation configurations, as rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.documents import ROOT

PAGE = ROOT / "docs" / "reference" / "automation.md"
CARRIED_OUT, REFUSED, LEFT_ALONE = "carried out", "refused", "left alone"


@dataclass(frozen=True)
class FieldRow:
    """A field, its state, and the explanation."""

    field: str
    state: str
    explanation: str


def field_rows() -> list[FieldRow]:
    """A row for each field that the page lists."""
    return list(_rows(PAGE.read_text()))


def _rows(text: str) -> Iterator[FieldRow]:
    for table in text.split("| field | state | explanation |\n|---|---|---|\n")[1:]:
        for line in table.partition("\n\n")[0].splitlines():
            names, state, explanation = (cell.strip() for cell in line.strip("|").split("|"))
            for name in names.split("<br>"):
                yield FieldRow(re.sub(r"^`|`$", "", name), state, explanation)
