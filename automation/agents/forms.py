"""The form of a new agent, which leads to its installation."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from django import forms
from django.utils.functional import cached_property
from django.utils.module_loading import import_string

from accesslist.forms import InProjectForm, ScopeField
from accesslist.keys.console import machine_field
from automation.agents.installation import DEFAULTS, MONGODB, MOST_HOSTS, POSTGRESQL, USER_PATTERN, Servers
from automation.agents.store import is_first_setup
from opsapi.api.principal import Actor
from opsapi.apps import contributions
from opsapi.console.forms import VERBATIM, HostnamesField, single_line

_LONGEST_DESC = 250
_ENGINES = {MONGODB: "MongoDB", POSTGRESQL: "PostgreSQL"}
_WHICH_HOSTS = {
    MONGODB: "A name or an IP address. One member of a replica set or one router is enough.",
    POSTGRESQL: "Names or IP addresses of the primary and all standbys, separated by commas.",
}
_WRONG_PORT = "Enter a port from 1 to 65535."
_WRONG_USER = "Use at most 63 letters (a-z, A-Z), digits, and the characters _ . @ and -."


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


class _ServerFields:
    """The fields for the servers of an engine. An empty field has its default."""

    def __init__(self, engine: str) -> None:
        self.engine, self.label = engine, _ENGINES[engine]
        self.names = [f"{engine}_{name}" for name in ("hosts", "port", "user")]

    def fields(self) -> Mapping[str, forms.Field]:
        """The fields by name."""
        default = DEFAULTS[self.engine]
        hosts = HostnamesField(
            MOST_HOSTS,
            label="Host",
            initial=", ".join(default.hosts),
            help_text=_WHICH_HOSTS[self.engine],
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
    """The project, the databases to watch, their servers, and the description and the machine of the key.

    The last step of the set-up. The servers are only for the commands that the next page shows.
    """

    fields_template = "admin/automation/agent/new_agent_fields.html"
    heading_template = "admin/automation/agent/set_up.html"
    from_address = frozenset({"group", "databases"})
    field_order = ["group", "databases", "desc", "hostnames"]

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
    hostnames = machine_field()

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
        yield "", [self["desc"], self["hostnames"]]

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
            "key": {name: self.cleaned_data[name] for name in ("desc", "hostnames")},
            "servers": {
                servers.engine: servers.servers(self.cleaned_data)
                for servers in self._servers
                if servers.engine in selected
            },
            "parts": self.parts,
        }
