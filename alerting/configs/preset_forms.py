"""The form that adds presets to a project: first project and engines, then the presets and their receiver."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.functional import cached_property

from alerting.configs.preset_part import PresetPart
from alerting.configs.store import writable_projects
from automation.agents.store import is_first_setup
from automation.metrics import Engine
from automation.wording import ENGINE_WORDS
from opsapi.console.admin_urls import add_url
from opsapi.console.forms import ConsoleForm, the_only
from opsapi.roles import Scope

_OTHERS = "The project has changed. Select from the presets below."


class PresetsForm(ConsoleForm):
    """Adds presets; a step of the first set-up.

    The list belongs to the project chosen when the page was shown. If another project is submitted, the form
    shows its list and adds nothing.
    """

    fields_template = "console/preset_fields.html"
    heading_template = "console/preset_heading.html"
    from_address = frozenset({"group"})
    show_name = "show"
    """The button that shows the list without adding anything."""

    group = forms.ChoiceField(label="Project")
    engines = forms.MultipleChoiceField(
        label="Databases",
        choices=[(engine.value, label) for engine, label in ENGINE_WORDS.items()],
        initial=[Engine.MONGODB.value],
        widget=forms.CheckboxSelectMultiple,
    )

    class Media:
        css = PresetPart.css
        js = PresetPart.js

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        named = self.data.get("group") or self.initial.get("group") or ""
        projects = writable_projects(self.operator, named)
        self.fields["group"].choices = [("", "–"), *projects]  # type: ignore[attr-defined]  # it is a ChoiceField
        self.initial["group"] = self.initial.get("group") or the_only([group_id for group_id, _ in projects])

    @cached_property
    def is_setup(self) -> bool:
        """Whether the page is a step of the first set-up."""
        return is_first_setup(self.operator.grants)

    @property
    def is_titled(self) -> bool:
        """Whether the heading has a title of its own."""
        return self.is_setup

    @property
    def skip(self) -> tuple[str, str] | None:
        """The page after this one, if nothing is added, and the words of its link."""
        return ("Skip this step", self.next_url) if self.is_setup else None

    @property
    def next_url(self) -> str:
        """The last step of the set-up."""
        engines = self["engines"].value() or ()
        known = [engine.lower() for engine in engines if engine in set(Engine)]
        return add_url("automation.agent", group=self._group, databases=",".join(known))

    @property
    def _group(self) -> str:
        """The selected project; empty unless it is offered."""
        group = str(self["group"].value() or "")
        offered = {group_id for group_id, _ in self.fields["group"].choices}  # type: ignore[attr-defined]  # as above
        return group if group in offered else ""

    @cached_property
    def part(self) -> PresetPart | None:
        """The presets and their receiver, once the project is known."""
        if not self._group:
            return None
        asks_for_list = self.show_name in self.data
        return PresetPart(
            self.data if self.is_bound and not asks_for_list else None,
            operator=self.operator,
            group_id=self._group,
            engines=self["engines"].value() or (),
            engines_name="engines",
        )

    def is_valid(self) -> bool:
        """Nothing is added before the list was shown."""
        asks_for_list = self.show_name in self.data
        if not super().is_valid() or self.part is None or asks_for_list:
            return False
        if not self.part.is_shown:
            self.add_error(None, _OTHERS)
            return False
        return self.part.is_valid()

    @property
    def has_wrong_fields(self) -> bool:
        return super().has_wrong_fields or (self.part is not None and self.part.has_wrong_fields)

    def scope(self) -> Scope:
        return Scope(group_id=self.cleaned_data["group"])

    @property
    def values(self) -> Mapping[str, Any]:
        if self.part is None:
            raise ValueError("only a valid form has values")
        return {**self.part.values, "next_url": self.next_url if self.is_setup else ""}
