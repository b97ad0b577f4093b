"""The search form of the event log."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from events.log.search import Direction, EventSearch
from events.log.store import EventPosition, readable_position, what_is_named
from events.types import EVENT_TYPES, Category, EventType
from events.wording import in_words
from opsapi.api.principal import Operator
from opsapi.clock import DATE, parse_time
from opsapi.console.forms import DateTimeText, line_field, themed
from opsapi.hostnames import name_and_port
from opsapi.ids import is_id

_ANY = ("", "Any")
_CATEGORIES = [_ANY, *((member.value, in_words(member.value)) for member in Category)]
_TYPES = [
    _ANY,
    *sorted(((member.value, in_words(member.value)) for member in EVENT_TYPES), key=lambda row: row[1]),
]


class Last(StrEnum):
    """Time ranges of the quick links."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"

    @property
    def span(self) -> timedelta:
        """The length of the time range."""
        return {
            Last.HOUR: timedelta(hours=1),
            Last.DAY: timedelta(days=1),
            Last.WEEK: timedelta(weeks=1),
        }[self]


class By(StrEnum):
    """Whose changes the quick links show: what users did, or what happened to the fleet."""

    PEOPLE = "people"
    FLEET = "fleet"


_FLEET_TYPES = tuple(name.value for name, spec in EVENT_TYPES.items() if spec.of_fleet)


class FilterDateTime(DateTimeText):
    """A date-time in the zone of the operator, or a date, which means its first or last second."""

    def __init__(self, *, end_of_day: bool, **options: Any) -> None:
        super().__init__(required=False, **options)
        self.end_of_day = end_of_day

    def to_python(self, value: Any) -> str:
        """The text in the format of the API; of a date, its first or last second."""
        text = (value or "").strip()
        is_date = DATE.fullmatch(text) is not None
        return super().to_python(f"{text} {'23:59:59' if self.end_of_day else '00:00'}" if is_date else text)

    def clean(self, value: Any) -> Any:
        """The time; None if the field is empty."""
        text = super().clean(value)
        return parse_time(text) if text else None

    def bound_data(self, data: Any, initial: Any) -> Any:
        """The time as people type it, if it is valid."""
        try:
            return parse_time(self.to_python(data))
        except ValueError:
            return data


def _text(label: str) -> forms.CharField:
    return line_field(254, label=label, required=False)


class EventFilters(forms.Form):
    """The filters of the list, and the position of the page."""

    project = _text("Project (name or ID)")
    category = forms.ChoiceField(choices=_CATEGORIES, required=False)
    type = forms.ChoiceField(choices=_TYPES, required=False)
    who = _text("User or API key (username or public key)")
    address = _text("Remote address")
    host = _text("Host (name or name:port)")
    start = FilterDateTime(label="From", end_of_day=False)
    end = FilterDateTime(label="Until", end_of_day=True)
    q = _text("ID of an event, project or alert")
    object = _text("Object (ID of a rule, host, window, team, user or key)")
    last = forms.ChoiceField(choices=[(member.value, member.value) for member in Last], required=False)
    by = forms.ChoiceField(choices=[(member.value, member.value) for member in By], required=False)
    before = _text("before")
    after = _text("after")

    PLACES = ("before", "after")
    HIDDEN = ("last", "by", *PLACES)

    def __init__(self, data: QueryDict, *, operator: Operator, now: datetime) -> None:
        # A link may contain a filter without a value, which is ignored.
        super().__init__({name: value for name, value in data.items() if value})
        self.operator, self.now = operator, now
        self.suggested = operator.groups()
        for field in self.fields.values():
            themed(field)
            if isinstance(field, DateTimeText):
                field.read_in(operator.time_zone)
        self.fields["project"].widget.attrs["list"] = "projects"

    @property
    def chosen(self) -> Mapping[str, str]:
        """The active filters, without the position of the page."""
        return {name: value for name, value in self.data.items() if name not in self.PLACES}

    def shown(self) -> list[forms.BoundField]:
        """The visible fields."""
        return [self[name] for name in self.fields if name not in self.HIDDEN]

    def misplaced(self) -> list[forms.BoundField]:
        """The other fields with errors."""
        return [self[name] for name in self.HIDDEN if self[name].errors]

    def clean_project(self) -> str | None:
        """The ID of the project, if the operator can read it."""
        typed = self.cleaned_data["project"]
        if not typed:
            return None
        groups = self.operator.groups(ids=[typed]) if is_id(typed) else self.operator.groups(name=typed)
        if not groups:
            raise ValidationError("You have access to no project with this name or ID.")
        return groups[0].id

    def clean_q(self) -> dict[str, str]:
        """The kind of the ID, for the search."""
        typed = self.cleaned_data["q"]
        if not typed:
            return {}
        if not is_id(typed):
            raise ValidationError("An ID has 24 characters, 0-9 and a-f.")
        return {what_is_named(typed, visible_scope=self.operator.visible_scope()).value: typed}

    def clean_before(self) -> EventPosition | None:
        """The end of the events newer than the page."""
        return self._place("before")

    def clean_after(self) -> EventPosition | None:
        """The end of the events older than the page."""
        return self._place("after")

    def clean(self) -> dict[str, Any]:
        """Contradicting filters find nothing, so they are reported."""
        values = self.cleaned_data
        for name in self.data.keys() - self.fields.keys():
            self.add_error(None, f"There is no filter {name!r}.")
        start, end = values.get("start"), values.get("end")
        if start and end and start > end:
            self.add_error("start", "The start must be before the end.")
        category, chosen = values.get("category"), values.get("type")
        if category and chosen and EventType(chosen).spec.category != category:
            self.add_error("type", "This event type is not in the selected category.")
        names = self._types(category, chosen)
        if values.get("by") == By.FLEET and (category or chosen) and not set(names) & set(_FLEET_TYPES):
            self.add_error("by", "The fleet has no events of the selected category or type.")
        if values.get("project") and "group_id" in values.get("q", {}):
            self.add_error("q", "This is the ID of a project, and a project is already selected.")
        return values

    def search(self) -> EventSearch:
        """The search, limited to what the operator can read."""
        values = self.cleaned_data
        hostname, port = name_and_port(values["host"])
        return EventSearch(
            visible_scope=self.operator.visible_scope(),
            event_types=self._searched_types(),
            who=values["who"] or None,
            by_people=values["by"] == By.PEOPLE,
            remote_address=values["address"] or None,
            hostname=hostname or None,
            port=port,
            object_name=values["object"] or None,
            start=self._start(),
            end=values["end"],
            **{"group_id": values["project"], **values["q"]},
        )

    def place(self) -> tuple[EventPosition | None, Direction]:
        """The position of the page and the direction of reading."""
        if self.cleaned_data["after"]:
            return self.cleaned_data["after"], Direction.NEWER
        return self.cleaned_data["before"], Direction.OLDER

    def _searched_types(self) -> tuple[str, ...]:
        """The types of the filters; none if all are searched."""
        values = self.cleaned_data
        names = self._types(values["category"], values["type"])
        if values["by"] != By.FLEET:
            return names
        return tuple(name for name in names or _FLEET_TYPES if name in _FLEET_TYPES)

    @staticmethod
    def _types(category: str | None, chosen: str | None) -> tuple[str, ...]:
        if chosen:
            return (chosen,)
        return tuple(name.value for name, spec in EVENT_TYPES.items() if spec.category == category)

    def _start(self) -> datetime | None:
        start: datetime | None = self.cleaned_data["start"]
        last = self.cleaned_data["last"]
        if not last:
            return start
        since = (self.now - Last(last).span).replace(microsecond=0)
        return max(start, since) if start else since

    def _place(self, name: str) -> EventPosition | None:
        event_id = self.cleaned_data[name]
        if not event_id:
            return None
        place = (
            readable_position(event_id, visible_scope=self.operator.visible_scope())
            if is_id(event_id)
            else None
        )
        if place is None:
            raise ValidationError(
                f"{name}: this event does not exist or has been deleted. Start with the newest events."
            )
        return place
