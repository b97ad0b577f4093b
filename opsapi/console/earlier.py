"""The values of a row before a change, with which a form can revert the change."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar, Final

from opsapi.api.principal import VisibleScope
from opsapi.apps import contributions
from opsapi.console.document_inputs import label_of
from opsapi.console.forms import ConsoleForm, SecretInput

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowInEvents:
    """A row as events name it.

    `name` is its name in diffs: its ID, or a name that is unique in the project `group_id`. `kinds` are the
    types of its diffs; empty for all. `member_key` is the detail that names the row in events about its
    members, whose diffs are of the member.
    """

    name: str
    group_id: str | None = None
    kinds: frozenset[str] = frozenset()
    member_key: str = ""


FindChange = Callable[[VisibleScope, str, RowInEvents], RevertedChange | None]
"""Finds the change of a row by the visible scope and the ID of its event."""


def recorded_change(scope: VisibleScope, event_id: str, row: RowInEvents) -> RevertedChange | None:
    """Return the change of a row that an event recorded; None if the operator can see no such event."""
    finders: list[FindChange] = [find for given in contributions("recorded_changes") for find in given]
    return next((change for find in finders if (change := find(scope, event_id, row)) is not None), None)


class RevertingForm(ConsoleForm):
    """A form of a change that can show the values before an earlier change of the row."""

    reverted: RevertedChange | None = None
    """The change that the form reverts: it shows the values before the change."""
    _changed_since: Sequence[str] = ()
    is_event_missing = False
    kinds_in_events: ClassVar[frozenset[str]] = frozenset()
    """The types of diffs that the form reverts; empty for all."""
    fields_in_events: ClassVar[frozenset[str]] = frozenset()
    """The fields of the API document that the form changes; empty for all."""

    def filled_in(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """With the values before the change of the event that the URL names."""
        if EVENT not in given or self.row is None:
            return super().filled_in(given)
        stored, rest = self.stored(), {name: text for name, text in given.items() if name != EVENT}
        change = recorded_change(self.operator.visible_scope(), given[EVENT], self.row_in_events())
        if change is None:
            self.is_event_missing = True
            return {**stored, **rest}
        self.reverted = change
        before, after = (
            {field: self.as_stored({field: value}) for field, value in change.values(side, stored).items()}
            for side in (change.before, change.after)
        )
        self._changed_since = [
            field
            for field in change.names
            if any(
                name in stored and not is_same(stored[name], value) for name, value in after[field].items()
            )
        ]
        return {
            **stored,
            **{name: value for field in before.values() for name, value in field.items()},
            **rest,
        }

    def row_in_events(self) -> RowInEvents:
        """The row as events name it."""
        return RowInEvents(name=str(self.row.pk), kinds=self.kinds_in_events)

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Values of the document as `stored` has them, by the names of the inputs."""
        return values

    def label_in_events(self, name: str) -> str:
        """The label of a field of the document."""
        field = self.fields.get(name)
        return str(field.label) if field is not None and field.label else label_of(name)

    @property
    def changed_since(self) -> Sequence[str]:
        """The labels of the fields that were changed again after this change."""
        return [self.label_in_events(name) for name in self._changed_since]

    def input_names(self) -> Collection[str]:
        """The names of the inputs, as `as_stored` has them."""
        return {name.partition(".")[0] for name in self.fields}

    def reverted_fields(self) -> Sequence[str]:
        """The labels of the fields with earlier values."""
        secrets = self.secrets_left_out()
        labels = [self.label_in_events(name) for name in self._reverted_names(is_shown=True)]
        return [label for label in labels if label not in secrets]

    def fields_left_out(self) -> Sequence[str]:
        """The labels of the changed fields that the form does not have."""
        return [self.label_in_events(name) for name in self._reverted_names(is_shown=False)]

    def secrets_left_out(self) -> Sequence[str]:
        """The labels of the changed fields whose earlier values are not stored, because they are secrets."""
        changed = self.reverted.names if self.reverted else ()
        return [
            self.label_in_events(name) for name in changed if isinstance(self.fields.get(name), SecretInput)
        ]

    def _reverted_names(self, *, is_shown: bool) -> Iterator[str]:
        inputs = self.input_names()
        changed = self.reverted.names if self.reverted else ()
        return (
            name
            for name in changed
            if any(field in inputs for field in self.as_stored({name: None})) is is_shown
        )

    @property
    def has_secrets(self) -> bool:
        """Whether it has inputs of secrets, which show no earlier values."""
        return any(isinstance(field, SecretInput) for field in self.fields.values())
