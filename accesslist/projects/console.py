"""Organizations and projects in the console: forms, actions and pages."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.access import (
    CREATE_ORGS,
    INVITE_TO_ORG,
    INVITE_TO_PROJECT,
    PROJECT_CREATORS,
    WRITE_ORG,
    WRITE_PROJECT,
)
from accesslist.forms import ScopedForm, ScopeField
from accesslist.invitations.console import INVITE, invite_action
from accesslist.projects.changes import (
    organization_create,
    organization_delete,
    organization_update,
    project_create,
    project_delete,
    project_update,
)
from accesslist.projects.models import Organization, Project
from accesslist.projects.resource import OrganizationDocument, ProjectChange, ProjectDocument
from accesslist.projects.team_roles import ADD, OF_A_TEAM, TEAM_ACTIONS, teams_context
from accesslist.teams.models import Team
from events.choices import DiffType
from events.models import Event
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import add_url, list_url
from opsapi.console.display import Context, link, short_field
from opsapi.console.document_forms import DocumentForm
from opsapi.console.earlier import EVENT
from opsapi.console.filters import RelatedFilter
from opsapi.console.forms import ConsoleForm
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.sitemap import place_of_model
from opsapi.roles import INSTALLATION, Scope


class OrganizationForm(DocumentForm):
    """A new organization, or another name."""

    document = OrganizationDocument
    from_address = frozenset({EVENT})


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
    from_address = frozenset({EVENT})
    kinds_in_events = frozenset({DiffType.GROUP})

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Events have the tags as JSON, and the form has a comma between them."""
        tags = {"tags": ", ".join(json.loads(values["tags"] or "[]"))} if "tags" in values else {}
        return {**values, **tags}

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


def _make_org(call: ActionCall) -> ActionOutcome:
    org = organization_create(values=call.values, actor=call.actor, now=call.now)
    return ActionOutcome(row=org)


@admin.register(Organization)
class OrganizationAdmin(ConsoleAdmin):
    """Organizations."""

    help = "how-to/use-the-console#people--access"
    add_action = Action(
        label="New organization",
        done="Created",
        text="An organization has projects, teams and users.",
        icon="domain_add",
        run=_make_org,
        access=CREATE_ORGS,
        form=OrganizationForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        INVITE: invite_action(INVITE_TO_ORG),
        "rename": Action(
            label="Change",
            done="Changed",
            icon="edit",
            run=lambda call: organization_update(
                org_id=call.row.id, changes=call.values, actor=call.actor, now=call.now
            ),
            access=WRITE_ORG,
            form=OrganizationForm,
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Only an organization without projects can be deleted. This also deletes its teams "
            "and all roles in it.",
            icon="delete",
            danger=True,
            run=lambda call: organization_delete(org_id=call.row.id, actor=call.actor, now=call.now),
            access=WRITE_ORG,
        ),
    }
    list_display = [short_field("name"), "created"]
    palette_fields = ("name",)
    search_fields = ["name", "id__exact"]
    ordering = ["name", "id"]
    fields = ["id", "name", "created", "projects", "teams"]
    empty_text = "No organizations yet. The first project creates an organization."

    @admin.display(description="projects")
    def projects(self, org: Organization) -> SafeString:
        """The projects of the organization."""
        return link(list_url(Project, org__id__exact=org.id), "Its projects")

    @admin.display(description="teams")
    def teams(self, org: Organization) -> SafeString:
        """The teams of the organization."""
        return link(list_url(Team, org__id__exact=org.id), "Its teams")

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Organizations that the operator is a member of."""
        return rows.filter(id__in=visible_scope.org_ids)

    def shows(self, row: Any, visible_scope: VisibleScope) -> bool:
        """As `visible`, for a single row, without a query."""
        return visible_scope.everything or row.id in visible_scope.org_ids

    def is_shown_to(self, visible_scope: VisibleScope) -> bool:
        """Members of any organization can see the list."""
        return visible_scope.everything or bool(visible_scope.org_ids)

    def scope_of(self, row: Organization) -> Scope:
        """The organization itself."""
        return Scope(org_id=row.id)


_AGENT = "automation.agent"


def _create(call: ActionCall) -> ActionOutcome:
    project = project_create(
        values=call.values,
        # Operators who read everything have a global role. Others could not see the project they created.
        owned_by_creator=not call.operator.visible_scope().everything,
        actor=call.actor,
        now=call.now,
    )
    return ActionOutcome(row=project)


@admin.register(Project)
class ProjectAdmin(ConsoleAdmin):
    """Projects."""

    help = "how-to/use-the-console#people--access"
    group_path = "id"
    add_action = Action(
        label="New project",
        done="Created",
        text="A new project starts with the default alert configurations.",
        icon="create_new_folder",
        run=_create,
        access=Access(Where.ORG, sorted(PROJECT_CREATORS)),
        form=ProjectForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "change": Action(
            label="Change",
            done="Changed",
            text="Agents and keys use the project ID, so you can change the name at any time.",
            icon="edit",
            run=lambda call: project_update(
                group_id=call.row.id, changes=call.values, actor=call.actor, now=call.now
            ),
            access=WRITE_PROJECT,
            form=ProjectChangeForm,
        ),
        INVITE: invite_action(INVITE_TO_PROJECT),
        **TEAM_ACTIONS,
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Deletes everything in the project except its events. This cannot be undone.",
            icon="delete",
            danger=True,
            run=lambda call: project_delete(group_id=call.row.id, actor=call.actor, now=call.now),
            access=WRITE_PROJECT,
            form=DeletionForm,
        ),
    }
    list_display = [short_field("name"), "org", "host_count", "tags", "created"]
    list_filter = [("org", RelatedFilter)]
    list_select_related = ["org"]
    palette_fields = ("name",)
    search_fields = ["name", "org__name", "id__exact"]
    ordering = ["name"]
    fields = ["id", "name", "org", "tags", "host_count", "created", "collections"]
    empty_text = "No projects yet."

    def row_actions(self, request: HttpRequest, row: Any) -> list[Context]:
        """Adds a link to the page that adds an agent, the first step in a new project.

        The list of teams has the actions on a team.
        """
        actions = [link for link in super().row_actions(request, row) if link["name"] not in OF_A_TEAM]
        pages: Any = self.admin_site.get_model_admin(apps.get_model(_AGENT))
        operator, add = operator_of(request), pages.add_action
        if not add.is_allowed(operator, None, self.scope_of(row)):
            return actions
        return [{"action": add, "url": add_url(_AGENT, group=row.id)}, *actions]

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        """Adds the teams of the project."""
        may_change = TEAM_ACTIONS[ADD].is_allowed(operator_of(request), row, self.scope_of(row))
        teams = teams_context(row, may_change=may_change)
        return {**super().page_context(request, row), "teams": teams}

    @admin.display(description="contents")
    def collections(self, project: Project) -> SafeString:
        """Links to the lists of the project's contents."""
        lists = [
            (list_url(model, group__id__exact=project.id), pages.list_title)
            for model, pages in self.admin_site._registry.items()
            if ("group", RelatedFilter) in (pages.list_filter or ())
        ]
        lists.append((list_url(Event, project=project.id), place_of_model("events.event").page.title))
        return format_html_join(" · ", "{}", ((link(url, name),) for url, name in lists))
