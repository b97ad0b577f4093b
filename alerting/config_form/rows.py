"""The rows of a form: matchers and notifications, of which an operator adds and removes some.

An input is named as the API names the field, `notifications[1].intervalMin`, so that a refusal finds it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from alerting.config_form.kinds import FLAGS
from alerting.serializers.configs import MOST_MATCHERS
from alerting.serializers.notifications import MOST_NOTIFICATIONS

Typed = Mapping[str, Sequence[str]]
"""What was typed, by the names of the inputs, as browsers send it."""

TICKED = "on"
"""What a browser sends for a box that is ticked."""
PARTS = ("matchers", "notifications")
MOST_READ = {"matchers": MOST_MATCHERS + 1, "notifications": MOST_NOTIFICATIONS + 1}
"""One more than the API takes, so that it says there are too many; however many more cost nothing."""
REMOVED = "removed"
"""A box in a row that takes it out, for browsers without script."""
_NAME = re.compile(r"(matchers|notifications)\[([0-9]{1,4})\]\.([A-Za-z.]{1,60})")


def rows_of(typed: Typed, part: str) -> list[Typed]:
    """What was typed into each row that is there, by the name within the row, in their order: MOST_READ."""
    found: dict[int, dict[str, Sequence[str]]] = {}
    for name, texts in typed.items():
        place = _NAME.fullmatch(name)
        if place and place[1] == part:
            found.setdefault(int(place[2]), {})[place[3]] = texts
    rows = (row for _, row in sorted(found.items()) if not row.get(REMOVED) and any(_said(row)))
    return list(islice(rows, MOST_READ[part]))


def renumbered(typed: Typed) -> dict[str, Sequence[str]]:
    """The same with rows counted from 0 without gaps, as the API counts them: empty rows are left out."""
    rest = {name: texts for name, texts in typed.items() if not _NAME.fullmatch(name)}
    rows = {
        f"{part}[{place}].{name}": texts
        for part in PARTS
        for place, row in enumerate(rows_of(typed, part))
        for name, texts in row.items()
    }
    return {**rest, **rows}


def within(typed: Typed, part: str) -> Typed:
    """What was typed into a part that stands once, by the name within it."""
    prefix = f"{part}."
    return {name.removeprefix(prefix): texts for name, texts in typed.items() if name.startswith(prefix)}


def _said(row: Typed) -> Iterator[bool]:
    """For each input whether something stands in it; a box alone says nothing, as some are ticked anyway."""
    for name, texts in row.items():
        yield name not in FLAGS and any(texts)
