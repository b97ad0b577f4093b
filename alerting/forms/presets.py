"""The form that adds presets to a project: first project and engine, then the presets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.functional import cached_property
from unfold.widgets import CHECKBOX_CLASSES

from alerting.models import AlertConfig
from alerting.rules.presets import Preset, presets_of
from alerting.selectors.configs import configs_of_presets, writable_projects
from automation.metrics import Engine
from opsapi.console.admin_urls import page_url
from opsapi.console.forms import ConsoleForm
from opsapi.roles import Scope

_ENGINE_LABELS: Mapping[Engine, str] = {Engine.MONGODB: "MongoDB", Engine.POSTGRESQL: "PostgreSQL"}
_OTHERS = "The project or engine has changed. Select from the presets below."


@dataclass(frozen=True, slots=True)
class PresetRow:
    """An offered preset; `url` is the project's existing configuration, if any."""

    preset: Preset
    ticked: bool
    url: str = ""
    is_disabled: bool = False


class PresetsForm(ConsoleForm):
    """Adds presets. The list belongs to the project and engine chosen when the page was shown.

    If the submitted selection differs from `shown`, the form shows its list and adds nothing.
    """

    template = "console/preset_fields.html"
    from_address = frozenset({"group", "engine"})
    checkbox_class = " ".join(CHECKBOX_CLASSES)
    shown_name = "shown"
    show_name = "show"
    """The button that shows the list without adding anything."""

    group = forms.ChoiceField(label="Project")
    engine = forms.ChoiceField(
        choices=[(engine.value, label) for engine, label in _ENGINE_LABELS.items()],
        initial=Engine.MONGODB.value,
    )
    presets = forms.MultipleChoiceField(
        required=False, choices=[(preset.value, preset.value) for preset in Preset]
    )

    class Media:
        css = {"all": ["console/config-form.css"]}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        named = self.data.get("group") or self.initial.get("group") or ""
        projects = writable_projects(self.operator, named)
        self.fields["group"].choices = [("", "–"), *projects]  # type: ignore[attr-defined]  # it is a ChoiceField
        if len(projects) == 1:
            self.initial.setdefault("group", projects[0][0])

    @cached_property
    def place(self) -> str:
        """The selected project and engine; empty unless both are valid."""
        group, engine = (str(self[name].value() or "") for name in ("group", "engine"))
        groups = {group_id for group_id, _ in self.fields["group"].choices}  # type: ignore[attr-defined]  # as above
        return f"{group} {engine}" if group and group in groups and engine in set(Engine) else ""

    @property
    def is_answered(self) -> bool:
        asks_for_list = self.show_name in self.data
        return bool(self.place) and not asks_for_list and self.data.get(self.shown_name) == self.place

    def rows(self) -> Sequence[PresetRow]:
        """The presets, ticked unless the project has them, or as submitted."""
        if not self.place:
            return ()
        group, _, engine = self.place.partition(" ")
        there = configs_of_presets(group)
        answered = self["presets"].value() or () if self.is_answered else None
        return [self._row(preset, there.get(preset), answered) for preset in presets_of(Engine(engine))]

    def _row(self, preset: Preset, config: AlertConfig | None, answered: Sequence[str] | None) -> PresetRow:
        if config is not None:
            return PresetRow(preset, ticked=False, url=page_url(config), is_disabled=not config.enabled)
        return PresetRow(preset, ticked=answered is None or preset.value in answered)

    def is_valid(self) -> bool:
        """Nothing is added before the list was shown."""
        return super().is_valid() and self.is_answered

    def clean(self) -> dict[str, Any]:
        """At least one of the shown presets must be selected."""
        if self.is_answered and not self.cleaned_data.get("presets"):
            self.add_error("presets", "Select at least one preset.")
        elif self.shown_name in self.data and self.show_name not in self.data and not self.is_answered:
            self.add_error(None, _OTHERS)
        return self.cleaned_data

    def scope(self) -> Scope:
        return Scope(group_id=self.cleaned_data["group"])

    @property
    def values(self) -> Mapping[str, Any]:
        presets = [Preset(name) for name in self.cleaned_data["presets"]]
        return {"group_id": self.cleaned_data["group"], "presets": presets}
