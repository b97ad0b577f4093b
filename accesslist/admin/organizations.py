"""Organizations in the console."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accesslist.access import CREATE_ORGS, WRITE_ORG
from accesslist.forms.projects import OrganizationForm
from accesslist.models import Organization, Project, Team
from accesslist.services.organizations import (
    organization_create,
    organization_delete,
    organization_rename,
)
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import list_url
from opsapi.console.display import link, short_field
from opsapi.console.model_admin import ConsoleAdmin, Section
from opsapi.roles import Scope


def _make(call: ActionCall) -> ActionOutcome:
    org = organization_create(name=call.values["name"], actor=call.actor, now=call.now)
    return ActionOutcome(row=org)


def _rename(call: ActionCall) -> None:
    organization_rename(org_id=call.row.id, name=call.values["name"], actor=call.actor, now=call.now)


def _delete(call: ActionCall) -> None:
    organization_delete(org_id=call.row.id, actor=call.actor, now=call.now)


@admin.register(Organization)
class OrganizationAdmin(ConsoleAdmin):
    """Organizations."""

    section = Section.ACCESS
    icon = "domain"
    rank = 20
    add_action = Action(
        label="New organization",
        done="Created",
        text="An organization has projects, teams and users.",
        icon="domain_add",
        run=_make,
        access=CREATE_ORGS,
        form=OrganizationForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "rename": Action(
            label="Change",
            done="Changed",
            icon="edit",
            run=_rename,
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
            run=_delete,
            access=WRITE_ORG,
        ),
    }
    list_display = [short_field("name"), "created"]
    search_fields = ["name", "id__exact"]
    ordering = ["name", "id"]
    fields = ["id", "name", "created", "projects", "teams"]
    empty_text = "No organizations yet. The first project creates one."

    @admin.display(description="projects")
    def projects(self, org: Organization) -> SafeString:
        """The projects of the organization."""
        return link(list_url(Project, org__id__exact=org.id), "Its projects")

    @admin.display(description="teams")
    def teams(self, org: Organization) -> SafeString:
        """The teams of the organization."""
        return link(list_url(Team, org__id__exact=org.id), "Its teams")

    def visible(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Organizations that the operator is a member of."""
        return rows if visible_scope.everything else rows.filter(id__in=visible_scope.org_ids)

    def shows(self, row: Any, visible_scope: VisibleScope) -> bool:
        """As `visible`, for a single row, without a query."""
        return visible_scope.everything or row.id in visible_scope.org_ids

    def is_shown_to(self, visible_scope: VisibleScope) -> bool:
        """Members of any organization can see the list."""
        return visible_scope.everything or bool(visible_scope.org_ids)

    def scope_of(self, row: Organization) -> Scope:
        """The organization itself."""
        return Scope(org_id=row.id)
