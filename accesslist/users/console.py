"""Users in the console: forms, actions and pages."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.access import WRITE_USERS
from accesslist.invitations.console import invite_button, may_invite, who_may_invite
from accesslist.locks import actor_lock_in_turn
from accesslist.login.changes import user_password_reset
from accesslist.login.console import (
    RESET_SECOND_FACTOR,
    NewPasswordForm,
    email_field,
    mobile_field,
    who_resets,
)
from accesslist.login.store import has_second_factor
from accesslist.roles.changes import grants_of, user_lock, user_roles_replace
from accesslist.roles.console import HeldRolesForm, RolesForm, WithRoles, as_asked, visible_users_in
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import ADMINISTRATORS, RoleRequest, administers
from accesslist.roles.store import orgs_of_groups, wire_roles
from accesslist.users.changes import NewUser, user_create, user_delete
from accesslist.users.models import User
from accesslist.users.resource import UserInput
from accesslist.users.store import visible_users, visible_users_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.display import Context, badge, link, urls_seen
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import line_field
from opsapi.console.widgets import Tone
from opsapi.roles import INSTALLATION, Role, satisfies


class UserForm(RolesForm, DocumentForm):
    """A new user. A user without roles cannot log in."""

    document = UserInput
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.USER_ALREADY_EXISTS: "username"}
    fieldsets = (
        ("", ("username", "password", "firstName", "lastName", "emailAddress", "mobileNumber")),
        *RolesForm.role_fieldsets,
    )

    username = line_field(254)
    password = forms.CharField(
        max_length=1000,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="An initial password. Give it to the user privately; the user has to change it after the "
        "first log-in. If you invite people instead, they choose their own.",
    )
    emailAddress = email_field()
    mobileNumber = mobile_field()

    def body(self) -> Mapping[str, Any]:
        """The request body with the selected roles."""
        roles = wire_roles(self.given())
        return {**super().body(), **({"roles": roles} if roles else {})}


class UserRolesForm(HeldRolesForm):
    """Change the roles of a user in scopes where the operator administers users."""

    def may_revoke(self, grant: RoleGrant) -> bool:
        """As PATCH of a user in the API."""
        scope = grant.scope
        orgs = {scope.group_id: scope.org_id} if scope.group_id and scope.org_id else {}
        return administers(self.operator.grants, grant.grant, orgs)


_CONTACTS = frozenset({"email_address", "mobile_number"})


def _create(call: ActionCall) -> ActionOutcome:
    new, by = NewUser(**call.values), call.operator.grants
    user = user_create(new=new, by=by, actor=call.actor, now=call.now)
    return ActionOutcome(row=user)


def _change_roles(call: ActionCall) -> None:
    actor_lock_in_turn(call.actor)
    by, revoked = call.operator.grants, call.values["revoked"]
    held = grants_of(user_lock(call.row.id))
    orgs = orgs_of_groups(held)
    kept = [grant for grant in held if administers(by, grant, orgs) and grant not in revoked]
    wanted = list(dict.fromkeys([*kept, *call.values["given"]]))
    user_roles_replace(
        user_id=call.row.id,
        roles=RoleRequest(as_asked(wanted), INSTALLATION, by),
        seen_in=visible_users_of(by),
        actor=call.actor,
        now=call.now,
    )


def _reset_password(call: ActionCall) -> ActionOutcome:
    user: User = call.row
    password, by = call.values["password"], call.operator.grants
    user_password_reset(user_id=user.id, password=password, by=by, actor=call.actor, now=call.now)
    return ActionOutcome(
        message=f"{user.username} can now log in with the new password, and then has to change it."
    )


_RESET_PASSWORD = Action(
    label="Set a new password",
    text="For a user who forgot their password. This ends their sessions; a second factor stays on. "
    "Verify who is asking, and send the new password privately.",
    run=_reset_password,
    access=who_resets,
    form=NewPasswordForm,
    icon="lock_reset",
    danger=True,
)


def _sees_guard(request: HttpRequest, user: User | None) -> bool:
    """The user, and operators who read everything or administer the user."""
    return user is None or operator_of(request).visible_scope().everything or _administers(request, user)


def _administers(request: HttpRequest, user: User) -> bool:
    """Whether the operator is this user or administers the user in some scope."""
    operator = operator_of(request)
    if operator.actor().id == user.id or satisfies(operator.grants, Role.GLOBAL_USER_ADMIN, INSTALLATION):
        return True
    orgs = orgs_of_groups(user.grants_held)
    return any(administers(operator.grants, grant, orgs) for grant in user.grants_held)


@admin.register(User)
class UserAdmin(WithRoles):
    """Users, without their password hashes."""

    help = "how-to/use-the-console#people--access"
    in_any_scope = True
    add_action = Action(
        label="New user",
        done="Created",
        text="A user without roles cannot log in and gets no alert notifications.",
        icon="person_add",
        run=_create,
        access=WRITE_USERS,
        form=UserForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "roles": Action(
            label="Change roles",
            done="Changed",
            text="Roles that you do not administer are not shown and do not change.",
            icon="badge",
            run=_change_roles,
            access=Access(Where.SOMEWHERE, ADMINISTRATORS),
            form=UserRolesForm,
        ),
        "reset_password": _RESET_PASSWORD,
        "reset_second_factor": RESET_SECOND_FACTOR,
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Removes the user from all projects, organizations and teams, and ends their sessions.",
            icon="person_remove",
            danger=True,
            run=lambda call: user_delete(
                user_id=call.row.id, by=call.operator.grants, actor=call.actor, now=call.now
            ),
            access=WRITE_USERS,
        ),
    }
    list_display = ["username", "first_name", "last_name", "registration", "roles"]
    list_filter = ["self_registered", "created"]
    palette_fields = ("username", "first_name", "last_name", "email_address")
    search_fields = ["username", "first_name", "last_name", "email_address", "id__exact"]
    ordering = ["username_key"]
    fields = [
        "id",
        "username",
        "first_name",
        "last_name",
        "email_address",
        "mobile_number",
        "teams_shown",
        "registration",
        "created",
    ]
    empty_text = "No users yet."

    def _shown_list_actions(self, request: HttpRequest) -> list[Context]:
        """Also Invite, which creates a user when the invitation is accepted."""
        actions = super()._shown_list_actions(request)
        return [*actions, invite_button()] if may_invite(request) else actions

    def list_note(self, request: HttpRequest) -> str:
        """Says who can invite, to operators who cannot."""
        return "" if may_invite(request) else who_may_invite()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Loads the teams of the users."""
        user = super().get_object(request, object_id, from_field)
        if user is not None:
            visible_scope = operator_of(request).visible_scope()
            teams = list(user.teams.order_by("name", "id"))
            urls = urls_seen(
                self.admin_site, visible_scope, "accesslist.team", "id", (team.id for team in teams)
            )
            user.teams_seen = [link(urls[team.id], team.name) for team in teams if team.id in urls]
        return user

    @admin.display(description="teams")
    def teams_shown(self, user: Any) -> SafeString | None:
        """The teams that the operator can see."""
        return format_html_join(", ", "{}", ((team,) for team in user.teams_seen)) or None

    @admin.display(description="registration")
    def registration(self, user: User) -> SafeString | None:
        """A user who registered without a key may not be the person the name suggests."""
        return badge("Registered itself", Tone.WARNING) if user.self_registered else None

    def get_search_fields(self, request: HttpRequest) -> Sequence[str]:
        """Only operators who see all e-mail addresses can search by them."""
        fields: Sequence[str] = super().get_search_fields(request)
        if satisfies(operator_of(request).grants, Role.GLOBAL_USER_ADMIN, INSTALLATION):
            return fields
        return [name for name in fields if name not in _CONTACTS]

    def get_list_display(self, request: HttpRequest) -> list[str]:
        """Only operators who read everything see the last log-in."""
        everything = operator_of(request).visible_scope().everything
        return [*super().get_list_display(request), *(["last_login"] if everything else [])]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Operators who only share an organization see no contact data and no security settings."""
        fields = list(super().get_fields(request, obj))
        if obj is not None and not _administers(request, obj):
            fields = [name for name in fields if name not in _CONTACTS]
        return (
            [*fields, "last_login", "second_factor", "password_state"]
            if _sees_guard(request, obj)
            else fields
        )

    @admin.display(description="second factor", boolean=True)
    def second_factor(self, user: User) -> bool:
        """Whether the user must enter a code of a second factor."""
        return has_second_factor(user.id)

    @admin.display(description="password")
    def password_state(self, user: User) -> str:
        """Whether the user must change the password."""
        if user.password_given:
            return "Somebody else set it. The user must change the password after the next log-in."
        return "The user chose it."

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Users of the operator's organizations."""
        return rows.filter(id__in=visible_users(visible_users_in(visible_scope)).values("id"))
