"""Forms that create and change a maintenance window."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.http import urlencode

from accesslist.forms import InProjectForm, lines
from accesslist.models import Project
from alerting.configs.matchers import MatcherField, hosts_matcher, names_matcher
from alerting.windows.effects import WindowEffect, window_effect
from alerting.windows.extents import hosts_named, mute_extent
from alerting.windows.input import (
    PRESET_WORDS,
    REPEAT_WORDS,
    Repeat,
    WindowPreset,
    matchers_shown,
    preset_inputs,
    recurrence_shown,
    recurrence_typed,
    zone_for,
)
from alerting.windows.recurrence import MAX_RRULE_LENGTH, WEEKDAYS
from alerting.windows.resource import WindowChange, WindowDocument
from alerting.windows.rules import MuteExtent, rule_of_values
from events.types import ALERT_CATEGORIES, Category
from events.wording import in_words
from opsapi import clock
from opsapi.api.principal import Operator
from opsapi.console.document_forms import DocumentForm, RowPart
from opsapi.console.earlier import EVENT
from opsapi.console.forms import DateTimeText, LinesField, folded_boxes
from opsapi.time_zones import TIME_ZONES, UTC_NAME, in_zone, local_time

_CATEGORIES = [category.value for category in ALERT_CATEGORIES]
_SELDOM = frozenset(
    {Category.BI_CONNECTOR, Category.DATA_EXPLORER, Category.BACKUP, Category.TEAM, Category.USER}
)
"""Categories that windows seldom mute; the form shows them on request."""
_PERIOD = ("Period", ["startDate", "endDate", "timeZone", "repeat", "weekdays", "rrule"])
_TARGETS = ("Alerts", ["alertTypeNames", "hosts"])
_DATES = ("startDate", "endDate")
_TIMES = frozenset({*_DATES, "timeZone"})
_MATCHER = re.compile(r"matchers\[([0-9]+)\](.*)")


class WindowFields(DocumentForm):
    """The fields of a window, with a preview of what it mutes. The hosts are its first matcher."""

    fields_template = "console/window_fields.html"
    fieldsets = [_PERIOD, _TARGETS, ("", ["description"])]
    arrays = {"matchers": "Matcher"}
    labels = {"fieldName": "Field"}
    preview_name = "preview"
    """The button that shows what the window mutes, without saving."""

    class Media:
        css = {"all": ["console/windows.css"]}

    startDate = DateTimeText(
        label="Start", help_text="Notifications are muted from this time, such as 2026-11-29 02:00."
    )
    endDate = DateTimeText(label="End", help_text="Notifications are sent again from this time.")
    timeZone = forms.ChoiceField(
        label="Time zone",
        required=False,
        choices=[(name, name) for name in TIME_ZONES],
        help_text="Start and end are in this time zone. A repeating window starts at the same local time all "
        "year.",
    )
    repeat = forms.ChoiceField(
        label="Repeat",
        required=False,
        choices=[(repeat.value, words) for repeat, words in REPEAT_WORDS.items()],
    )
    weekdays = forms.MultipleChoiceField(
        label="Weekdays",
        required=False,
        choices=list(WEEKDAYS.items()),
        widget=forms.CheckboxSelectMultiple,
        help_text="The weekdays of “Every week”. If you select none, the window repeats on the weekday of "
        "its start.",
    )
    rrule = forms.CharField(
        label="Rule",
        required=False,
        max_length=MAX_RRULE_LENGTH,
        widget=forms.TextInput({"placeholder": "FREQ=MONTHLY;BYDAY=2TU"}),
        help_text="This is an RRULE of RFC 5545. The example means the second Tuesday of each month.",
    )
    alertTypeNames = forms.MultipleChoiceField(
        label="Alert types",
        choices=[
            *((name.value, in_words(name)) for name in ALERT_CATEGORIES if name not in _SELDOM),
            (
                "More alert types",
                [(name.value, in_words(name)) for name in ALERT_CATEGORIES if name in _SELDOM],
            ),
        ],
        widget=folded_boxes(),
        help_text="The window mutes alerts of these types, in the whole project or only for the targets "
        "below.",
    )
    hosts = LinesField(
        label="Hosts",
        required=False,
        help_text="The window mutes only alerts of these hosts, one host:port per line. They need the alert "
        "type Host. Leave this blank for all hosts.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._show_local_times()

    def _show_local_times(self) -> None:
        """Show times in the stored zone of the window, otherwise in that of the operator."""
        times = {name: moment for name in _DATES if (moment := _moment(self.initial.get(name)))}
        zone = self.initial.get("timeZone") or zone_for(times.values(), self.operator.time_zone)
        self.initial["timeZone"] = zone
        self.initial.update({name: local_time(at, zone) for name, at in times.items()})

    def is_valid(self) -> bool:
        """Not valid while only a preview is requested, so that nothing is saved."""
        return self.preview_name not in self.data and super().is_valid()

    def stored(self) -> Mapping[str, Any]:
        """The stored values."""
        values = super().stored()
        if not values:
            return values
        return {**values, **recurrence_shown(self.row.recurrence), **matchers_shown(self.row.matchers)}

    def body(self) -> Mapping[str, Any]:
        """The request body of an API client."""
        typed, body = self.cleaned_data, super().body()
        hosts = lines(typed["hosts"])
        zone = typed["timeZone"] or UTC_NAME
        dates = {name: in_zone(typed[name], zone) for name in _DATES}
        parts = {
            "recurrence": recurrence_typed(typed["repeat"], typed["weekdays"], typed["rrule"], zone),
            "matchers": [*([hosts_matcher(hosts)] if hosts else []), *body.get("matchers", ())],
        }
        # Only a change says that there is none: in a new window, an empty value means the same as none.
        given = parts if self.document.is_change else {name: value for name, value in parts.items() if value}
        return {**body, **dates, **given}

    def field_of(self, path: str) -> str | None:
        """The input for a path of the document."""
        if path == "recurrence.timeZone":
            return "timeZone"
        if path.startswith("recurrence"):
            return "rrule" if self.cleaned_data.get("repeat") == Repeat.RULE else "repeat"
        return super().field_of(self._without_hosts(path))

    def _without_hosts(self, path: str) -> str:
        """The path of the input: the rows begin after the matcher of the hosts."""
        if not self.cleaned_data.get("hosts"):
            return path
        place = _MATCHER.fullmatch(path)
        if place and int(place[1]):
            return f"matchers[{int(place[1]) - 1}]{place[2]}"
        return "hosts" if place or (path == "matchers" and not self.has_rows("matchers")) else path

    @property
    def sections(self) -> Iterator[tuple[str, Sequence[forms.BoundField], RowPart | None]]:
        """Yield the groups of fields; the rows of the other matchers follow the group with the hosts."""
        for title, group in self.groups():
            has_hosts = any(field.name == "hosts" for field in group)
            yield title, group, self.row_part("matchers") if has_hosts else None

    @cached_property
    def extent(self) -> MuteExtent | None:
        """What the window mutes, as far as the form is filled in; None without a project or types."""
        group, chosen = self.muted_project(), self["alertTypeNames"].value() or []
        categories, hosts = (
            [name for name in _CATEGORIES if name in chosen],
            lines(self["hosts"].value() or ""),
        )
        if group is None or not categories:
            return None
        return mute_extent(
            group_id=group.id,
            project=str(group),
            categories=categories,
            is_narrow=bool(hosts) or self.has_rows("matchers"),
            hosts=[] if self.has_rows("matchers") else hosts,
            not_only=self.muted_target(),
        )

    @cached_property
    def effect(self) -> WindowEffect | None:
        """The occurrences, hosts and alerts of the window; None as long as an input is missing or wrong."""
        group = self.muted_project()
        if group is None:
            return None
        if not self.is_bound:
            return self._effect_at_first()
        if self.is_unchecked or self.errors:
            return None
        zone = self.cleaned_data["timeZone"] or UTC_NAME
        return window_effect(group_id=group.id, rule=rule_of_values(self._values), now=clock.now(), zone=zone)

    def _effect_at_first(self) -> WindowEffect | None:
        """The effect of a form that a preset or a link filled in, as if it was sent."""
        if not self.initial.get("startDate") or self.initial.get("matchers"):
            return None
        typed = QueryDict(mutable=True)
        for name, value in self.initial.items():
            typed.setlist(name, value if isinstance(value, list) else [value or ""])
        sent = type(self)(typed, operator=self.operator, row=self.row)
        return sent.effect if sent.is_valid() else None

    def muted_project(self) -> Project | None:
        """The project of the window."""
        project: Project | None = self.row.group if self.row else None
        return project

    def muted_target(self) -> str:
        """The host or set for which the form was opened; empty for none."""
        return ""


class NewWindowForm(WindowFields, InProjectForm):
    """Create a window; the URL may contain initial values."""

    document = WindowDocument
    fieldsets = [
        ("", ["group"]),
        _PERIOD,
        ("Alerts", ["alertTypeNames", "hosts", "sets"]),
        ("", ["description"]),
    ]
    from_address = frozenset(
        {
            "group",
            "startDate",
            "endDate",
            "timeZone",
            "alertTypeNames",
            "hosts",
            "sets",
            "description",
            "preset",
        }
    )
    sets = forms.BooleanField(
        label="Also mute alerts of their replica sets",
        required=False,
        help_text="Alerts such as No primary have no host. A second window mutes them at the same times.",
    )
    of_sets: Mapping[str, Any] | None = None
    """The second window, which mutes the replica sets of the hosts."""

    def __init__(self, *args: Any, operator: Operator, **options: Any) -> None:
        initial = dict(options.get("initial") or {})
        self.preset = initial.pop("preset", "")
        self._given = {name: text for name, text in initial.items() if name not in _TIMES}
        if self.preset in {preset.value for preset in WindowPreset}:
            initial = preset_inputs(WindowPreset(self.preset), clock.now(), operator.time_zone) | initial
        super().__init__(*args, operator=operator, **{**options, "initial": initial})
        if self.is_bound:
            self._given = self._typed()
        # The URL lists several as `HOST,REPLICA_SET`.
        names = self.initial.get("alertTypeNames", [])
        self.initial["alertTypeNames"] = names.split(",") if isinstance(names, str) else names

    def _typed(self) -> dict[str, str]:
        """What was typed besides the time, as the URL of the page says it."""
        texts = {name: self[name].value() for name in ("group", "alertTypeNames", "hosts", "description")}
        if self["sets"].value():
            texts["sets"] = "on"
        return {
            name: ",".join(text) if isinstance(text, list) else text for name, text in texts.items() if text
        }

    @property
    def presets(self) -> list[tuple[str, str, bool]]:
        """The links above the form, which keep what the URL of the page says, or was typed, besides the time.

        Each is its URL, its words, and whether it filled in the form. There are none while they would lose
        matchers.
        """
        if self.is_bound and self.has_rows("matchers"):
            return []
        return [
            (f"?{urlencode({**self._given, 'preset': preset.value})}", words, preset.value == self.preset)
            for preset, words in PRESET_WORDS.items()
        ]

    def muted_project(self) -> Project | None:
        """The selected project, if the operator may select it."""
        try:
            project: Project = self.fields["group"].clean(self["group"].value())
        except ValidationError:
            return None
        return project

    def read(self) -> Mapping[str, Any]:
        """The window, and a second window for the replica sets of its hosts if it is asked for."""
        values = super().read()
        if self.cleaned_data["sets"]:
            names = self._set_names()
            if names:
                targets = {
                    "alertTypeNames": [Category.REPLICA_SET.value],
                    "matchers": [names_matcher(MatcherField.REPLICA_SET_NAME, names)],
                }
                self.of_sets = self.document().read({**self.body(), **targets})
            else:
                self.add_error("sets", "These hosts belong to no replica set.")
        return values

    def _set_names(self) -> list[str]:
        """The replica sets of the hosts of the form."""
        hosts = hosts_named(self.cleaned_data["group"].id, lines(self.cleaned_data["hosts"]))
        names = hosts.exclude(replica_set=None).values_list("replica_set__name", flat=True)
        return sorted(set(names))

    @property
    def values(self) -> Mapping[str, Any]:
        """The project ID, and the values of the windows."""
        windows = [super().values, *([self.of_sets] if self.of_sets else [])]
        return {"group_id": self.cleaned_data["group"].id, "windows": windows}


class WindowForm(WindowFields):
    """Change a window."""

    document = WindowChange
    from_address = frozenset({EVENT})

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Events have the document, and the form has inputs for its recurrence and its matchers."""
        inputs: dict[str, Any] = {}
        for name, value in values.items():
            if name == "recurrence":
                inputs |= {"weekdays": [], "rrule": "", **recurrence_shown(value)}
            elif name == "matchers":
                inputs |= matchers_shown(value)
            else:
                inputs[name] = _moment(value) or value if name in _DATES else value
        return inputs


def _moment(initial: Any) -> datetime | None:
    """The time of an initial value with a zone; None for text without a zone, which is a local time."""
    if isinstance(initial, datetime):
        return initial
    with suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(initial)
        return moment if moment.tzinfo else None
    return None
