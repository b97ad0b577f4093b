"""The part of a form that offers the presets of a project, asks who is notified, and sends a test."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from unfold.widgets import CHECKBOX_CLASSES

from alerting.access import WRITE
from alerting.configs.changes import DEFAULT_TYPES, GROUP_BY_MAIL
from alerting.configs.choices import PeopleType
from alerting.configs.inputs import NOTIFICATION_INPUTS, notification_input
from alerting.configs.models import AlertConfig
from alerting.configs.notification_tests import NotificationTest, notification_test
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.preset_configs import AddedPresets, configs_of_presets, presets_create
from alerting.configs.presets import Preset, PresetSubject, presets_of
from alerting.configs.resource import config_document
from alerting.configs.setup import host_down_is_watched
from automation.metrics import Engine
from automation.quantities import counted_words
from automation.wording import ENGINE_WORDS
from events.types import EventType
from integrations.channels import CHANNELS
from integrations.channels.webhook_fields import Unread
from integrations.mail_settings import mail_server_is_set
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.fields import Option
from opsapi.api.principal import Actor, Operator
from opsapi.console.admin_urls import page_url
from opsapi.console.document_forms import RowInput
from opsapi.console.forms import ConsoleForm, shown_secret
from opsapi.encryption import CannotDecryptError, decrypt, encrypt
from opsapi.roles import Scope
from opsapi.wire_json import JsonObject, without_nulls

_ROW = "notifications[0]"
"""The name of the notification in the API's document, so that refusals find its inputs."""
_TYPE, _ENCRYPTED = f"{_ROW}.typeName", f"{_ROW}.encrypted"
_LONGEST_ENCRYPTED = 5_000
_SCHEDULE = frozenset({"delayMin", "intervalMin"})
"""The preset decides the delay, and the type the reminders."""
_MAIL_TO_MEMBERS = PeopleType.GROUP.value
_INPUTS: Mapping[str, Sequence[str]] = {
    _MAIL_TO_MEMBERS: (),
    **{
        kind: [
            name
            for name, field in NOTIFICATION_INPUTS[kind].items()
            if name not in _SCHEDULE and not isinstance(field, Option)
        ]
        for kind in CHANNELS
    },
}
"""The inputs of each offered type of notification. Others can be added on the page of a configuration."""


@dataclass(frozen=True, slots=True)
class PresetRow:
    """An offered preset; `url` is the project's existing configuration, which gets the receiver too."""

    preset: Preset
    ticked: bool
    url: str = ""
    is_disabled: bool = False

    @property
    def engine(self) -> Engine | None:
        """The only engine that has the preset."""
        engines = self.preset.spec.engines
        return engines[0] if len(engines) == 1 else None

    @property
    def engine_label(self) -> str:
        return ENGINE_WORDS[self.engine] if self.engine else ""


@dataclass(frozen=True, slots=True)
class PresetGroup:
    """The presets of a subject."""

    label: str
    rows: Sequence[PresetRow]


class PresetPart(ConsoleForm):
    """The presets of a project and their notification.

    `engines`: only presets of these engines are added. `engines_name`: the input by which the surrounding
    form asks for them. `may_decline`: a checkbox lets the user add no presets. Secrets are not shown again;
    if the page is shown again, for a test or because of an error, they come along encrypted for this user.
    """

    fields_template = "console/preset_part.html"
    css = {"all": ["console/form-rows.css", "console/config-form.css"]}
    js = [forms.Script("console/preset-part.js", defer=True)]
    checkbox_class = " ".join(CHECKBOX_CLASSES)
    shown_name = "shown"
    wanted_name = "alerts"
    test_name = "test"
    """The button that sends a test without saving anything."""

    presets = forms.MultipleChoiceField(
        required=False, choices=[(preset.value, preset.value) for preset in Preset]
    )

    def __init__(
        self,
        data: Any,
        *,
        operator: Operator,
        group_id: str,
        engines: Sequence[str],
        engines_name: str,
        may_decline: bool = False,
    ) -> None:
        self.group_id, self.engines_name, self.may_decline = group_id, engines_name, may_decline
        self.engines = [engine for engine in Engine if engine.value in {name.upper() for name in engines}]
        self.is_shown = data is not None and data.get(self.shown_name) == group_id
        self._values: Mapping[str, Any] = {}
        super().__init__(data if self.is_shown else None, operator=operator)

    # --- inputs ----------------------------------------------------------------------------------------

    def add_inputs(self) -> None:
        """The type of the notification, and the inputs of all types."""
        labels = {name: NOTIFICATION_TYPES[name].label for name in _INPUTS}
        labels[_MAIL_TO_MEMBERS] = "Members of the project, by e-mail"
        # Without a mail server, the user chooses: a default that reaches nobody would look like an answer.
        blank = [] if self.has_mail_server else [("", "–")]
        widget = forms.Select(choices=[*blank, *labels.items()])
        self.fields[_TYPE] = forms.CharField(required=False, label="Notify", widget=widget)
        names = dict.fromkeys(name for inputs in _INPUTS.values() for name in inputs)
        self.fields.update({f"{_ROW}.{name}": notification_input(name) for name in names})
        for name, redacted in self._redacted.items():
            field = self.fields[f"{_ROW}.{name}"]
            field.widget.attrs["placeholder"] = "unchanged"
            field.help_text = format_html(
                "Entered: <code>{}</code>. Leave blank to keep it.", shown_secret(redacted)
            )

    @property
    def type_name(self) -> str:
        """The selected type of notification; empty unless it is offered."""
        chosen = self.data.get(_TYPE, "") if self.is_shown else self._first_type
        return chosen if chosen in _INPUTS else ""

    @property
    def _first_type(self) -> str:
        return _MAIL_TO_MEMBERS if self.has_mail_server else ""

    @cached_property
    def has_mail_server(self) -> bool:
        return mail_server_is_set()

    # --- secrets ---------------------------------------------------------------------------------------

    @property
    def _owner(self) -> str:
        """Only this user can use the encrypted secrets, for this project and type."""
        return f"{self.operator.actor().id} {self.group_id} {self.type_name}"

    @cached_property
    def _opened(self) -> Mapping[str, str]:
        """The secrets that came along with the page; nothing, if they belong to something else."""
        encrypted = self.data.get(_ENCRYPTED, "")
        if not encrypted:
            return {}
        try:
            opened: Mapping[str, str] = json.loads(decrypt(encrypted, owner=self._owner))
        except CannotDecryptError:
            return {}
        return opened

    @cached_property
    def _secrets(self) -> Mapping[str, str]:
        """The typed secrets, and for inputs that were left blank, the secrets that came along."""
        secrets = NOTIFICATION_TYPES[self.type_name].secret_fields if self.type_name else {}
        typed = {name: self._typed(name) or self._opened.get(name) for name in secrets}
        return {name: value for name, value in typed.items() if value and not isinstance(value, Unread)}

    def _typed(self, name: str) -> Any:
        """The value of an input as a document has it."""
        field, path = self.fields[f"{_ROW}.{name}"], f"{_ROW}.{name}"
        value = field.to_python(field.widget.value_from_datadict(self.data, self.files, path))
        return None if value == "" else value

    @cached_property
    def _redacted(self) -> Mapping[str, str]:
        return NOTIFICATION_TYPES[self.type_name].shown(self._secrets) if self._secrets else {}

    @property
    def encrypted(self) -> str:
        """The secrets, encrypted for the next submission."""
        text = json.dumps(self._secrets)
        return encrypt(text, owner=self._owner) if self._secrets and len(text) <= _LONGEST_ENCRYPTED else ""

    # --- template --------------------------------------------------------------------------------------

    encrypted_name = _ENCRYPTED

    @property
    def mail_server_url(self) -> str:
        return reverse("mail_server")

    @property
    def receiver(self) -> forms.BoundField:
        return self[_TYPE]

    def receiver_inputs(self) -> list[RowInput]:
        """The inputs of the notification, with the types that have them."""
        names = dict.fromkeys(name for inputs in _INPUTS.values() for name in inputs)
        return [RowInput(self[f"{_ROW}.{name}"], " ".join(_types_with(name))) for name in names]

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        return self._first_type if field_name == _TYPE else super().get_initial_for_field(field, field_name)

    @property
    def is_wanted(self) -> bool:
        """Whether presets are to be added."""
        return not self.may_decline or not self.is_shown or self.wanted_name in self.data

    def groups_of_rows(self) -> Sequence[PresetGroup]:
        """The presets by subject, as submitted, or ticked unless the project has them.

        A default configuration that only notifies by e-mail is ticked as well, so that it gets the receiver.
        """
        there = configs_of_presets(self.group_id)
        answered = self["presets"].data if self.is_shown else None
        rows = [self._preset_row(preset, there.get(preset), answered) for preset in Preset]
        return [
            PresetGroup(subject.value, [row for row in rows if row.preset.spec.subject is subject])
            for subject in PresetSubject
        ]

    @staticmethod
    def _preset_row(preset: Preset, config: AlertConfig | None, answered: Sequence[str] | None) -> PresetRow:
        first = config is None or _is_as_created(config)
        ticked = first if answered is None else preset.value in answered
        if config is None:
            return PresetRow(preset, ticked=ticked)
        return PresetRow(preset, ticked=ticked, url=page_url(config), is_disabled=not config.enabled)

    # --- result ----------------------------------------------------------------------------------------

    @property
    def _asks_for_test(self) -> bool:
        return self.test_name in self.data

    def is_valid(self) -> bool:
        """Not valid while only a test is requested, so that nothing is saved."""
        return not self._asks_for_test and super().is_valid()

    def clean(self) -> dict[str, Any]:
        """The presets of the selected engines, and the notification as the API reads it."""
        chosen = {name for name in self.cleaned_data.get("presets", ()) if self._is_offered(Preset(name))}
        if not self._asks_for_test:
            if not self.is_wanted:
                return self.cleaned_data
            if not chosen:
                self.add_error("presets", "Select at least one preset.")
                return self.cleaned_data
        if not self.type_name:
            self.add_error(_TYPE, "Choose who is notified.")
            return self.cleaned_data
        try:
            self._values = {"presets": [Preset(name) for name in chosen], "notification": self._read()}
        except ApiError as refusal:
            self.add_refusal(refusal)
        return self.cleaned_data

    def _is_offered(self, preset: Preset) -> bool:
        return any(preset in presets_of(engine) for engine in self.engines)

    def _read(self) -> Mapping[str, Any]:
        """The notification, validated by the schema of the API.

        Raises:
            ApiError: with every wrong field.
        """
        document = {"eventTypeName": EventType.HOST_DOWN.value, "notifications": [self._document()]}
        context = {"stored": {"groupId": self.group_id}, "group_id": self.group_id}
        values = config_document(self.group_id)(context=context).read(document)
        (notification,) = values["notifications"]
        return dict(notification)

    def _document(self) -> JsonObject:
        if self.type_name == _MAIL_TO_MEMBERS:
            return dict(GROUP_BY_MAIL)
        typed = {name: self._typed(name) for name in _INPUTS[self.type_name]}
        given = {**typed, **{name: value for name, value in self._secrets.items() if not typed[name]}}
        return {"typeName": self.type_name, **without_nulls(given.items())}

    @property
    def values(self) -> Mapping[str, Any]:
        """The project, and the presets and the notification; without presets if the user declined them."""
        if not self._values:
            return {"group_id": self.group_id, "presets": []}
        return {"group_id": self.group_id, "extends": True, **self._values}

    def run(self, *, actor: Actor, now: Any) -> str:
        """Add the presets, and return what was done, in words; nothing if the user declined them."""
        if not self.values["presets"]:
            return ""
        return added_words(presets_create(**self.values, actor=actor, now=now))

    @cached_property
    def tested(self) -> NotificationTest | str | None:
        """The result of the requested test, or why none was sent; None without a valid request.

        Read by the template, when no transaction is open: a test waits for its receiver.
        """
        if not self._asks_for_test or self.errors:
            return None
        try:
            self.operator.authorise_at(WRITE.roles, Scope(group_id=self.group_id))
            return notification_test(
                group_id=self.group_id,
                notification=self._values["notification"],
                actor=self.operator.actor(),
                now=clock.now(),
            )
        except ApiError as refusal:
            return str(refusal.document()["detail"])


def _types_with(name: str) -> list[str]:
    return [kind for kind, inputs in _INPUTS.items() if name in inputs]


def _is_as_created(config: AlertConfig) -> bool:
    """Whether it is a default configuration of the project with its first notification, by e-mail."""
    types = [setting.type_name for setting in config.settings.all()]
    return config.event_type in DEFAULT_TYPES and types == [_MAIL_TO_MEMBERS]


def part_of_new_agent(
    data: Any, *, operator: Operator, group_id: str, engines: Sequence[str]
) -> PresetPart | None:
    """The part of the form that adds an agent: for a project in which nothing alerts when a host is down.

    None if something does, or if the user may not create configurations there.
    """
    try:
        operator.authorise_at(WRITE.roles, Scope(group_id=group_id))
    except ApiError:
        return None
    if host_down_is_watched(group_id):
        return None
    return PresetPart(
        data,
        operator=operator,
        group_id=group_id,
        engines=engines,
        engines_name="databases",
        may_decline=True,
    )


def added_words(done: AddedPresets) -> str:
    """What was added, and what the project had already."""
    added = f"Added {counted_words(len(done.created), 'alert configuration')}."
    extended = f" Also added the receiver to: {', '.join(done.extended)}." if done.extended else ""
    same = [preset for preset in done.existing if preset not in done.extended]
    return added + extended + (f" The project already had: {', '.join(same)}." if same else "")
