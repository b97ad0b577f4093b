"""Forms that create, change, copy and test an alert configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from unfold.widgets import CHECKBOX_CLASSES

from alerting.access import WRITE, WRITE_GLOBAL
from alerting.forms.config_documents import (
    MOST_READ,
    PARTS,
    Typed,
    document_of,
    faults_of,
    renumbered,
    rows_of,
    stored_secrets,
    typed_of,
)
from alerting.forms.config_fields import (
    TEAMS,
    FormRow,
    event_field,
    field_of,
    grouping_field,
    initial_of,
    matcher_fields,
    matcher_row,
    notification_fields,
    notification_row,
    threshold_fields,
)
from alerting.forms.config_inputs import THRESHOLD_INPUTS, config_inputs, place_of
from alerting.forms.config_trial import Trial, trial_of
from alerting.models import AlertConfig
from alerting.notification_types import receiver_sentence, rhythm_sentence
from alerting.selectors.configs import (
    MOST_OFFERED,
    Offer,
    all_projects,
    may_write_global,
    offered_teams,
    writable_projects,
)
from alerting.serializers.configs import config_document, found_facts
from integrations.inputs import NOTHING_TO_PREVIEW, preview_of
from integrations.webhooks.preview import PreviewedRequest
from opsapi import clock
from opsapi.api.documents import InvalidField
from opsapi.api.errors import ApiError, BadField
from opsapi.api.principal import Operator
from opsapi.api.resources import Facts
from opsapi.console.forms import ConsoleForm, the_only, themed
from opsapi.roles import INSTALLATION, Scope

ADD = "add"
"""The button that adds a row without JavaScript; its value is the part."""
PREVIEW = "preview"
"""The button that shows what a webhook sends, without saving; its value is the row."""
TRY = "try"
"""The button that shows what the configuration would have done, without saving."""
_BLANK = "__n__"
"""Placeholder for the number in the row template of the script."""
_CHANGED = (
    "Somebody else has changed this configuration. Your input is below; save again to overwrite the change."
)


class ConfigForm(ConsoleForm):
    """Change a configuration: all fields of the API's PUT."""

    fields_template = "console/alert_config_form.html"
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
        self.config, self.operator = row, operator
        self.typed = renumbered(dict(data.lists())) if data is not None else self.at_first(initial or {})
        self.added = "" if data is None else str(data.get(ADD, ""))
        self.part_faults: dict[str, list[str]] = {}
        self.previewed: Sequence[PreviewedRequest] = ()
        self.preview_faults: Sequence[str] = ()
        is_preview = data is not None and PREVIEW in data
        if data is not None and is_preview:
            self._preview(data, str(data[PREVIEW]))
        asked = MultiValueDict({name: list(texts) for name, texts in self.typed.items()})
        is_unchecked = data is None or self.added or is_preview
        super().__init__(None if is_unchecked else asked, operator=operator, row=row)
        self.fields.update(self.asked())
        self.initial = initial_of(self.fields, self.typed)

    # --- inputs ----------------------------------------------------------------------------------------

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """The initial values: the stored configuration."""
        return typed_of(self.facts, is_global=self.is_global)

    @property
    def is_global(self) -> bool:
        return self.config is not None and self.config.group_id is None

    @property
    def offers_global(self) -> bool:
        """Whether to show the inputs of global configurations."""
        return self.is_global

    @cached_property
    def facts(self) -> Facts:
        return {} if self.config is None else found_facts(self.config.id, self.config.group_id)

    def asked(self) -> dict[str, forms.Field]:
        fields = {**self._of_the_whole(), **threshold_fields()}
        for name in self._row_names("matchers"):
            fields |= matcher_fields(name)
        for name in self._row_names("notifications"):
            is_new = f"{name}.typeName" not in self.typed
            fields |= notification_fields(
                name, is_global=self.offers_global, secrets=self._secrets, is_new=is_new
            )
        return fields

    def _of_the_whole(self) -> dict[str, forms.Field]:
        inputs = {declared.name: declared for declared in config_inputs(is_global=self.offers_global)}
        named = self.typed.get("groupIds", ())
        stored = self.facts.get("groupIds", ())
        projects = all_projects(named, stored) if "groupIds" in inputs else ()
        fields = {name: field_of(declared, projects or None) for name, declared in inputs.items()}
        return {
            **fields,
            "eventTypeName": event_field(is_global=self.offers_global),
            "grouping": grouping_field(inputs["grouping"]),
        }

    @cached_property
    def _secrets(self) -> Mapping[str, str]:
        """The redacted stored secrets by input; rows are matched by ID."""
        if not self.facts:
            return {}
        stored = {setting["id"]: setting for setting in self.facts["notifications"]}
        ids = [next(iter(row.get("id", [])), "") for row in rows_of(self.typed, "notifications")]
        return stored_secrets(
            (f"notifications[{place}]", stored[id_]) for place, id_ in enumerate(ids) if id_ in stored
        )

    def _row_names(self, part: str) -> list[str]:
        number = len(rows_of(self.typed, part)) + (self.added == part)
        if part == "notifications":
            number = max(1, number)
        number = min(number, MOST_READ[part])
        return [f"{part}[{place}]" for place in range(number)]

    # --- template --------------------------------------------------------------------------------------

    @cached_property
    def whole(self) -> list[forms.BoundField]:
        names = ("group", "eventTypeName", "enabled")
        return [self[name] for name in names if name in self.fields]

    @cached_property
    def scope_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("forAllGroups", "groupIds", "tags") if name in self.fields]

    @cached_property
    def grouping_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("grouping", "groupWaitSec")]

    def thresholds(self) -> list[tuple[str, str, list[forms.BoundField], Sequence[str]]]:
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
        return [matcher_row(self, name, self.part_faults) for name in self._row_names("matchers")]

    def notifications(self) -> list[FormRow]:
        names = self._row_names("notifications")
        return [notification_row(self, name, self.typed, self.part_faults) for name in names]

    def blanks(self) -> list[tuple[str, FormRow]]:
        form = forms.Form()
        matcher, notification = (f"{part}[{_BLANK}]" for part in PARTS)
        inputs = notification_fields(notification, is_global=self.offers_global, secrets={}, is_new=True)
        form.fields = {**matcher_fields(matcher), **inputs}
        rows = matcher_row(form, matcher, {}), notification_row(form, notification, {}, {})
        return list(zip(PARTS, rows, strict=True))

    def teams(self) -> list[Offer]:
        return offered_teams(self.operator)

    # --- preview ---------------------------------------------------------------------------------------

    preview_name = PREVIEW

    def _preview(self, data: Mapping[str, str], row: str) -> None:
        """Show what the webhook of a row sends about a sample alert. Its other inputs are not checked."""
        typed = (data.get(f"{row}.{name}", "") for name in ("webhookTemplate", "webhookBody"))
        try:
            self.previewed = preview_of(*typed)
        except InvalidField as error:
            self.preview_faults = [_fault_words(fault) for fault in error.bad_fields]
        else:
            self.preview_faults = () if self.previewed else (NOTHING_TO_PREVIEW,)

    # --- trial -----------------------------------------------------------------------------------------

    try_name = TRY

    def is_valid(self) -> bool:
        """Not valid while only a trial is requested, so that nothing is saved."""
        return TRY not in self.typed and super().is_valid()

    @property
    def offers_trial(self) -> bool:
        """Whether to show the button: a stored global configuration has no project to try it on."""
        return not self.is_global

    @cached_property
    def trial(self) -> Trial | str | None:
        """What the configuration would have done, or why it was not tried; None without a valid request."""
        if TRY not in self.typed or not self.is_bound or self.errors:
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
        if self.config is None or self.config.group_id is None:
            raise ValueError("only a configuration of a project can be tried")
        return self.config.group_id, self.read(self.config)

    # --- result ----------------------------------------------------------------------------------------

    def read(self, stored: AlertConfig) -> Mapping[str, Any]:
        """The input, checked against the current configuration like the API's PUT.

        Raises:
            ApiError: with every wrong field.
        """
        facts = found_facts(stored.id, stored.group_id)
        context = {"stored": facts, "group_id": stored.group_id, "settings": list(stored.settings.all())}
        document = document_of(self.typed, is_global=self.is_global, stored=facts)
        return config_document(stored.group_id)(context=context).read(document)

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
        return self._values

    def add_refusal(self, refusal: ApiError) -> None:
        rows = {f"{part}[{place}]" for part in PARTS for place in range(len(rows_of(self.typed, part)))}
        parts = {*PARTS, *THRESHOLD_INPUTS, *rows}
        for name, message in faults_of(refusal.bad_fields, {*self.fields, *parts}, self.fields):
            if name in parts:
                self.part_faults.setdefault(name, []).append(message)
                self.add_error(None, f"{place_of(name)}: {message}")
            else:
                self.add_error(name, message)
        if not refusal.bad_fields:
            self.add_error(None, refusal.document()["detail"])


def _fault_words(fault: BadField) -> str:
    allowed = f" ({', '.join(fault.allowed)})" if fault.allowed else ""
    return f"{fault.field}: {fault.message}{allowed}"


GLOBAL = "global"
"""The choice for a global configuration, in place of a project."""


class NewConfigForm(ConfigForm):
    """Create a configuration, global or in a project where the operator may."""

    from_address = frozenset({"group"})

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """Enabled, notifying immediately."""
        only = the_only([group_id for group_id, _ in self._first_projects])
        return {"group": [initial.get("group") or only or ""], "enabled": ["on"]}

    @property
    def group(self) -> str:
        return next(iter(self.typed.get("group", [])), "")

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

    def asked(self) -> dict[str, forms.Field]:
        """Puts the project first."""
        everywhere = (
            [(GLOBAL, "All or several projects (global configuration)")] if self.offers_global else []
        )
        choices = [("", "–"), *everywhere, *self._projects]
        widget = forms.Select(choices=choices)
        help_text = f"Shows the first {MOST_OFFERED} projects by name." if len(choices) > MOST_OFFERED else ""
        group = forms.CharField(required=False, label="Project", widget=widget, help_text=help_text)
        return {"group": themed(group), **super().asked()}

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

    def checked(self) -> Mapping[str, Any]:
        """As the API's POST reads it."""
        if not self.group:
            self.add_error("group", "Is required.")
            return {}
        access = WRITE_GLOBAL if self.is_global else WRITE
        self.operator.authorise_at(access.roles, self.scope())
        group_id = None if self.is_global else self.group
        document = document_of(self.typed, is_global=self.is_global)
        context = {"stored": {} if group_id is None else {"groupId": group_id}, "group_id": group_id}
        values = config_document(group_id)(context=context).read(document)
        return {"group_id": group_id, "values": values}


class CopyForm(NewConfigForm):
    """Create a copy of a configuration, without secrets."""

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """The original, without IDs and secrets."""
        if self.config is None:
            return super().at_first(initial)
        group = self.config.group_id or GLOBAL
        typed = typed_of(
            found_facts(self.config.id, self.config.group_id), is_global=group == GLOBAL, as_new=True
        )
        return {**typed, "group": [group]}


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
            id=shown["id"],
            number=number,
            receiver=receiver_sentence(shown),
            rhythm=rhythm_sentence(shown),
        )
        for number, shown in enumerate(found_facts(config.id, config.group_id)["notifications"], start=1)
    ]


class TestNotificationForm(ConsoleForm):
    """The notification to test; the URL may preselect it."""

    from_address = frozenset({"notification"})

    notification = forms.ChoiceField(required=False, label="Send to", widget=forms.RadioSelect)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        found = destinations_of(self.row)
        every = [("", f"All {len(found)} notifications")] if len(found) > 1 else []
        single = [(choice.id, f"Notification {choice.number}: {choice.receiver}") for choice in found]
        field = cast(forms.ChoiceField, self.fields["notification"])
        field.choices = [*every, *single]
        self.initial.setdefault("notification", field.choices[0][0])

    @property
    def values(self) -> Mapping[str, Any]:
        """The ID of the notification; None for all."""
        return {"notification_id": self.cleaned_data["notification"] or None}
