"""The form of the settings that a project keeps for its agents."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms

from accesslist.forms import InProjectForm, ScopeField
from automation.agent_settings.resource import AgentSettingsDocument
from automation.agent_settings.rules import shown_again
from automation.agent_settings.store import shown_agent_settings_of, shown_settings
from automation.labels import label_texts
from automation.metrics import Engine
from opsapi.api.errors import ApiError
from opsapi.console.forms import LinesField, fault_sentence, themed


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
        settings = shown_settings(shown_agent_settings_of(group_id))
        self.initial.update(
            {
                self.asked_for: group_id,
                "version": settings["version"],
                "mongodb": "\n".join(settings["mongodb"]),
                "postgresql": "\n".join(settings["postgresql"]),
                "intervalSeconds": settings.get("intervalSeconds"),
                "labels": "\n".join(label_texts(settings.get("labels"))),
                "selfUpdate": settings["selfUpdate"],
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
            redacted = shown_again(engine, typed, stored=_lines(self.initial[name]))
            if redacted != typed:
                kept[name] = "\n".join(redacted)
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
