"""Forms that create and change a maintenance window."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from accesslist.forms import InProjectForm
from accesslist.models import Project
from alerting.rules.windows import MuteExtent
from alerting.selectors.windows import mute_extent
from alerting.serializers.windows import WindowChange, WindowDocument
from events.types import ALERT_CATEGORIES
from opsapi.console.forms import DocumentForm, UtcDateTimeField

_CATEGORIES = [(category.value, category.value) for category in ALERT_CATEGORIES]


class WindowFields(DocumentForm):
    """The fields of a window, with a preview of what it mutes."""

    template = "console/window_fields.html"
    preview_name = "preview"
    """The button that shows what the window mutes, without saving."""

    startDate = UtcDateTimeField(label="Start (UTC)", help_text="Notifications are muted from this time.")
    endDate = UtcDateTimeField(label="End (UTC)", help_text="Notifications are sent again from this time.")
    alertTypeNames = forms.MultipleChoiceField(
        label="Alert types",
        choices=_CATEGORIES,
        widget=forms.CheckboxSelectMultiple,
        help_text="The window mutes these types in the whole project.",
    )

    def is_valid(self) -> bool:
        """Not valid while only a preview is requested, so that nothing is saved."""
        return self.preview_name not in self.data and super().is_valid()

    @cached_property
    def extent(self) -> MuteExtent | None:
        """What the window mutes, as far as the form is filled in; None without a project or types."""
        group, chosen = self.muted_project(), self["alertTypeNames"].value() or []
        categories = [name for name, _ in _CATEGORIES if name in chosen]
        if group is None or not categories:
            return None
        return mute_extent(
            group_id=group.id, project=str(group), categories=categories, not_only=self.muted_target()
        )

    def muted_project(self) -> Project | None:
        """The project of the window."""
        project: Project | None = self.row.group if self.row else None
        return project

    def muted_target(self) -> str:
        """The only target that the operator might think of."""
        return ""


class NewWindowForm(WindowFields, InProjectForm):
    """Create a window; the URL may contain initial values."""

    document = WindowDocument
    field_order = ["group"]
    from_address = frozenset({"group", "startDate", "endDate", "alertTypeNames", "description"})

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # The URL lists several as `HOST,REPLICA_SET`.
        names = self.initial.get("alertTypeNames", [])
        self.initial["alertTypeNames"] = names.split(",") if isinstance(names, str) else names

    def muted_project(self) -> Project | None:
        """The selected project, if the operator may select it."""
        try:
            project: Project = self.fields["group"].clean(self["group"].value())
        except ValidationError:
            return None
        return project

    @property
    def values(self) -> Mapping[str, Any]:
        """The project ID and the values of the document."""
        return {"group_id": self.cleaned_data["group"].id, "window": super().values}


class WindowForm(WindowFields):
    """Change a window."""

    document = WindowChange
