"""The form that adds an agent."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accesslist.forms import InProjectForm
from opsapi.console.forms import single_line

_LONGEST_DESC = 250
MONGODB, POSTGRESQL = "mongodb", "postgresql"


class NewAgentForm(InProjectForm):
    """The project, the databases to watch, and the description of the key."""

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

    @property
    def values(self) -> Mapping[str, Any]:
        """Adds the project."""
        return {name: self.cleaned_data[name] for name in ("group", "databases", "desc")}
