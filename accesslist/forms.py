"""Forms of the console for what identity and access let be made."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AdminTextInputWidget, AutocompleteSelect
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError

from accesslist.models import ApiKey, Organization, Project, RoleGrant
from opsapi.console.forms import single_line
from opsapi.console.writes import ServiceForm
from opsapi.roles import Grant, Role


class ProjectForm(ServiceForm):
    """A new project."""

    name = forms.CharField(max_length=200, validators=[single_line], widget=AdminTextInputWidget)
    tags = SimpleArrayField(
        forms.CharField(max_length=100, validators=[single_line]),
        max_length=50,
        required=False,
        help_text="Separated by commas.",
        widget=AdminTextInputWidget,
    )

    class Meta:
        model = Project
        fields = ["name", "org", "tags"]
        labels = {"org": "Organization"}
        help_texts = {"org": "Left empty: an organization of the project's name is made too."}

    def clean_name(self) -> str:
        """A name that is taken is told beside the field; the service refuses it in any case."""
        name: str = self.cleaned_data["name"]
        if Project.objects.filter(name=name).exists():
            raise ValidationError("A project of this name already exists.")
        return name

    def service_values(self) -> Mapping[str, Any]:
        """See `accesslist.services.projects.project_create`."""
        org = self.cleaned_data["org"]
        return {
            "name": self.cleaned_data["name"],
            "org_id": org.id if org else None,
            "tags": list(dict.fromkeys(self.cleaned_data["tags"])),
            "owned_by_maker": False,
        }


def _roles(prefix: str, label: str) -> forms.MultipleChoiceField:
    names = [(role.value, role.value) for role in Role if role.startswith(prefix)]
    return forms.MultipleChoiceField(
        choices=names, required=False, label=label, widget=forms.CheckboxSelectMultiple
    )


def _place(name: str, label: str) -> forms.ModelChoiceField[Any]:
    """A project or organization, found by typing: there may be thousands."""
    relation = RoleGrant._meta.get_field(name)
    model = Project if name == "project" else Organization
    widget = AutocompleteSelect(relation, admin.site)
    return forms.ModelChoiceField(model.objects.all(), required=False, label=label, widget=widget)


class ApiKeyForm(ServiceForm):
    """A new API key with its roles."""

    desc = forms.CharField(
        max_length=250, label="Description", validators=[single_line], widget=AdminTextInputWidget
    )
    project = _place("project", "Project")
    project_roles = _roles("GROUP_", "Roles in the project")
    org = _place("org", "Organization")
    org_roles = _roles("ORG_", "Roles in the organization")
    global_roles = _roles("GLOBAL_", "Roles over the installation")

    class Meta:
        model = ApiKey
        fields = ["desc"]

    def clean(self) -> dict[str, Any]:
        """A role needs its place, a place its role, a key at least one role."""
        values = self.cleaned_data
        for place, label in (("project", "A project"), ("org", "An organization")):
            chosen, roles = values.get(place), values.get(f"{place}_roles")
            if bool(chosen) != bool(roles):
                missing = place if roles else f"{place}_roles"
                self.add_error(missing, f"{label} and roles in it go together.")
        if not self.errors and not self.grants():
            raise ValidationError("A key needs at least one role.")
        return values

    def grants(self) -> list[Grant]:
        """The roles chosen, with where they hold."""
        values = self.cleaned_data
        project, org = values.get("project"), values.get("org")
        return [
            *[Grant(Role(name), group_id=project.id) for name in values.get("project_roles", ()) if project],
            *[Grant(Role(name), org_id=org.id) for name in values.get("org_roles", ()) if org],
            *[Grant(Role(name)) for name in values.get("global_roles", ())],
        ]

    def service_values(self) -> Mapping[str, Any]:
        """See `accesslist.services.keys.api_key_create`."""
        return {"desc": self.cleaned_data["desc"], "grants": self.grants()}
