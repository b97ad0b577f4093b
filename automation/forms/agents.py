"""The form that adds an agent: the project it reports to."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accesslist.forms import InProjectForm
from opsapi.console.forms import single_line

_LONGEST_DESC = 250
MONGODB, POSTGRESQL = "mongodb", "postgresql"


class NewAgentForm(InProjectForm):
    """A project, what the agent watches there, and what its key is called."""

    field_order = ["group", "databases", "desc"]

    databases = forms.MultipleChoiceField(
        choices=[(MONGODB, "MongoDB"), (POSTGRESQL, "PostgreSQL")],
        initial=[MONGODB],
        widget=forms.CheckboxSelectMultiple,
        label="What it watches",
    )
    desc = forms.CharField(
        max_length=_LONGEST_DESC,
        label="Description of its key",
        initial="monitoring agent",
        validators=[single_line],
        help_text="Such as the machine it runs on.",
    )

    @property
    def values(self) -> Mapping[str, Any]:
        """With the project."""
        return {name: self.cleaned_data[name] for name in ("group", "databases", "desc")}
