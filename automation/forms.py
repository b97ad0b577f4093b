"""Console forms of the fleet: add an agent, add and change a host, restore a revision."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from django import forms
from django.utils.functional import cached_property

from accesslist.forms import InProjectForm
from accesslist.forms.scopes import ScopeField
from automation.selectors.agents import is_first_setup
from automation.selectors.revisions import goal_version
from automation.serializers.automation_config import present_plan
from automation.serializers.hosts import HostChange, NewHost
from automation.services.automation_config import automation_config_restore
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.apps import contributions
from opsapi.clock import time_words
from opsapi.console.display import cut
from opsapi.console.forms import ConsoleForm, DocumentForm, single_line
from opsapi.first_rows import more_words

_LONGEST_DESC = 250
MONGODB, POSTGRESQL = "mongodb", "postgresql"
_MOST_SHOWN = 200


_NOT_SHOWN = "Nobody is notified yet when a host of this project is down. Choose below what opens alerts."


class AgentFormPart(Protocol):
    """A part that another app adds to the form, as `agent_form_parts` of its AppConfig.

    `is_shown`: whether the submitted page had this part for this project. `run` does what the part asks for,
    in the transaction of the new key, and returns what was done in words.
    """

    css: Mapping[str, Sequence[str]]
    js: Sequence[Any]
    is_shown: bool

    @property
    def has_wrong_fields(self) -> bool: ...

    def is_valid(self) -> bool: ...

    def run(self, *, actor: Actor, now: datetime) -> str: ...


class NewAgentForm(InProjectForm):
    """The project, the databases to watch, and the description of the key; the last step of the set-up."""

    template = "admin/automation/agent/new_agent_fields.html"
    heading_template = "admin/automation/agent/set_up.html"
    from_address = frozenset({"group", "databases"})
    field_order = ["group", "databases", "desc"]

    databases = forms.MultipleChoiceField(
        choices=[(MONGODB, "MongoDB"), (POSTGRESQL, "PostgreSQL")],
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
            self.initial["databases"] = [name for name in (MONGODB, POSTGRESQL) if name in named.split(",")]

    @property
    def is_setup(self) -> bool:
        """Whether the first set-up ends with this page."""
        return is_first_setup(self.operator.grants)

    @property
    def media(self) -> forms.Media:
        """Also for a part that is shown only for some projects."""
        added = forms.Media()
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
            make(data, operator=self.operator, group_id=group_id, engines=engines)
            for makers in contributions("agent_form_parts")
            for make in makers
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
        values = {name: self.cleaned_data[name] for name in ("group", "databases", "desc")}
        return {**values, "parts": self.parts}


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

    template = "console/restore_fields.html"

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
        plan = present_plan(draft, now)
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
    faults = [f"{fault['field']}: {fault['message']}" for fault in document.get("badFields", ())]
    shown, left_out = cut(faults, _MOST_SHOWN)
    return [*shown, *([more_words(left_out)] if left_out else [])] or [document["detail"]]
