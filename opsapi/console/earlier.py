"""The values of a row before a change, with which a form can revert the change."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from opsapi.api.principal import VisibleScope
from opsapi.apps import contributions

EVENT: Final = "event"
"""The parameter of the URL of a form that reverts the change of this event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertedChange:
    """A change of a row, as its event recorded it.

    `before` and `after` have the changed fields of the document: texts, and other values as JSON. A field
    without a value is missing. `words` say who changed the row and when; `url` is the page of the event.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    words: str
    url: str

    @property
    def names(self) -> Sequence[str]:
        """The changed fields."""
        return list(dict.fromkeys([*self.before, *self.after]))

    def values(self, side: Mapping[str, str], now: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of a side; None if it is missing. A field with a text `now` had a text then."""
        return {name: _value(side.get(name), now.get(name)) for name in self.names}


def is_same(before: Any, after: Any) -> bool:
    """Whether two values of a field mean the same. An empty value means the same as none."""
    return bool(before == after) or (before in _EMPTY and after in _EMPTY)


_EMPTY: Final[Sequence[Any]] = (None, "", [], {})


def _value(text: str | None, now: Any) -> Any:
    if text is None or isinstance(now, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # The value is a text, or was cut when it was recorded.
        return text
    return text if isinstance(value, float) and not isfinite(value) else value


FindChange = Callable[[VisibleScope, str, str | None, str], RevertedChange | None]
"""Finds a change by the visible scope, the ID of its event, the project, and the name of the row in diffs."""


def recorded_change(
    scope: VisibleScope, event_id: str, *, group_id: str | None, name: str
) -> RevertedChange | None:
    """Return the change of a row that an event recorded; None if the operator can see no such event."""
    finders: list[FindChange] = [find for given in contributions("recorded_changes") for find in given]
    return next(
        (change for find in finders if (change := find(scope, event_id, group_id, name)) is not None), None
    )
