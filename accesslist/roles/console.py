"""Roles in the console: forms that grant and revoke, and the parts of pages that all holders share."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.forms import RolesField, ScopedForm, ScopeField
from accesslist.keys.models import ApiKey
from accesslist.projects.models import Project
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import AskedRole
from accesslist.teams.models import Team
from accesslist.users.models import User
from accesslist.users.store import VisibleUsers, held_in
from events.choices import DiffType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import operator_of
from opsapi.console.display import named
from opsapi.console.earlier import EVENT, RevertedChange, RevertingForm
from opsapi.console.filters import ChoiceFilter
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.roles import ROLE_WORDS, Grant, Role

MOST_HELD = 500
"""Maximum number of roles that the form offers to revoke; others stay."""
_SCOPES = (("project", "a project"), ("org", "an organization"))


class RolesForm(ScopedForm):
    """Roles in a project, in an organization and global roles."""

    role_fieldsets: ClassVar[Sequence[tuple[str, Sequence[str]]]] = (
        ("In a project", ("project", "project_roles")),
        ("In an organization", ("org", "org_roles")),
        ("In the whole installation", ("global_roles",)),
    )

    project = ScopeField("project", required=False)
    project_roles = RolesField(
        (role for role in Role if role.is_group), required=False, label="Roles in the project"
    )
    org = ScopeField("org", required=False, label="Organization")
    org_roles = RolesField(
        (role for role in Role if role.is_org), required=False, label="Roles in the organization"
    )
    global_roles = RolesField((role for role in Role if role.is_global), required=False, label="Global roles")

    def clean(self) -> dict[str, Any]:
        """A role needs its scope, and a scope needs a role."""
        values = self.cleaned_data
        for scope, label in _SCOPES:
            chosen, roles = values.get(scope), values.get(f"{scope}_roles")
            if bool(chosen) != bool(roles) and not {scope, f"{scope}_roles"} & self.errors.keys():
                missing = scope if roles else f"{scope}_roles"
                self.add_error(missing, f"Choose {label}." if roles else "Choose at least one role.")
        super().clean()
        return values

    def given(self) -> list[Grant]:
        """The selected roles with their scopes."""
        values = self.cleaned_data
        project, org = values.get("project"), values.get("org")
        return [
            *[Grant(role, group_id=project.id) for role in values.get("project_roles", ()) if project],
            *[Grant(role, org_id=org.id) for role in values.get("org_roles", ()) if org],
            *[Grant(role) for role in values.get("global_roles", ())],
        ]

    def field_about(self, refusal: ApiError) -> str | None:
        """Shows the refusal of a role next to its field."""
        if refusal.code in {ErrorCode.ROLE_NOT_HELD, ErrorCode.CANNOT_ADD_GLOBAL_ROLE}:
            return _field(Role(refusal.parameters[0]))
        return super().field_about(refusal)


class HeldRolesForm(RevertingForm, RolesForm):
    """The current roles of a key or user, each of which can be revoked, and new roles.

    A form that reverts a change ticks the roles of before. All roles of a change are of one scope.
    """

    from_address = frozenset({EVENT})
    kinds_in_events = frozenset({DiffType.ROLES})
    fieldsets = (("Held", ("held", "offered_then")), *RolesForm.role_fieldsets)
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.CANNOT_CHANGE_OWN_ROLES: "held",
        ErrorCode.CANNOT_DEMOTE_LAST_OWNER: "held",
    }

    held = forms.MultipleChoiceField(
        required=False,
        label="Current roles",
        help_text="Clear the checkbox to revoke a role.",
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "invalid_choice": "One of these roles was revoked in the meantime. Check the list again."
        },
    )
    # The roles that were offered. A role granted since then was not offered, so a missing tick does not
    # revoke it.
    offered_then = forms.Field(required=False, widget=forms.MultipleHiddenInput)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.offered = self._offered(self.row)
        names = [
            (str(number), named(role_words(grant), grant.role)) for number, grant in self.offered.items()
        ]
        field = self.fields["held"]
        field.choices = names  # type: ignore[attr-defined]  # it is a MultipleChoiceField
        self.initial["held"] = self.initial["offered_then"] = [number for number, _ in names]
        self._left_out: Sequence[str] = ()
        self._ticked: Sequence[str] = ()
        if self.reverted is not None:
            self._tick_earlier(self.reverted)

    def _tick_earlier(self, change: RevertedChange) -> None:
        """Clear the roles that the change granted, and choose the roles that it revoked."""
        before, after = _grants_in(change.before), _grants_in(change.after)
        held = set(self._held())
        granted = {grant for grant in after if grant not in before}
        revoked = [grant for grant in before if grant not in after and grant not in held]
        ticked = [str(number) for number, row in self.offered.items() if row.grant not in granted]
        self.initial["held"] = ticked
        offered = {row.grant for row in self.offered.values()}
        unoffered = [grant for grant in after if grant in granted & held and grant not in offered]
        chosen = [grant for grant in revoked if self._choose(grant)]
        unoffered += [grant for grant in revoked if grant not in chosen]
        cleared = [grant for grant in after if grant in granted & offered]
        self._ticked = [
            *(f"grants {ROLE_WORDS[grant.role].name}" for grant in chosen),
            *(f"revokes {ROLE_WORDS[grant.role].name}" for grant in cleared),
        ]
        self._left_out = [ROLE_WORDS[grant.role].name for grant in unoffered]

    def _choose(self, grant: Grant) -> bool:
        """Choose a new role; return whether the form has the role and its scope."""
        scope = "project" if grant.group_id else "org" if grant.org_id else "global"
        scope_id, field = grant.group_id or grant.org_id, self.fields.get(scope)
        if scope_id and not (isinstance(field, ScopeField) and field.accepts(scope_id)):
            return False
        if scope_id:
            self.initial[scope] = scope_id
        name = f"{scope}_roles"
        self.initial[name] = [*(self.initial.get(name) or ()), grant.role.value]
        return name in self.fields

    def _held(self) -> list[Grant]:
        return [row.grant for row in self.row.grants.all()]

    def stored(self) -> Mapping[str, Any]:
        """The roles, with which an earlier change is compared."""
        return {"roles": frozenset(self._held())} if self.row else {}

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The roles with the roles of other scopes, which the change did not concern."""
        if self.reverted is None or "roles" not in values:
            return values
        concerned = {
            grant.scope for side in (self.reverted.before, self.reverted.after) for grant in _grants_in(side)
        }
        others = (grant for grant in self._held() if grant.scope not in concerned)
        return {"roles": frozenset([*others, *_grants_of(values["roles"])])}

    def label_in_events(self, name: str) -> str:
        """The roles have several inputs."""
        return "Roles" if name == "roles" else super().label_in_events(name)

    def input_names(self) -> Collection[str]:
        """The roles have several inputs."""
        return {*super().input_names(), "roles"}

    def reverted_fields(self) -> Sequence[str]:
        """The roles that the form grants and revokes: the operator reads them before the form is sent."""
        return [f"Roles ({', '.join(self._ticked)})"] if self._ticked else []

    def fields_left_out(self) -> Sequence[str]:
        """The roles that the operator cannot grant or revoke here."""
        return self._left_out

    def may_revoke(self, grant: RoleGrant) -> bool:
        """Whether the operator may revoke the role."""
        raise NotImplementedError

    def _offered(self, holder: ApiKey | User) -> dict[int, RoleGrant]:
        held = holder.grants.select_related("org", "project").order_by("id")
        takable = (row for row in held if self.may_revoke(row))
        return {row.pk: row for row in islice(takable, MOST_HELD)}

    def revoked(self) -> list[Grant]:
        """The offered roles whose checkbox was cleared."""
        gone = set(self.cleaned_data["offered_then"] or ()) - set(self.cleaned_data.get("held", ()))
        return [row.grant for number, row in self.offered.items() if str(number) in gone]

    @property
    def values(self) -> Mapping[str, Any]:
        """`revoked` and `given`: the roles to revoke and to grant."""
        return {"revoked": self.revoked(), "given": self.given()}


def _grants_in(side: Mapping[str, str]) -> list[Grant]:
    """The roles before or after a change, as its event has them."""
    return _grants_of(json.loads(side.get("roles") or "[]"))


def _grants_of(roles: Iterable[Mapping[str, str]] | None) -> list[Grant]:
    """The roles of a document. Roles that this version does not know are left out."""
    return [
        Grant(Role(role["roleName"]), role.get("orgId"), role.get("groupId"))
        for role in roles or ()
        if role["roleName"] in set(Role)
    ]


def as_asked(grants: Iterable[Grant]) -> list[AskedRole]:
    """The roles as services accept them; refusals name the form field."""
    return [AskedRole(_field(grant.role), grant.role, grant.org_id, grant.group_id) for grant in grants]


def role_words(row: RoleGrant) -> str:
    """The name of the role, with its scope."""
    scope, name = row.org or row.project, row.words.name
    return f"{name} in {scope}" if scope else name


def _field(role: Role) -> str:
    if role.is_group:
        return "project_roles"
    return "org_roles" if role.is_org else "global_roles"


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
        condition = roles_shown(operator_of(request).visible_scope(), self.model)
        grants = RoleGrant.objects.filter(condition).select_related("org", "project").order_by("id")
        return super().get_queryset(request).prefetch_related(Prefetch("grants", grants, to_attr=_SHOWN))

    @admin.display(description="roles")
    def roles(self, holder: ApiKey | User | Team) -> SafeString | None:
        """Each role with its scope, and its name in the API as a tooltip."""
        titled_roles = ((grant.role, role_words(grant)) for grant in getattr(holder, _SHOWN))
        return format_html_join(", ", '<span title="{}">{}</span>', titled_roles) or None


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
