"""The form that changes an alert configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from unfold.widgets import CHECKBOX_CLASSES

from alerting.config_form.documents import document_of, stored_secrets, typed_of
from alerting.config_form.faults import faults_of
from alerting.config_form.kinds import THRESHOLD_INPUTS, config_inputs
from alerting.config_form.labels import place_of
from alerting.config_form.rows import MOST_READ, PARTS, Typed, renumbered, rows_of
from alerting.forms.configs.fields import (
    TEAMS,
    event_field,
    field_of,
    initial_of,
    matcher_fields,
    notification_fields,
    threshold_fields,
)
from alerting.forms.configs.layout import FormRow, matcher_row, notification_row
from alerting.forms.configs.offers import (
    Offer,
    all_projects,
    offered_teams,
)
from alerting.models import AlertConfig
from alerting.selectors.configs import config_found, configs_of
from alerting.serializers.configs import (
    AlertConfigDocument,
    AnyAlertConfigDocument,
    GlobalAlertConfigDocument,
    config_document,
)
from opsapi.api.errors import ApiError
from opsapi.api.principal import Operator
from opsapi.api.resources import Facts
from opsapi.console.forms import ConsoleForm

ADD = "add"
"""The button that adds a row without JavaScript; its value is the part."""
_BLANK = "__n__"
"""Placeholder for the number in the row template of the script."""
_CHANGED = (
    "Somebody else has changed this configuration. Your input is below; save again to overwrite the change."
)


class ConfigForm(ConsoleForm):
    """Change a configuration: all fields of the API's PUT."""

    template = "console/alert_config_form.html"
    teams_id = TEAMS
    checkbox_class = " ".join(CHECKBOX_CLASSES)

    class Media:
        css = {"all": ["console/config-form.css"]}
        js = [forms.Script("console/config-form.js", defer=True)]

    def __init__(
        self,
        data: MultiValueDict[str, str] | None = None,
        *,
        operator: Operator,
        row: AlertConfig | None = None,
        initial: Mapping[str, str] | None = None,
    ) -> None:
        self.config = row
        self.typed = renumbered(dict(data.lists())) if data is not None else self.at_first(initial or {})
        self.added = "" if data is None else str(data.get(ADD, ""))
        self.part_faults: dict[str, list[str]] = {}
        asked = MultiValueDict({name: list(texts) for name, texts in self.typed.items()})
        super().__init__(None if data is None or self.added else asked, operator=operator, row=row)
        self.fields.update(self.asked())
        self.initial = initial_of(self.fields, self.typed)

    # --- what is asked ---------------------------------------------------------------------------------

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """The initial values: the stored configuration."""
        return typed_of(self.facts, is_global=self.is_global)

    @property
    def is_global(self) -> bool:
        """Whether the configuration is global."""
        return self.config is not None and self.config.group_id is None

    @property
    def offers_global(self) -> bool:
        """Whether to show the inputs of global configurations."""
        return self.is_global

    @cached_property
    def facts(self) -> Facts:
        """The configuration as shown by the API."""
        return {} if self.config is None else facts_of(self.config)

    def asked(self) -> dict[str, forms.Field]:
        """All fields, by name."""
        fields = {**self._of_the_whole(), **threshold_fields()}
        for name in self._row_names("matchers"):
            fields |= matcher_fields(name)
        for name in self._row_names("notifications"):
            fields |= self._of_notification(name)
        return fields

    def _of_the_whole(self) -> dict[str, forms.Field]:
        inputs = {declared.name: declared for declared in config_inputs(is_global=self.offers_global)}
        named = self.typed.get("groupIds", ())
        stored = self.facts.get("groupIds", ())
        projects = all_projects(named, stored) if "groupIds" in inputs else ()
        fields = {name: field_of(declared, projects or None) for name, declared in inputs.items()}
        return {**fields, "eventTypeName": event_field(is_global=self.offers_global)}

    def _of_notification(self, name: str) -> dict[str, forms.Field]:
        is_new = f"{name}.typeName" not in self.typed
        return notification_fields(name, is_global=self.offers_global, secrets=self._secrets, is_new=is_new)

    @cached_property
    def _secrets(self) -> Mapping[str, str]:
        """The redacted stored secrets by input; rows are matched by ID."""
        if not self.facts:
            return {}
        stored = {setting["id"]: setting for setting in self.facts["notifications"]}
        ids = [next(iter(row.get("id", [])), "") for row in rows_of(self.typed, "notifications")]
        return stored_secrets(
            (f"notifications[{place}]", stored[one]) for place, one in enumerate(ids) if one in stored
        )

    def _row_names(self, part: str) -> list[str]:
        number = len(rows_of(self.typed, part)) + (self.added == part)
        if part == "notifications":
            number = max(1, number)
        number = min(number, MOST_READ[part])
        return [f"{part}[{place}]" for place in range(number)]

    # --- how it is shown -------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> list[forms.BoundField]:
        """The first inputs."""
        names = ("group", "eventTypeName", "enabled")
        return [self[name] for name in names if name in self.fields]

    @cached_property
    def scope_fields(self) -> list[forms.BoundField]:
        """The projects of a global configuration."""
        return [self[name] for name in ("forAllGroups", "groupIds", "tags") if name in self.fields]

    def thresholds(self) -> list[tuple[str, str, list[forms.BoundField], Sequence[str]]]:
        """Each threshold with its name, label, fields and errors."""
        return [
            (
                part,
                place_of(part),
                [self[f"{part}.{declared.name}"] for declared in inputs],
                self.part_faults.get(part, ()),
            )
            for part, inputs in THRESHOLD_INPUTS.items()
        ]

    def matchers(self) -> list[FormRow]:
        """The rows of matchers."""
        return [matcher_row(self, name, self.part_faults) for name in self._row_names("matchers")]

    def notifications(self) -> list[FormRow]:
        """The rows of notifications."""
        names = self._row_names("notifications")
        return [notification_row(self, name, self.typed, self.part_faults) for name in names]

    def blanks(self) -> list[tuple[str, FormRow]]:
        """An empty row of each part, for the script to copy."""
        form = forms.Form()
        matcher, notification = (f"{part}[{_BLANK}]" for part in PARTS)
        inputs = notification_fields(notification, is_global=self.offers_global, secrets={}, is_new=True)
        form.fields = {**matcher_fields(matcher), **inputs}
        rows = matcher_row(form, matcher, {}), notification_row(form, notification, {}, {})
        return list(zip(PARTS, rows, strict=True))

    def faults_of_parts(self) -> Mapping[str, Sequence[str]]:
        """Errors of the whole list of matchers or notifications."""
        return {part: self.part_faults.get(part, ()) for part in PARTS}

    def teams(self) -> list[Offer]:
        """The teams to select from."""
        return offered_teams(self.operator)

    # --- what it becomes -------------------------------------------------------------------------------

    def read(self, stored: AlertConfig) -> Mapping[str, Any]:
        """The input, checked against the current configuration like the API's PUT.

        Raises:
            ApiError: with every wrong field.
        """
        facts = facts_of(stored)
        context = {"stored": facts, "group_id": stored.group_id, "settings": list(stored.settings.all())}
        document = document_of(self.typed, is_global=self.is_global, stored=facts)
        return self.document(context).read(document)

    def clean(self) -> dict[str, Any]:
        """Validate it with the schema of the API."""
        try:
            self._values = self.checked()
        except ApiError as refusal:
            self.add_refusal(refusal)
        return self.cleaned_data

    def checked(self) -> Mapping[str, Any]:
        """The input of the action.

        Raises:
            ApiError: with every wrong field.
        """
        if self.typed.get("updated") != [self.facts["updated"]]:
            self.add_error(None, _CHANGED)
        if self.config is not None:
            self.read(self.config)
        return {"read": self.read}

    @property
    def values(self) -> Mapping[str, Any]:
        """The input of the action."""
        return self._values

    def add_refusal(self, refusal: ApiError) -> None:
        """Show each error at its input, row or part."""
        rows = {f"{part}[{place}]" for part in PARTS for place in range(len(rows_of(self.typed, part)))}
        parts = {*PARTS, *THRESHOLD_INPUTS, *rows}
        for fault in faults_of(refusal.bad_fields, {*self.fields, *parts}):
            if fault.name in parts:
                self.part_faults.setdefault(fault.name, []).append(fault.message)
                self.add_error(None, f"{place_of(fault.name)}: {fault.message}")
            else:
                self.add_error(fault.name, fault.message)
        if not refusal.bad_fields:
            self.add_error(None, refusal.document()["detail"])

    def document(self, context: dict[str, Any]) -> AnyAlertConfigDocument:
        """The API schema for this kind of configuration."""
        return (GlobalAlertConfigDocument if self.is_global else AlertConfigDocument)(context=context)


def facts_of(config: AlertConfig) -> Facts:
    """A configuration as answers show it, without links.

    Raises:
        ApiError: ALERT_CONFIG_NOT_FOUND or GLOBAL_ALERT_CONFIG_NOT_FOUND, when it was deleted in the
            meantime.
    """
    facts = config_document(config.group_id).first(configs_of(config.group_id).filter(id=config.id))
    return config_found(facts, config.id, config.group_id)
