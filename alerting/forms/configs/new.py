"""Forms that create an alert configuration, new or as a copy."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import cached_property

from alerting.access import WRITE, WRITE_GLOBAL
from alerting.config_form.documents import document_of, typed_of
from alerting.config_form.rows import Typed
from alerting.forms.configs.change import ConfigForm, facts_of
from alerting.forms.configs.offers import MOST_OFFERED, may_write_global, writable_projects
from opsapi.api.resources import Facts
from opsapi.console.forms import themed
from opsapi.roles import INSTALLATION, Scope

GLOBAL = "global"
"""The choice for a global configuration, in place of a project."""


class NewConfigForm(ConfigForm):
    """Create a configuration, global or in a project where the operator may."""

    from_address = frozenset({"group"})

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """Enabled, notifying immediately."""
        return {"group": [initial.get("group", "")], "enabled": ["on"]}

    @property
    def group(self) -> str:
        """The selection: a project ID, or GLOBAL."""
        return next(iter(self.typed.get("group", [])), "")

    @property
    def is_global(self) -> bool:
        """Whether a global configuration was selected."""
        return self.group == GLOBAL

    @property
    def offers_global(self) -> bool:
        """Whether the operator may create one."""
        return may_write_global(self.operator)

    @cached_property
    def facts(self) -> Facts:
        """Nothing is stored yet."""
        return {}

    def asked(self) -> dict[str, forms.Field]:
        """Puts the project first."""
        everywhere = (
            [(GLOBAL, "All or several projects (global configuration)")] if self.offers_global else []
        )
        choices = [("", "–"), *everywhere, *writable_projects(self.operator, self.group)]
        widget = forms.Select(choices=choices)
        help_text = f"Shows the first {MOST_OFFERED} projects by name." if len(choices) > MOST_OFFERED else ""
        group = forms.CharField(required=False, label="Project", widget=widget, help_text=help_text)
        return {"group": themed(group), **super().asked()}

    def scope(self) -> Scope:
        """The selected project."""
        return INSTALLATION if self.is_global else Scope(group_id=self.group)

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
        return {"group_id": group_id, "values": self.document(context).read(document)}


class CopyForm(NewConfigForm):
    """Create a copy of a configuration, without secrets."""

    def at_first(self, initial: Mapping[str, str]) -> Typed:
        """The original, without IDs and secrets."""
        if self.config is None:
            return super().at_first(initial)
        group = self.config.group_id or GLOBAL
        typed = typed_of(facts_of(self.config), is_global=self.config.group_id is None, as_new=True)
        return {**typed, "group": [group]}
