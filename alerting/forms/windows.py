"""The forms that make and change a maintenance window."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from accesslist.forms import InProjectForm
from accesslist.models import Project
from alerting.rules.muting import MuteExtent
from alerting.selectors.muting import mute_extent
from alerting.serializers.windows import WindowChange, WindowDocument
from events.types import ALERT_CATEGORIES
from opsapi.console.fields import MomentField
from opsapi.console.forms import DocumentForm

_CATEGORIES = [(one.value, one.value) for one in ALERT_CATEGORIES]


class WindowFields(DocumentForm):
    """What a window is, whoever makes or changes it; with what it mutes, before it is sent."""

    template = "console/window_fields.html"
    preview_name = "preview"
    """The button that shows what the window mutes, and saves nothing."""

    startDate = MomentField(label="Start (UTC)", help_text="Notifications are muted from this time.")
    endDate = MomentField(label="End (UTC)", help_text="Notifications are sent again from this time.")
    alertTypeNames = forms.MultipleChoiceField(
        label="Alert types",
        choices=_CATEGORIES,
        widget=forms.CheckboxSelectMultiple,
        help_text="The window mutes these types in the whole project.",
    )

    def is_valid(self) -> bool:
        """Not while only a preview is asked for: nothing is to be written then."""
        return self.preview_name not in self.data and super().is_valid()

    @cached_property
    def extent(self) -> MuteExtent | None:
        """What the window mutes as far as the form is filled in; None without a project or types."""
        group, chosen = self.muted_project(), self["alertTypeNames"].value() or []
        categories = [name for name, _ in _CATEGORIES if name in chosen]
        if group is None or not categories:
            return None
        return mute_extent(
            group_id=group.id, project=str(group), categories=categories, not_only=self.muted_target()
        )

    def muted_project(self) -> Project | None:
        """The project in which the window mutes alerts."""
        project: Project | None = self.row.group if self.row else None
        return project

    def muted_target(self) -> str:
        """The only target that somebody may believe the window to be about."""
        return ""


class NewWindowForm(WindowFields, InProjectForm):
    """To make one; the address may name what stands in it at first."""

    document = WindowDocument
    field_order = ["group"]
    from_address = frozenset({"group", "startDate", "endDate", "alertTypeNames", "description"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # An address names several as `HOST,REPLICA_SET`.
        names = self.initial.get("alertTypeNames", [])
        self.initial["alertTypeNames"] = names.split(",") if isinstance(names, str) else names

    def muted_project(self) -> Project | None:
        """The one that is chosen, where the operator may choose it."""
        try:
            project: Project = self.fields["group"].clean(self["group"].value())
        except ValidationError:
            return None
        return project

    @property
    def values(self) -> Mapping[str, Any]:
        """The project's id and the document's values."""
        return {"group_id": self.cleaned_data["group"].id, "window": super().values}


class WindowForm(WindowFields):
    """To change one."""

    document = WindowChange
