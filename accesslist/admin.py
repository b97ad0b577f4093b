"""Identity and access in the console: to be read; projects and API keys can be made."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.forms import ModelChoiceField
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from accesslist.forms import ApiKeyForm, ProjectForm
from accesslist.models import (
    AccessListEntry,
    ApiKey,
    DigestEpoch,
    DigestUse,
    Organization,
    Project,
    RateWindow,
    RoleGrant,
    Team,
    User,
)
from accesslist.services.keys import NewKey, api_key_create
from accesslist.services.projects import project_create
from events.admin import events_link
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.console.writes import AddService
from opsapi.redaction import MASK

# Roles are grants of our own; Django's groups and permissions mean nothing here.
admin.site.unregister(Group)


class RoleGrantInline(ConsoleInline):
    """The roles of a key or a user."""

    model = RoleGrant
    fields = ["role", "org", "project"]
    ordering = ["id"]


class AccessListInline(ConsoleInline):
    """Where a key may call from."""

    model = AccessListEntry
    fields = ["cidr_block", "description", "created", "last_used"]
    ordering = ["created", "id"]


@admin.register(Organization)
class OrganizationAdmin(ConsoleAdmin):
    """Organizations."""

    list_display = ["name", "created"]
    search_fields = ["name", "id__exact"]
    ordering = ["name", "id"]
    fields = ["id", "name", "created"]
    empty_text = "No organization yet. One is made with the first project."


@admin.register(Project)
class ProjectAdmin(ConsoleAdmin):
    """Projects."""

    add_service = AddService(project_create, ProjectForm)
    autocomplete_fields = ["org"]
    list_display = ["name", "org", "host_count", "tags", "created"]
    list_select_related = ["org"]
    search_fields = ["name", "org__name", "id__exact"]
    ordering = ["name"]
    fields = ["id", "name", "org", "tags", "host_count", "created", "events"]
    empty_text = "No project yet."

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **options: Any
    ) -> ModelChoiceField[Any] | None:
        """The organization may be left out: the service then makes one."""
        return super().formfield_for_foreignkey(db_field, request, required=False, **options)

    @admin.display(description="events")
    def events(self, project: Project) -> SafeString:
        """What happened in it."""
        return events_link(project.id)


class WithRoles(ConsoleAdmin):
    """A holder of roles."""

    inlines = [RoleGrantInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the roles and their places, in a fixed number of queries."""
        return super().get_queryset(request).prefetch_related("grants__org", "grants__project")

    @admin.display(description="roles")
    def roles(self, holder: ApiKey | User | Team) -> str | None:
        """Each role with where it holds."""
        return ", ".join(_told(grant) for grant in holder.grants.all()) or None


@admin.register(User)
class UserAdmin(WithRoles):
    """People, without their password hashes."""

    list_display = ["username", "first_name", "last_name", "roles", "last_login"]
    list_filter = ["created", "last_login"]
    search_fields = ["username", "first_name", "last_name", "email_address", "id__exact"]
    ordering = ["username_key"]
    fields = [
        "id",
        "username",
        "first_name",
        "last_name",
        "email_address",
        "mobile_number",
        "created",
        "last_login",
    ]
    empty_text = "No user yet."


@admin.register(Team)
class TeamAdmin(WithRoles):
    """Teams with their roles in projects."""

    list_display = ["name", "org", "roles", "created"]
    list_select_related = ["org"]
    search_fields = ["name", "org__name", "id__exact"]
    ordering = ["created", "id"]
    fields = ["id", "name", "org", "people", "created"]
    empty_text = "No team yet. Make one with POST /orgs/{id}/teams."

    @admin.display(description="members")
    def people(self, team: Team) -> str | None:
        """Who is in it."""
        return ", ".join(team.members.order_by("username_key").values_list("username", flat=True)) or None


@admin.register(ApiKey)
class ApiKeyAdmin(WithRoles):
    """API keys; a private key is shown once, on the page that follows its making."""

    add_service = AddService(api_key_create, ApiKeyForm)
    list_display = ["public_key", "private_key", "desc", "roles", "created"]
    list_filter = ["created"]
    search_fields = ["public_key", "desc", "id__exact"]
    ordering = ["created", "id"]
    fields = ["id", "public_key", "private_key", "desc", "created"]
    inlines = [RoleGrantInline, AccessListInline]
    empty_text = "No API key yet."

    @admin.display(description="private key")
    def private_key(self, key: ApiKey) -> str:
        """The last four characters, all that is kept of it in the clear."""
        return MASK + key.private_last4

    def added(self, obj: Any, made: NewKey) -> None:
        """The private key goes to the answer to this request only: no message, cookie or session keeps it."""
        super().added(obj, made.key)
        obj.private_key_once = made.private_key

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        """The key in full, in place of going back to the list."""
        context = {
            **self.admin_site.each_context(request),
            "title": "The new API key",
            "opts": self.opts,
            "key": obj,
            "private_key": obj.private_key_once,
        }
        return TemplateResponse(request, "admin/accesslist/apikey/made.html", context)


@admin.register(RoleGrant)
class RoleGrantAdmin(ConsoleAdmin):
    """Who holds which role where."""

    list_display = ["role", "api_key", "user", "team", "org", "project"]
    list_filter = ["role"]
    list_select_related = ["api_key", "user", "team", "org", "project"]
    search_fields = ["api_key__public_key", "user__username", "team__name", "org__name", "project__name"]
    ordering = ["id"]
    fields = ["role", "api_key", "user", "team", "org", "project"]
    empty_text = "Nobody holds a role yet."


@admin.register(AccessListEntry)
class AccessListEntryAdmin(ConsoleAdmin):
    """Where keys may call from: those without a key concern every key with a global role."""

    list_display = ["cidr_block", "api_key", "description", "created", "updated", "last_used"]
    list_select_related = ["api_key"]
    search_fields = ["description", "api_key__public_key"]
    ordering = ["created", "id"]
    fields = ["id", "cidr_block", "api_key", "description", "created", "updated", "last_used"]
    empty_text = "No entry: keys may call from every address. Add one with POST /admin/accessList."


@admin.register(DigestUse)
class DigestUseAdmin(ConsoleAdmin):
    """Used nonces of the last minutes, which cannot be used again."""

    list_display = ["nonce", "nc", "used"]
    ordering = ["-id"]
    sortable_by = ()
    fields = ["nonce", "nc", "used"]
    empty_text = "No key has called in the last minutes."


@admin.register(DigestEpoch)
class DigestEpochAdmin(ConsoleAdmin):
    """Since when used nonces are remembered."""

    list_display = ["started"]
    sortable_by = ()
    fields = ["started"]
    empty_text = "It begins with the next call of a key."


@admin.register(RateWindow)
class RateWindowAdmin(ConsoleAdmin):
    """What is being throttled."""

    list_display = ["bucket", "started", "count"]
    search_fields = ["bucket"]
    ordering = ["-started"]
    fields = ["bucket", "started", "count"]
    empty_text = "Nothing was counted lately."


def _told(grant: RoleGrant) -> str:
    place = grant.org or grant.project
    return f"{grant.role} in {place}" if place else grant.role
