"""Console forms of the fleet: add an agent, add and change a host, restore a revision."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.module_loading import import_string

from accesslist.forms import InProjectForm, ScopeField
from automation.installation import DEFAULTS, MONGODB, MOST_HOSTS, POSTGRESQL, USER_PATTERN, Servers
from automation.labels import label_texts
from automation.metrics import Engine
from automation.rules.connection_strings import shown_again
from automation.selectors.agent_settings import shown_agent_settings_of, shown_settings
from automation.selectors.agents import is_first_setup
from automation.selectors.revisions import goal_version
from automation.serializers.agent_settings import AgentSettingsDocument
from automation.serializers.automation_config import AutomationPlanDocument
from automation.serializers.hosts import HostChange, NewHost
from automation.services.automation_config import automation_config_restore
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.apps import contributions
from opsapi.clock import time_words
from opsapi.console.display import cut
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import VERBATIM, ConsoleForm, LinesField, fault_sentence, single_line, themed
from opsapi.first_rows import more_words
from opsapi.hostnames import canonical_hostname

_LONGEST_DESC = 250
_LONGEST_HOSTS = 2000
_ENGINES = {MONGODB: "MongoDB", POSTGRESQL: "PostgreSQL"}
_WHICH_HOSTS = {
    MONGODB: "A name or an IP address. One member of a replica set or one router is enough.",
    POSTGRESQL: "Names or IP addresses of the primary and all standbys, separated by commas.",
}
_WRONG_PORT = "Enter a port from 1 to 65535."
_WRONG_USER = "Use at most 63 letters (a-z, A-Z), digits, and the characters _ . @ and -."
_MOST_SHOWN = 200


_NOT_SHOWN = "Nobody is notified yet when a host of this project is down. Choose below what opens alerts."


class AgentFormPart(Protocol):
    """A part that another app adds to the form.

    The `agent_form_parts` of its AppConfig name the functions that make its parts, as `module.function`:
    only the console needs the modules of forms.

    `fields_template` shows its fields. `is_shown`: whether the submitted page had this part for this project.
    `run` does what the part asks for, in the transaction of the new key, and returns what was done in words.
    """

    css: Mapping[str, Sequence[str]]
    js: Sequence[Any]
    fields_template: str
    is_shown: bool

    @property
    def has_wrong_fields(self) -> bool: ...

    def is_valid(self) -> bool: ...

    def run(self, *, actor: Actor, now: datetime) -> str: ...


class _HostsField(forms.CharField):
    """Host names or IP addresses, separated by commas."""

    def to_python(self, value: Any) -> Sequence[str]:  # type: ignore[override]  # the cleaned value is a list
        """The hosts in their canonical form.

        Raises:
            ValidationError: with the first wrong host.
        """
        names = [name.strip() for name in (super().to_python(value) or "").split(",") if name.strip()]
        if len(names) > MOST_HOSTS:
            raise ValidationError(f"Enter at most {MOST_HOSTS} hosts.")
        hosts = []
        for name in names:
            if (host := canonical_hostname(name)) is None:
                raise ValidationError(f"“{name}” is not a host name (RFC 1123) or an IP address.")
            hosts.append(host)
        return hosts


class _ServerFields:
    """The fields for the servers of an engine. An empty field has its default."""

    def __init__(self, engine: str) -> None:
        self.engine, self.label = engine, _ENGINES[engine]
        self.names = [f"{engine}_{name}" for name in ("hosts", "port", "user")]

    def fields(self) -> Mapping[str, forms.Field]:
        """The fields by name."""
        default = DEFAULTS[self.engine]
        hosts = _HostsField(
            label="Host",
            initial=", ".join(default.hosts),
            max_length=_LONGEST_HOSTS,
            help_text=_WHICH_HOSTS[self.engine],
            widget=forms.TextInput(dict(VERBATIM)),
        )
        port = forms.IntegerField(
            label="Port",
            initial=default.port,
            min_value=1,
            max_value=65_535,
            error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _WRONG_PORT),
            # A browser sends an empty text for wrong input of type number, which would be the default.
            widget=forms.TextInput({"inputmode": "numeric"}),
        )
        user = forms.RegexField(
            USER_PATTERN,
            label="Database user",
            initial=default.user,
            help_text="The next page has the command that creates this user.",
            error_messages={"invalid": _WRONG_USER},
            widget=forms.TextInput({**VERBATIM, "autocomplete": "off"}),
        )
        for field in (hosts, port, user):
            field.required = False
        return dict(zip(self.names, (hosts, port, user), strict=True))

    def servers(self, cleaned: Mapping[str, Any]) -> Servers:
        """What the fields say."""
        default = DEFAULTS[self.engine]
        hosts, port, user = (cleaned[name] for name in self.names)
        return Servers(hosts or default.hosts, port or default.port, user or default.user)


class NewAgentForm(InProjectForm):
    """The project, the databases to watch, their servers, and the description of the key.

    The last step of the set-up. The servers are only for the commands that the next page shows.
    """

    fields_template = "admin/automation/agent/new_agent_fields.html"
    heading_template = "admin/automation/agent/set_up.html"
    from_address = frozenset({"group", "databases"})
    field_order = ["group", "databases", "desc"]

    databases = forms.MultipleChoiceField(
        choices=list(_ENGINES.items()),
        initial=[MONGODB],
        widget=forms.CheckboxSelectMultiple,
        label="Databases to watch",
    )
    desc = forms.CharField(
        max_length=_LONGEST_DESC,
        label="Description of the key",
        initial="monitoring agent",
        validators=[single_line],
        help_text="Such as the machine that the agent runs on.",
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if isinstance(named := self.initial.get("databases"), str):  # from the address
            self.initial["databases"] = [name for name in _ENGINES if name in named.split(",")]

    def add_inputs(self) -> None:
        """The fields of the servers."""
        self._servers = [_ServerFields(engine) for engine in _ENGINES]
        for servers in self._servers:
            self.fields.update(servers.fields())

    def groups(self) -> Iterable[tuple[str, list[forms.BoundField]]]:
        """The servers of each engine below the selection of the engines."""
        yield "", [self["group"], self["databases"]]
        for servers in self._servers:
            yield servers.label, [self[name] for name in servers.names]
        yield "", [self["desc"]]

    def clean(self) -> dict[str, Any]:
        """Ignore the fields of an engine that is not selected: the page hides them."""
        super().clean()
        selected = self.cleaned_data.get("databases", ())
        for servers in self._servers:
            if servers.engine not in selected:
                for name in servers.names:
                    self.errors.pop(name, None)
        return self.cleaned_data

    @property
    def is_setup(self) -> bool:
        """Whether the first set-up ends with this page."""
        return is_first_setup(self.operator.grants)

    @property
    def media(self) -> forms.Media:
        """Also for a part that is shown only for some projects."""
        added = forms.Media(css={"all": ["console/fleet.css"]})
        for part in self.parts:
            added += forms.Media(css=dict(part.css), js=part.js)
        return super().media + added

    @cached_property
    def parts(self) -> Sequence[AgentFormPart]:
        """What other apps ask for the selected project; nothing until it is known."""
        group_id = str(self["group"].value() or "")
        field = cast(ScopeField, self.fields["group"])
        if not group_id or not field.accepts(group_id):
            return []
        data = self.data if self.is_bound else None
        engines = self["databases"].value() or ()
        made = (
            import_string(name)(data, operator=self.operator, group_id=group_id, engines=engines)
            for names in contributions("agent_form_parts")
            for name in names
        )
        return [part for part in made if part is not None]

    def is_valid(self) -> bool:
        """No key is created before all parts were shown for the project."""
        if not super().is_valid():
            return False
        if not all(part.is_shown for part in self.parts):
            self.add_error(None, _NOT_SHOWN)
            return False
        return all(part.is_valid() for part in self.parts)

    @property
    def has_wrong_fields(self) -> bool:
        return super().has_wrong_fields or any(part.has_wrong_fields for part in self.parts)

    @property
    def values(self) -> Mapping[str, Any]:
        selected = self.cleaned_data["databases"]
        return {
            "group": self.cleaned_data["group"],
            "desc": self.cleaned_data["desc"],
            "servers": {
                servers.engine: servers.servers(self.cleaned_data)
                for servers in self._servers
                if servers.engine in selected
            },
            "parts": self.parts,
        }


class _AddressFields(DocumentForm):
    hostname = forms.CharField(label="Host name", help_text="A name or an IP address.")
    port = forms.IntegerField(initial=27017, help_text="MongoDB listens on 27017, PostgreSQL on 5432.")


class NewHostForm(_AddressFields, InProjectForm):
    """A host in a project."""

    document = NewHost
    field_order = ["group"]

    @property
    def values(self) -> Mapping[str, Any]:
        """The project ID and the values of the document."""
        return {"group_id": self.cleaned_data["group"].id, "host": super().values}


class HostForm(_AddressFields):
    """Change the address."""

    document = HostChange


class RestoreForm(ConsoleForm):
    """Remembers the version of the preview. If another version is current by now, nothing is published."""

    fields_template = "console/restore_fields.html"

    version = forms.IntegerField(min_value=0, max_value=10**9, widget=forms.HiddenInput)

    def stored(self) -> Mapping[str, Any]:
        return {"version": goal_version(self.row.group_id)}

    def add_refusal(self, refusal: ApiError) -> None:
        """If the version has changed, the form shows the preview for the new version."""
        super().add_refusal(refusal)
        if refusal.code is ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION:
            self.data = {**self.data, **self.stored()}

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The preview: the first `diffs`, `effects` and `warnings`, or the `refusal` in words.

        `more` has the number of omitted items for each.
        """
        now = clock.now()
        try:
            draft = automation_config_restore(
                group_id=self.row.group_id,
                number=self.row.number,
                version=None,
                if_match=None,
                dry_run=True,
                actor=self.operator.actor(),
                now=now,
            )
        except ApiError as refusal:
            return {"refusal": _in_words(refusal)}
        plan = AutomationPlanDocument.of_draft(draft, now)
        for effect in plan["effects"]:
            if "at" in effect:
                effect["at"] = time_words(clock.parse_time(effect["at"]))
        shown = {name: cut(rows, _MOST_SHOWN) for name, rows in plan.items()}
        return {
            **{name: rows for name, (rows, _) in shown.items()},
            "more": {name: more_words(left_out) for name, (_, left_out) in shown.items()},
            "is_same": not draft.changes_something,
        }


def _in_words(refusal: ApiError) -> list[str]:
    document = refusal.document()
    faults = [
        fault_sentence(fault["field"], fault["message"], fault.get("allowed", ()))
        for fault in document.get("badFields", ())
    ]
    shown, left_out = cut(faults, _MOST_SHOWN)
    return [*shown, *([more_words(left_out)] if left_out else [])] or [document["detail"]]


def _lines(text: str) -> list[str]:
    """The lines that are not blank. Two redacted strings can look the same, so repeated lines stay."""
    return [line.strip() for line in text.splitlines() if line.strip()]


_TYPE_AGAIN = (
    "Enter the lines with ****** that you typed or changed again in full: a page never shows a typed "
    "password."
)


class AgentSettingsForm(InProjectForm):
    """The settings that a project keeps for its agents: asks for the project first, then for the settings.

    Secrets are shown redacted. A line that stays unchanged keeps its secrets. A form that is shown again asks
    for typed secrets again.
    """

    asked_for = "asked_for"

    def __init__(self, data: Any = None, **options: Any) -> None:
        initial = options.get("initial") or {}
        if data is not None and data.get(self.asked_for) != data.get("group"):
            # The settings of this project were not shown yet, so this shows the page with them.
            initial, data = data.dict(), None
        super().__init__(data, **{**options, "initial": initial})
        group_id = (self.initial if data is None else data).get("group")
        scope = cast(ScopeField, self.fields["group"])
        if group_id and scope.accepts(group_id):
            self._add_settings(group_id)

    def _add_settings(self, group_id: str) -> None:
        shown = shown_settings(shown_agent_settings_of(group_id))
        self.initial.update(
            {
                self.asked_for: group_id,
                "version": shown["version"],
                "mongodb": "\n".join(shown["mongodb"]),
                "postgresql": "\n".join(shown["postgresql"]),
                "intervalSeconds": shown.get("intervalSeconds"),
                "labels": "\n".join(label_texts(shown.get("labels"))),
                "selfUpdate": shown["selfUpdate"],
            }
        )
        kept = "Leave a line with ****** unchanged to keep its password."
        asked: Mapping[str, forms.Field] = {
            self.asked_for: forms.CharField(widget=forms.HiddenInput),
            "version": forms.CharField(widget=forms.HiddenInput),
            "mongodb": LinesField(
                required=False,
                label="Connection strings of MongoDB",
                help_text=f"One on each line: mongodb://USER:PASSWORD@HOST:27017/?authSource=admin. {kept}",
            ),
            "postgresql": LinesField(
                required=False,
                label="Connection URIs of PostgreSQL",
                help_text=f"One on each line: postgresql://USER:PASSWORD@HOST:5432/postgres. {kept}",
            ),
            "intervalSeconds": forms.IntegerField(
                required=False,
                label="Interval in seconds",
                help_text="The time between the starts of two rounds. Without it, agents use 60 seconds.",
            ),
            "labels": LinesField(
                required=False,
                label="Labels",
                help_text="Labels of all hosts that the agents report: one NAME=VALUE on each line.",
            ),
            "selfUpdate": forms.BooleanField(
                required=False,
                label="Agents update themselves",
                help_text="Within about an hour after an upgrade of the platform, each agent that runs as a "
                "single file replaces it by the platform's. It keeps the old file, and takes it again if the "
                "new file does not report.",
            ),
        }
        self.fields.update(asked)
        for field in self.fields.values():
            themed(field)

    def full_clean(self) -> None:
        """Read what was typed, and keep only what may be shown again."""
        super().full_clean()
        if not self.is_bound or self.asked_for not in self.fields:
            return
        sent: Any = self.data
        self.data = kept = sent.copy()  # A dictionary of it would have lists of values.
        for engine, name in ((Engine.MONGODB, "mongodb"), (Engine.POSTGRESQL, "postgresql")):
            typed = _lines(kept.get(name, ""))
            shown = shown_again(engine, typed, stored=_lines(self.initial[name]))
            if shown != typed:
                kept[name] = "\n".join(shown)
                # The field of the form has its text already.
                self[name].help_text += f" {_TYPE_AGAIN}"

    def clean(self) -> dict[str, Any]:
        """Validate the settings with the schema of the document."""
        if self.asked_for in self.fields and not self.errors:
            labels = [line.partition("=") for line in _lines(self.cleaned_data["labels"])]
            for name, number in Counter(name for name, *_ in labels).items():
                if number > 1:
                    self.add_error("labels", fault_sentence(name, "is given twice", ()))
            try:
                self._sent = AgentSettingsDocument().read(self._body(labels))
            except ApiError as refusal:
                self.add_refusal(refusal)
        return self.cleaned_data

    def _body(self, labels: Sequence[tuple[str, str, str]]) -> Mapping[str, Any]:
        typed = self.cleaned_data
        return {
            "mongodb": _lines(typed["mongodb"]),
            "postgresql": _lines(typed["postgresql"]),
            "intervalSeconds": typed["intervalSeconds"],
            "labels": {name: value for name, _, value in labels},
            "selfUpdate": typed["selfUpdate"],
            "version": typed["version"],
        }

    @property
    def values(self) -> Mapping[str, Any]:
        """The arguments of the service."""
        return {"group_id": self.cleaned_data["group"].id, "sent": self._sent}

    def part_at(self, name: str, path: str) -> str:
        """The number of a line of connection strings, or the name of a label."""
        place = re.fullmatch(r"\w+\[(\d+)\]", path)
        return f"Line {int(place[1]) + 1}" if place else path.partition(".")[2]
