"""Users in the console."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet

from accesslist.admin.passwords import RESET_PASSWORD
from accesslist.admin.roles import WithRoles, orgs_seen
from accesslist.admin.second_factors import RESET_SECOND_FACTOR
from accesslist.forms.people import UserForm, UserRolesForm
from accesslist.forms.roles import as_asked
from accesslist.models import User
from accesslist.rules.administering import ADMINISTRATORS, administers
from accesslist.rules.granting import RoleRequest
from accesslist.selectors.second_factors import has_second_factor
from accesslist.selectors.users import organizations_of, orgs_of_groups, visible_user_rows
from accesslist.serializers.users import new_user
from accesslist.services.grants import grants_of
from accesslist.services.user_roles import user_roles_replace
from accesslist.services.users import user_create, user_delete
from accesslist.views.users import UserViewSet
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import Reach
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.model_admin import Section
from opsapi.roles import INSTALLATION


def _make(call: Call) -> Outcome:
    new, by = new_user(call.values), call.operator.grants
    user = user_create(new=new, by=by, actor=call.actor, now=call.now)
    return Outcome(message=f"User {user.username} was made.", row=user)


def _change_roles(call: Call) -> Outcome:
    by, taken = call.operator.grants, call.values["taken"]
    held = grants_of(call.row)
    orgs = orgs_of_groups(held)
    kept = [grant for grant in held if administers(by, grant, orgs) and grant not in taken]
    wanted = list(dict.fromkeys([*kept, *call.values["given"]]))
    user_roles_replace(
        user_id=call.row.id,
        roles=RoleRequest(as_asked(wanted), INSTALLATION, by),
        seen_in=organizations_of(by),
        actor=call.actor,
        now=call.now,
    )
    return Outcome(message=f"The roles of {call.row.username} are as chosen.")


def _delete(call: Call) -> Outcome:
    user_delete(user_id=call.row.id, by=call.operator.grants, actor=call.actor, now=call.now)
    return Outcome(message=f"User {call.row.username} was deleted.")


@admin.register(User)
class UserAdmin(WithRoles):
    """People, without their password hashes."""

    section = Section.ACCESS
    icon = "person"
    rank = 30
    add_action = Action(
        label="New user",
        text="Without a role they can neither log in nor be told of alerts.",
        icon="person_add",
        run=_make,
        access=UserViewSet.access["create"],
        form=UserForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "roles": Action(
            label="Change roles",
            text="Roles where you administer no users are not shown, and stay.",
            icon="badge",
            run=_change_roles,
            access=Access(Where.ANY_KEY, ADMINISTRATORS),
            form=UserRolesForm,
        ),
        "reset_password": RESET_PASSWORD,
        "reset_second_factor": RESET_SECOND_FACTOR,
        "delete": Action(
            label="Delete user",
            text="They leave every project, organization and team, and their sessions end.",
            icon="person_remove",
            danger=True,
            run=_delete,
            access=UserViewSet.access["destroy"],
        ),
    }
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
        "second_factor",
    ]
    empty_text = "No user yet."

    @admin.display(description="second factor", boolean=True)
    def second_factor(self, user: User) -> bool:
        """Whether they are asked for one."""
        return has_second_factor(user.id)

    def visible(self, rows: QuerySet[Any], reach: Reach) -> QuerySet[Any]:
        """Those who share an organization with one (decisions 2, row "/users")."""
        if reach.everything:
            return rows
        return rows.filter(id__in=visible_user_rows(orgs_seen(reach)).values("id"))

    def is_shown_to(self, reach: Reach) -> bool:
        """Everybody sees at least themselves."""
        return bool(reach)
