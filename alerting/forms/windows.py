"""The forms that make and change a maintenance window."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from accesslist.forms import InProjectForm
from alerting.selectors.windows import window_facts, window_row
from alerting.serializers.windows import WindowChange, WindowDocument
from events.types import ALERT_CATEGORIES
from opsapi.console.forms import DocumentForm

_CATEGORIES = [(one.value, one.value) for one in ALERT_CATEGORIES]


def _moment(label: str, help_text: str) -> forms.CharField:
    """A date and time of UTC, as browsers let one choose them; to the second, so that none gets lost."""
    widget = UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": "1"})
    return forms.CharField(label=label, widget=widget, help_text=help_text)


class WindowFields(DocumentForm):
    """What a window is, whoever makes or changes it."""

    startDate = _moment("Start (UTC)", "From this second on nobody is told.")
    endDate = _moment("End (UTC)", "From this second on everybody is told again.")
    alertTypeNames = forms.MultipleChoiceField(
        label="Alert types",
        choices=_CATEGORIES,
        widget=forms.CheckboxSelectMultiple,
        help_text="Alerts of these still open and close; only telling waits.",
    )
    description = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 3}))

    def body(self) -> Mapping[str, Any]:
        """Without the project, which the path names."""
        return {name: value for name, value in super().body().items() if name != "group"}


class NewWindowForm(WindowFields, InProjectForm):
    """To make one; the address may name what stands in it at first."""

    document = WindowDocument
    field_order = ["group"]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # An address names several as `HOST,REPLICA_SET`.
        names = self.initial.get("alertTypeNames", [])
        self.initial["alertTypeNames"] = names.split(",") if isinstance(names, str) else names

    @property
    def values(self) -> Mapping[str, Any]:
        """The project's id and the document's values."""
        return {"group_id": self.cleaned_data["group"].id, "window": super().values}


class WindowForm(WindowFields):
    """To change one."""

    document = WindowChange

    def stored(self) -> Mapping[str, Any]:
        """As it is."""
        return {
            "startDate": _shown(self.row.start),
            "endDate": _shown(self.row.end),
            "alertTypeNames": self.row.alert_types,
            "description": self.row.description or "",
        }

    def document_context(self) -> Mapping[str, Any]:
        """What the dates are held against."""
        row = window_row(self.row.id, group_id=self.row.group_id)
        return {"stored": window_facts(row) if row else {}}

    @property
    def values(self) -> Mapping[str, Any]:
        """The document's values; a description that was emptied goes."""
        return {"description": None, **super().values}


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
