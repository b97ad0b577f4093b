"""Forms for organizations, projects, and the roles of teams in a project."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from accesslist.forms.scopes import ScopedForm, ScopeField
from accesslist.serializers.organizations import OrganizationDocument, ProjectChange, ProjectDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.console.display import role_choices
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import ConsoleForm
from opsapi.roles import INSTALLATION, Role, Scope

_GROUP_ROLES = role_choices(role for role in Role if role.is_group)


class OrganizationForm(DocumentForm):
    """A new organization, or another name."""

    document = OrganizationDocument


class _TaggedForm(ScopedForm, DocumentForm):
    """Name and tags of a project."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.GROUP_ALREADY_EXISTS: "name",
        ErrorCode.ORG_NOT_FOUND: "orgId",
    }

    tags = forms.CharField(required=False, help_text="Separated by commas.")

    def clean_tags(self) -> list[str]:
        """The tags without duplicates."""
        typed = (tag.strip() for tag in self.cleaned_data["tags"].split(","))
        return list(dict.fromkeys(tag for tag in typed if tag))


class ProjectForm(_TaggedForm):
    """A new project."""

    document = ProjectDocument
    field_order = ("name", "orgId", "tags")

    orgId = ScopeField(
        "org",
        required=False,
        label="Organization",
        help_text="Leave blank to create an organization with the same name.",
    )

    def clean_orgId(self) -> str | None:  # noqa: N802 - named as in the document
        """The ID of the organization."""
        org = self.cleaned_data["orgId"]
        return org.id if org else None

    def scope(self) -> Scope:
        """The organization of the new project."""
        org_id = self.values.get("org_id")
        return Scope(org_id=org_id) if org_id else INSTALLATION


class ProjectChangeForm(_TaggedForm):
    """Change the name or tags."""

    document = ProjectChange

    def stored(self) -> Mapping[str, Any]:
        """The stored values, with a comma between tags."""
        return {**super().stored(), "tags": ", ".join(self.row.tags)} if self.row else {}

    def body(self) -> Mapping[str, Any]:
        """The request body, including empty tags."""
        return {**super().body(), "tags": self.cleaned_data["tags"]}


class DeletionForm(ConsoleForm):
    """Requires the name of the project, because deletion cannot be undone."""

    name = forms.CharField(
        required=False,
        help_text="Type the project's name.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def clean_name(self) -> str:
        """The name of the row."""
        name: str = self.cleaned_data["name"]
        if name != self.row.name:
            raise ValidationError(f"Type the name of the project to confirm: {self.row.name}")
        return name


class TeamRolesForm(ScopedForm):
    """The roles of a team in the project (the row); an empty selection revokes all of them."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.ROLE_NOT_HELD: "roles",
        ErrorCode.TEAM_NOT_FOUND: "team",
    }

    team = ScopeField("team", help_text="A team of the project's organization.")
    roles = forms.MultipleChoiceField(
        choices=_GROUP_ROLES,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="These roles replace the team's current roles in the project. Select none to remove "
        "the team from the project.",
    )
