"""The rows of a form: matchers and notifications, of which an operator adds and removes some.

An input is named as the API names the field, `notifications[1].intervalMin`, so that a refusal finds it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from alerting.config_form.kinds import FLAGS
from alerting.serializers.config_parts import MOST_MATCHERS
from alerting.serializers.notifications import MOST_NOTIFICATIONS

Typed = Mapping[str, Sequence[str]]
"""The submitted values by input name, as browsers send them."""

TICKED = "on"
"""The value of a ticked checkbox."""
PARTS = ("matchers", "notifications")
MOST_READ = {"matchers": MOST_MATCHERS + 1, "notifications": MOST_NOTIFICATIONS + 1}
"""One more than the API allows, so that it reports too many; further rows are ignored."""
REMOVED = "removed"
"""The checkbox that removes a row, for browsers without JavaScript."""
_NAME = re.compile(r"(matchers|notifications)\[([0-9]{1,4})\]\.([A-Za-z.]{1,60})")


def rows_of(typed: Typed, part: str) -> list[Typed]:
    """The values of each row by name, in order, up to MOST_READ rows."""
    found: dict[int, dict[str, Sequence[str]]] = {}
    for name, texts in typed.items():
        place = _NAME.fullmatch(name)
        if place and place[1] == part:
            found.setdefault(int(place[2]), {})[place[3]] = texts
    rows = (row for _, row in sorted(found.items()) if not row.get(REMOVED) and any(_said(row)))
    return list(islice(rows, MOST_READ[part]))


def renumbered(typed: Typed) -> dict[str, Sequence[str]]:
    """The same, numbered from 0 without gaps, as in the API; empty rows are left out."""
    rest = {name: texts for name, texts in typed.items() if not _NAME.fullmatch(name)}
    rows = {
        f"{part}[{place}].{name}": texts
        for part in PARTS
        for place, row in enumerate(rows_of(typed, part))
        for name, texts in row.items()
    }
    return {**rest, **rows}


def within(typed: Typed, part: str) -> Typed:
    """The values of a part that exists once, by name."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): texts for name, texts in typed.items() if name.startswith(prefix)}


def _said(row: Typed) -> Iterator[bool]:
    """Whether each input has a value; checkboxes do not count, because some are ticked initially."""
    for name, texts in row.items():
        yield name not in FLAGS and any(texts)
