"""Forms that create, change, copy and test an alert configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from django import forms
from django.urls import reverse
from django.utils.functional import cached_property

from alerting.access import WRITE, WRITE_GLOBAL
from alerting.configs.choices import GROUP_WAIT_SEC, Grouping
from alerting.configs.inputs import (
    INPUT_TYPES,
    TEAMS,
    event_input,
    metric_input,
    notification_body,
    notification_inputs,
)
from alerting.configs.matchers import MatcherField
from alerting.configs.models import AlertConfig
from alerting.configs.notification_types import NOTIFICATION_TYPES, receiver_sentence, rhythm_sentence
from alerting.configs.resource import (
    AlertConfigDocument,
    GlobalAlertConfigDocument,
    config_document,
    found_facts,
)
from alerting.configs.store import (
    MOST_OFFERED,
    Offer,
    all_projects,
    may_write_global,
    offered_teams,
    writable_projects,
)
from alerting.configs.wording import OPERATOR_WORDS
from alerting.incidents.presentation import SEVERITY_WORDS
from alerting.insight.config_trial import Trial, trial_of
from automation.quantities import unit_words
from automation.units import Unit
from events.wording import in_words
from integrations.inputs import NOTHING_TO_PREVIEW, preview_of
from integrations.webhooks.preview import PreviewedRequest
from opsapi import clock
from opsapi.api.documents import Document, InvalidField
from opsapi.api.errors import ApiError
from opsapi.api.fields import ListOf, OneOf
from opsapi.api.resources import Facts
from opsapi.console.document_forms import ADD, DocumentForm, Inputs, RowInput, RowPart
from opsapi.console.document_inputs import NONE_CHOSEN, ApiField, label_of
from opsapi.console.earlier import EVENT
from opsapi.console.forms import ConsoleForm, fault_sentence, the_only
from opsapi.roles import INSTALLATION, ROLE_WORDS, Role, Scope

PREVIEW = "preview"
"""The button that shows what a webhook sends, without saving; its value is the row."""
TRY = "try"
"""The button that shows what the configuration would have done, without saving."""
_CHANGED = (
    "Somebody else has changed this configuration. Your input is below; save again to overwrite the change."
)
_SEVERITIES = [
    ("", "The severity of the event type"),
    *SEVERITY_WORDS.items(),
]
_GROUPINGS = [
    ("", "Separate: messages for each alert"),
    (Grouping.TOPOLOGY.value, "Grouped: one message for each outage"),
]


_WORDS: Mapping[str, Mapping[str, str]] = {
    "operator": OPERATOR_WORDS,
    "fieldName": {field.value: in_words(field) for field in MatcherField},
    "units": {unit.value: unit_words(unit) for unit in Unit},
}
"""The words of the options of selects."""


def _in_words(made: forms.Field, words: Mapping[str, str]) -> forms.Field:
    """The same select, whose options are in words."""
    widget: Any = made.widget
    if isinstance(widget, forms.Select):
        widget.choices = [(value, words.get(str(value)) or label) for value, label in widget.choices]
    return made


_SENTENCE = ("metricName", "operator", "threshold", "units", "mode")
"""The inputs of a condition in the order of a sentence: `Used cache is above 12 GB`."""


def _in_sentence(name: str) -> int:
    inner = name.rpartition(".")[2]
    return _SENTENCE.index(inner) if inner in _SENTENCE else len(_SENTENCE)


class ConfigForm(DocumentForm):
    """Change a configuration: all fields of the API's PUT."""

    document = GlobalAlertConfigDocument
    from_address = frozenset({EVENT, ADD})
    fields_template = "console/alert_config_form.html"
    teams_id = TEAMS
    parts = ("metricThreshold", "threshold")
    arrays = {"matchers": "Matcher", "notifications": "Notification"}
    labels = {
        "forAllGroups": "All projects",
        "groupIds": "Projects",
        "tags": "Only projects with one of these tags, one per line",
        "fieldName": "Field",
        "grouping": "Messages",
        "groupWaitSec": "Wait for more alerts, in seconds",
        "runbookUrl": "URL of a runbook",
    }
    help_texts = {
        "grouping": "Grouped: the alerts of a machine, replica set, shard, cluster or agent are one message.",
        "groupWaitSec": f"Only for grouped messages. Leave blank for {GROUP_WAIT_SEC}.",
        "description": "What the condition means, and what to do about it. Messages show it.",
        "runbookUrl": "Messages link to it.",
        "units": "Leave blank for the base unit of the metric.",
    }

    then_test = "then_test"
    """The button that saves, and then leads to the test of the notifications, or of the only added one."""
    second_button = (then_test, "Save and test")

    class Media:
        css = {
            "all": [
                "console/uplot/uPlot.min.css",
                "console/config-form.css",
                "console/rule-plot.css",
            ]
        }
        js = [
            forms.Script("console/uplot/uPlot.iife.min.js", defer=True),
            forms.Script("console/config-form.js", defer=True),
            forms.Script("console/rule-plot.js", defer=True),
        ]

    def __init__(self, data: Any = None, **options: Any) -> None:
        self.previewed: Sequence[PreviewedRequest] = ()
        self.preview_faults: Sequence[str] = ()
        if data is not None and PREVIEW in data:
            # The button names the row as it was numbered by the script.
            self._preview(data, str(data[PREVIEW]))
        super().__init__(data, **options)

    # --- inputs ----------------------------------------------------------------------------------------

    def stored(self) -> Mapping[str, Any]:
        """The stored configuration, as the API shows it."""
        return self.facts

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """A notification that was removed since becomes a new one."""
        known = {setting["id"] for setting in self.facts.get("notifications", ())}
        settings = [
            setting if setting.get("id") in known else _without_secrets(setting)
            for setting in values.get("notifications") or ()
        ]
        return {**values, **({"notifications": settings} if "notifications" in values else {})}

    @property
    def is_global(self) -> bool:
        return self.row is not None and self.row.group_id is None

    @property
    def offers_global(self) -> bool:
        """Whether to show the inputs of global configurations."""
        return self.is_global

    @cached_property
    def facts(self) -> Facts:
        return {} if self.row is None else found_facts(self.row.id, self.row.group_id)

    def declared(self) -> Document:
        """The document with the fields that the form shows."""
        return GlobalAlertConfigDocument() if self.offers_global else AlertConfigDocument()

    def inputs(self) -> Inputs:
        """The inputs of the configuration itself."""
        below = {*self.parts, *self.arrays}
        before = self.facts or None
        fields = self._written.items()
        return {
            name: self.input_of(name, field, before=before) for name, field in fields if name not in below
        }

    def input_of(self, name: str, field: ApiField, **options: Any) -> forms.Field:
        """Some selects have their own choices. A field with a single possible value is hidden."""
        if isinstance(field, OneOf) and not field.required and len(field.allowed) == 1:
            return forms.CharField(required=False, empty_value=None, widget=forms.HiddenInput)
        match name:
            case "eventTypeName":
                return event_input(is_global=self.offers_global)
            case "metricName":
                return metric_input()
            case "grouping":
                options["choices"] = _GROUPINGS
            case "severity":
                options["choices"] = _SEVERITIES
            case "groupIds":
                named = cast(Any, self.data).getlist(name) if self.is_bound else self.initial.get(name, ())
                offered = all_projects(named, self.facts.get(name, ()))
                options["choices"] = offered or [NONE_CHOSEN]
        return _in_words(super().input_of(name, field, **options), _WORDS.get(name, {}))

    def row_inputs(self, part: str, row: str) -> Inputs:
        """The inputs of a matcher, or of a notification of any type."""
        if part == "matchers":
            return super().row_inputs(part, row)
        inputs = notification_inputs(is_global=self.offers_global, before=self._before(row))
        if row and self.input_text(f"{row}.id"):
            inputs["id"] = forms.CharField(required=False, widget=forms.HiddenInput)
        return inputs

    def _before(self, row: str) -> Mapping[str, Any] | None:
        """The stored notification of a row. With another type, it becomes a new notification."""
        if not row:
            return None
        named = (self.input_text(f"{row}.id"), self.input_text(f"{row}.typeName"))
        stored = self.facts.get("notifications", ())
        return next((setting for setting in stored if (setting["id"], setting["typeName"]) == named), None)

    # --- template --------------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> list[forms.BoundField]:
        names = ("group", "name", "severity", "enabled")
        return [self[name] for name in names if name in self.fields]

    @property
    def lines_url(self) -> str:
        """The data of the plot of the condition."""
        return reverse("admin:alerting_alertconfig_lines")

    @property
    def plotted_group(self) -> str:
        """The project of the plot, unless the form asks for it."""
        return str(self.row.group_id or "") if self.row is not None else ""

    @cached_property
    def scope_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("forAllGroups", "groupIds", "tags") if name in self.fields]

    @cached_property
    def text_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("description", "runbookUrl")]

    @cached_property
    def grouping_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("grouping", "groupWaitSec")]

    def event_type_field(self) -> forms.BoundField:
        return self["eventTypeName"]

    def thresholds(self) -> list[tuple[str, str, list[forms.BoundField], Sequence[str]]]:
        return [
            (
                part,
                label_of(part),
                [self[name] for name in sorted(self.fields, key=_in_sentence) if name.startswith(f"{part}.")],
                self.part_faults.get(part, ()),
            )
            for part in self.parts
        ]

    @property
    def matchers(self) -> RowPart:
        return self.row_part("matchers")

    @property
    def notifications(self) -> RowPart:
        return self.row_part("notifications")

    def shown_input(self, form: forms.BaseForm, row: str, name: str) -> RowInput:
        """Add the types of notifications that have the input."""
        row_input, types = super().shown_input(form, row, name), INPUT_TYPES.get(name, {})
        boxes = [
            (value, ROLE_WORDS[Role(value)].name, kind)
            for kind, field in types.items()
            if isinstance(field, ListOf) and isinstance(field.child, OneOf)
            for value in field.child.allowed
        ]
        return replace(row_input, types=" ".join(types), boxes=boxes)

    def teams(self) -> list[Offer]:
        return offered_teams(self.operator)

    # --- preview ---------------------------------------------------------------------------------------

    preview_name = PREVIEW

    @property
    def is_unchecked(self) -> bool:
        """Whether the form was sent only to be shown again, also with the preview of a webhook."""
        return super().is_unchecked or (self.is_bound and PREVIEW in self.data)

    def _preview(self, data: Mapping[str, str], row: str) -> None:
        """Show what the webhook of a row sends about a sample alert. Its other inputs are not checked."""
        typed = (data.get(f"{row}.{name}", "") for name in ("webhookTemplate", "webhookBody"))
        try:
            self.previewed = preview_of(*typed)
        except InvalidField as error:
            self.preview_faults = [
                fault_sentence(fault.field, fault.message, fault.allowed) for fault in error.bad_fields
            ]
        else:
            self.preview_faults = () if self.previewed else (NOTHING_TO_PREVIEW,)

    # --- trial -----------------------------------------------------------------------------------------

    try_name = TRY

    @property
    def is_question(self) -> bool:
        """Whether only a trial is requested, so that nothing is saved."""
        return TRY in self.data

    @property
    def offers_trial(self) -> bool:
        """Whether to show the button: a stored global configuration has no project to try it on."""
        return not self.is_global

    @cached_property
    def trial(self) -> Trial | str | None:
        """What the configuration would have done, or why it was not tried; None without a valid request."""
        if TRY not in self.data or not self.is_bound or self.errors:
            return None
        if self.is_global:
            return "Choose a project to try the configuration."
        group_id, values = self.tried()
        try:
            return trial_of(group_id=group_id, values=values, now=clock.now())
        except ApiError as refusal:
            return str(refusal.document()["detail"])

    def tried(self) -> tuple[str, Mapping[str, Any]]:
        """The project and the values of the configuration, by column."""
        if self.row is None or self.row.group_id is None:
            raise ValueError("only a configuration of a project can be tried")
        return self.row.group_id, self.replacement(self.row)

    # --- result ----------------------------------------------------------------------------------------

    def body(self) -> Mapping[str, Any]:
        """The request body, without the scope of global configurations for a project's one."""
        known = AlertConfigDocument().fields if not self.is_global else GlobalAlertConfigDocument().fields
        return {name: value for name, value in super().body().items() if name in known}

    def row_body(self, part: str, row: str) -> Mapping[str, Any]:
        """The document of a matcher or a notification."""
        values = super().row_body(part, row)
        return values if part == "matchers" else notification_body(values, self._before(row))

    def replacement(self, stored: AlertConfig) -> Mapping[str, Any]:
        """The input, checked against the current configuration like the API's PUT.

        Raises:
            ApiError: with every wrong field.
        """
        facts = found_facts(stored.id, stored.group_id)
        context = {"stored": facts, "group_id": stored.group_id, "settings": list(stored.settings.all())}
        return config_document(stored.group_id)(context=context).read(self.body())

    def read(self) -> Mapping[str, Any]:
        """The input of the action.

        Raises:
            ApiError: with every wrong field.
        """
        if self.data.get("updated") != self.facts["updated"]:
            self.add_error(None, _CHANGED)
        if self.row is not None:
            self.replacement(self.row)
        return {"read": self.replacement}

    @property
    def values(self) -> Mapping[str, Any]:
        return {**self._values, self.then_test: self.then_test in self.data}


GLOBAL = "global"
"""The choice for a global configuration, in place of a project."""


class NewConfigForm(ConfigForm):
    """Create a configuration, global or in a project where the operator may."""

    from_address = frozenset({"group"})

    def stored(self) -> Mapping[str, Any]:
        """Enabled, notifying immediately."""
        only = the_only([group_id for group_id, _ in self._first_projects])
        return {"group": only or "", "enabled": True}

    @property
    def group(self) -> str:
        return self.input_text("group") or ""

    @property
    def is_global(self) -> bool:
        return self.group == GLOBAL

    @property
    def offers_global(self) -> bool:
        """Whether the operator may create one."""
        return may_write_global(self.operator)

    @cached_property
    def facts(self) -> Facts:
        return {}

    def inputs(self) -> Inputs:
        """Puts the project first."""
        everywhere = (
            [(GLOBAL, "All or several projects (global configuration)")] if self.offers_global else []
        )
        choices = [("", "–"), *everywhere, *self._projects]
        widget = forms.Select(choices=choices)
        help_text = f"Shows the first {MOST_OFFERED} projects by name." if len(choices) > MOST_OFFERED else ""
        group = forms.CharField(required=False, label="Project", widget=widget, help_text=help_text)
        return {"group": group, **super().inputs()}

    @cached_property
    def _first_projects(self) -> list[Offer]:
        return writable_projects(self.operator)

    @property
    def _projects(self) -> list[Offer]:
        """The first projects by name, and the selected one."""
        if self.group in {"", GLOBAL, *(group_id for group_id, _ in self._first_projects)}:
            return self._first_projects
        return writable_projects(self.operator, self.group)

    def scope(self) -> Scope:
        return INSTALLATION if self.is_global else Scope(group_id=self.group)

    @property
    def offers_trial(self) -> bool:
        """Always: the project is chosen in the form."""
        return True

    def tried(self) -> tuple[str, Mapping[str, Any]]:
        """The chosen project and the values."""
        return self._values["group_id"], self._values["values"]

    def read(self) -> Mapping[str, Any]:
        """As the API's POST reads it."""
        if not self.group:
            self.add_error("group", "Is required.")
            return {}
        access = WRITE_GLOBAL if self.is_global else WRITE
        self.operator.authorise_at(access.roles, self.scope())
        group_id = None if self.is_global else self.group
        context = {"stored": {} if group_id is None else {"groupId": group_id}, "group_id": group_id}
        values = config_document(group_id)(context=context).read(self.body())
        return {"group_id": group_id, "values": values}


class CopyForm(NewConfigForm):
    """Create a copy of a configuration, without secrets."""

    def stored(self) -> Mapping[str, Any]:
        """The original, without IDs and secrets."""
        if self.row is None:
            return super().stored()
        original = found_facts(self.row.id, self.row.group_id)
        copies = [_without_secrets(setting) for setting in original["notifications"]]
        return {**original, "notifications": copies, "group": self.row.group_id or GLOBAL}


def _without_secrets(notification: Mapping[str, Any]) -> Mapping[str, Any]:
    left_out = {"id", *NOTIFICATION_TYPES[notification["typeName"]].secret_fields}
    return {name: value for name, value in notification.items() if name not in left_out}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationChoice:
    """A notification in words: its number, recipient and schedule."""

    id: str
    number: int
    receiver: str
    rhythm: str


def destinations_of(config: AlertConfig) -> list[NotificationChoice]:
    """The notifications of a configuration, in their order.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND, when it was deleted in the
            meantime.
    """
    return [
        NotificationChoice(
            id=notification["id"],
            number=number,
            receiver=receiver_sentence(notification),
            rhythm=rhythm_sentence(notification),
        )
        for number, notification in enumerate(
            found_facts(config.id, config.group_id)["notifications"], start=1
        )
    ]


class TestNotificationForm(ConsoleForm):
    """The notification to test; the URL may preselect it."""

    from_address = frozenset({"notification"})

    notification = forms.ChoiceField(required=False, label="Send to", widget=forms.RadioSelect)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choices = destinations_of(self.row)
        every = [("", f"All {len(choices)} notifications")] if len(choices) > 1 else []
        single = [(choice.id, f"Notification {choice.number}: {choice.receiver}") for choice in choices]
        field = cast(forms.ChoiceField, self.fields["notification"])
        field.choices = [*every, *single]
        self.initial.setdefault("notification", field.choices[0][0])

    @property
    def values(self) -> Mapping[str, Any]:
        """The ID of the notification; None for all."""
        return {"notification_id": self.cleaned_data["notification"] or None}
