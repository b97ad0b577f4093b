"""The form that adds an agent: the project it reports to."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accesslist.forms import InProjectForm
from opsapi.console.forms import single_line

_LONGEST_DESC = 250


class NewAgentForm(InProjectForm):
    """A project, and what its key is called."""

    field_order = ["group", "desc"]

    desc = forms.CharField(
        max_length=_LONGEST_DESC,
        label="Description of its key",
        initial="monitoring agent",
        validators=[single_line],
        help_text="Such as the machine it runs on.",
    )

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.services.keys.api_key_issue`."""
        return {"desc": self.cleaned_data["desc"], "group": self.cleaned_data["group"]}
