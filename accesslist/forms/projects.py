"""Forms for organizations, projects, and the roles of teams in a project."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from accesslist.forms.places import PlacedForm, PlaceField
from accesslist.serializers.organizations import OrganizationDocument
from accesslist.serializers.projects import ProjectChange, ProjectDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.console.forms import ConsoleForm, DocumentForm
from opsapi.roles import INSTALLATION, Role, Scope

_GROUP_ROLES = [(role.value, role.value) for role in Role if role.is_group]


class OrganizationForm(DocumentForm):
    """A new organization, or another name."""

    document = OrganizationDocument

    def stored(self) -> Mapping[str, Any]:
        """As it is."""
        return {"name": self.row.name} if self.row else {}


class _TaggedForm(PlacedForm, DocumentForm):
    """Name and tags."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.GROUP_ALREADY_EXISTS: "name",
        ErrorCode.ORG_NOT_FOUND: "orgId",
    }

    tags = forms.CharField(required=False, help_text="Separated by commas.")

    def clean_tags(self) -> list[str]:
        """Each once."""
        typed = (tag.strip() for tag in self.cleaned_data["tags"].split(","))
        return list(dict.fromkeys(tag for tag in typed if tag))


class ProjectForm(_TaggedForm):
    """A new project."""

    document = ProjectDocument
    field_order = ("name", "orgId", "tags")

    orgId = PlaceField(
        "org",
        required=False,
        label="Organization",
        help_text="Left empty: an organization of the project's name is made too.",
    )

    def clean_orgId(self) -> str | None:  # noqa: N802 - named as in the document
        """Its id."""
        org = self.cleaned_data["orgId"]
        return org.id if org else None

    def scope(self) -> Scope:
        """The organization it is made in."""
        org_id = self.values.get("org_id")
        return Scope(org_id=org_id) if org_id else INSTALLATION


class ProjectChangeForm(_TaggedForm):
    """Another name or other tags."""

    document = ProjectChange

    def stored(self) -> Mapping[str, Any]:
        """As it is, with a comma between tags."""
        return {**super().stored(), "tags": ", ".join(self.row.tags)} if self.row else {}

    def body(self) -> Mapping[str, Any]:
        """Tags also when there is none left."""
        return {**super().body(), "tags": self.cleaned_data["tags"]}


class DeletionForm(ConsoleForm):
    """The name has to be typed: what goes with it does not come back."""

    name = forms.CharField(
        required=False,
        help_text="Type the project's name.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_name(self) -> str:
        """That of the row."""
        name: str = self.cleaned_data["name"]
        if name != self.row.name:
            raise ValidationError(f"To delete it, type its name: {self.row.name}")
        return name


class TeamRolesForm(PlacedForm):
    """The roles of a team in the project, which is the row; none takes all of them."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.ROLE_NOT_HELD: "roles",
        ErrorCode.TEAM_NOT_FOUND: "team",
    }

    team = PlaceField("team", help_text="A team of the project's organization.")
    roles = forms.MultipleChoiceField(
        choices=_GROUP_ROLES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="In place of those it has in the project; without any its roles there are taken.",
    )
