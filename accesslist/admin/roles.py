"""Roles in the console: shared parts of the pages of role holders."""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.forms.roles import role_words
from accesslist.models import ApiKey, DigestEpoch, Project, RateWindow, RoleGrant, Team, User
from accesslist.selectors.users import VisibleUsers, held_in
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import operator_of
from opsapi.console.display import named
from opsapi.console.filters import ChoiceFilter
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.roles import ROLE_WORDS

_SHOWN = "grants_shown"


def grants_in_visible_scope(visible_scope: VisibleScope) -> Q:
    """Roles in the visible projects and organizations."""
    return Q(project_id__in=visible_scope.group_ids) | Q(org_id__in=visible_scope.org_ids)


def orgs_seen(visible_scope: VisibleScope) -> set[str]:
    """The organizations that the operator can read, or that have a project the operator can read."""
    of_projects = Project.objects.filter(id__in=visible_scope.group_ids).values_list("org_id", flat=True)
    return set(visible_scope.org_ids) | {org_id for org_id in of_projects if org_id}


def visible_users_in(visible_scope: VisibleScope) -> VisibleUsers:
    """Users and roles that an operator sees: roles in scopes that the operator can read."""
    return VisibleUsers(
        everything=visible_scope.everything,
        orgs=orgs_seen(visible_scope),
        whole=visible_scope.org_ids,
        groups=visible_scope.group_ids,
    )


def holders(visible_scope: VisibleScope, holder: str) -> QuerySet[Any, Any]:
    """Role holders in the visible projects and organizations."""
    seen: QuerySet[Any, Any] = RoleGrant.objects.filter(grants_in_visible_scope(visible_scope))
    return seen.filter(**{f"{holder}__isnull": False}).values(holder)


def roles_shown(visible_scope: VisibleScope, model: type[Any]) -> Q:
    """The roles of a key, user or team that an operator with this visible scope sees, as in the API."""
    if visible_scope.everything:
        return Q()
    return (
        held_in(visible_users_in(visible_scope)) if model is User else grants_in_visible_scope(visible_scope)
    )


def role_field() -> Callable[[Any, RoleGrant], SafeString]:
    """The role in words, with its name in the API, in a field or column."""

    @admin.display(description="role", ordering="role")
    def shown(_admin: Any, grant: RoleGrant) -> SafeString:
        return named(grant.words.name, grant.role)

    return shown


class RoleFilter(ChoiceFilter):
    """The role of a grant, by its name."""

    title = "role"
    parameter_name = "role"
    offered = tuple((role.value, words.name) for role, words in ROLE_WORDS.items())


class RoleGrantInline(ConsoleInline):
    """The roles of a key, user or team."""

    model = RoleGrant
    fields = ["role_shown", "org", "project"]
    ordering = ["id"]
    hide_title = True

    role_shown = role_field()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The roles that the operator can see."""
        visible_scope = operator_of(request).visible_scope()
        rows: QuerySet[Any] = super().get_queryset(request).select_related("org", "project")
        return rows.filter(roles_shown(visible_scope, self.parent_model))


class WithRoles(ConsoleAdmin):
    """A holder of roles."""

    inlines: Sequence[type[ConsoleInline]] = [RoleGrantInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Loads the visible roles and their scopes in a fixed number of queries."""
        shown = roles_shown(operator_of(request).visible_scope(), self.model)
        grants = RoleGrant.objects.filter(shown).select_related("org", "project").order_by("id")
        return super().get_queryset(request).prefetch_related(Prefetch("grants", grants, to_attr=_SHOWN))

    @admin.display(description="roles")
    def roles(self, holder: ApiKey | User | Team) -> SafeString | None:
        """Each role with its scope, and its name in the API as a tooltip."""
        shown = ((grant.role, role_words(grant)) for grant in getattr(holder, _SHOWN))
        return format_html_join(", ", '<span title="{}">{}</span>', shown) or None


@admin.register(RoleGrant)
class RoleGrantAdmin(ConsoleAdmin):
    """All roles, with holder and scope."""

    help = "how-to/use-the-console#roles"
    list_display = ["role_shown", "api_key", "user", "team", "org", "project"]
    list_filter = [RoleFilter]
    list_select_related = ["api_key", "user", "team", "org", "project"]
    search_fields = ["api_key__public_key", "user__username", "team__name", "org__name", "project__name"]
    ordering = ["id"]
    fields = ["role_shown", "api_key", "user", "team", "org", "project"]
    empty_text = "No roles yet."

    role_shown = role_field()


@admin.register(DigestEpoch)
class DigestEpochAdmin(ConsoleAdmin):
    """Start of the memory of used nonces."""

    help = "how-to/use-the-console#platform"
    list_display = ["started"]
    sortable_by = ()
    fields = ["started"]
    empty_text = "Starts with the next request of an API key."


@admin.register(RateWindow)
class RateWindowAdmin(ConsoleAdmin):
    """Counters of rate limits."""

    help = "how-to/use-the-console#platform"
    list_display = ["bucket", "started", "count"]
    search_fields = ["bucket"]
    ordering = ["-started"]
    fields = ["bucket", "started", "count"]
    empty_text = "No recent requests are counted."
