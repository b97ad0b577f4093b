"""Teams in the console."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.access import WRITE_ORG
from accesslist.admin.roles import WithRoles, holders
from accesslist.forms.users import TeamChangeForm, TeamForm
from accesslist.models import Team
from accesslist.rules.usernames import username_key
from accesslist.selectors.users import visible_users_of
from accesslist.serializers.organizations import members_named
from accesslist.services.locks import actor_lock_in_turn
from accesslist.services.teams import team_create, team_delete, team_update
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.display import link, short_field, urls_seen
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import Section
from opsapi.roles import Scope


def _create(call: ActionCall) -> ActionOutcome:
    values = dict(call.values)
    members = members_named(values.pop("usernames"))
    team = team_create(
        org_id=values.pop("org_id"),
        values=values,
        members=members,
        seen_in=visible_users_of(call.operator.grants),
        actor=call.actor,
        now=call.now,
    )
    return ActionOutcome(row=team)


def _change(call: ActionCall) -> None:
    actor_lock_in_turn(call.actor)
    changes = dict(call.values)
    come, gone = changes.pop("come"), {username_key(name) for name in changes.pop("go")}
    members = call.row.members.order_by("username_key").values_list("username", flat=True)
    staying = [name for name in members if username_key(name) not in gone]
    team_update(
        team_id=call.row.id,
        org_id=call.row.org_id,
        changes=changes,
        members=members_named(list(dict.fromkeys([*staying, *come]))),
        seen_in=visible_users_of(call.operator.grants),
        actor=call.actor,
        now=call.now,
    )


@admin.register(Team)
class TeamAdmin(WithRoles):
    """Teams with their roles in projects."""

    help = "how-to/use-the-console#access"
    section = Section.ACCESS
    icon = "groups"
    rank = 40
    in_any_scope = True
    add_action = Action(
        label="New team",
        done="Created",
        text="A team gives its members roles in projects and can receive alert notifications.",
        icon="group_add",
        run=_create,
        access=WRITE_ORG,
        form=TeamForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "change": Action(
            label="Change",
            done="Changed",
            text="Users you add become members of the organization. Users you remove from the team "
            "remain members of the organization.",
            icon="edit",
            run=_change,
            access=WRITE_ORG,
            form=TeamChangeForm,
        ),
        "delete": Action(
            label="Delete",
            done="Deleted",
            text="Revokes the team's roles in projects. Its members stay in the organization.",
            icon="delete",
            danger=True,
            run=lambda call: team_delete(
                team_id=call.row.id, org_id=call.row.org_id, actor=call.actor, now=call.now
            ),
            access=WRITE_ORG,
        ),
    }
    list_display = [short_field("name"), "org", "roles", "created"]
    list_filter = [("org", RelatedFilter)]
    list_select_related = ["org"]
    search_fields = ["name", "org__name", "id__exact"]
    ordering = ["created", "id"]
    fields = ["id", "name", "org", "people", "created"]
    empty_text = "No teams yet."

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Teams of the operator's organizations, and teams with roles that the operator can read."""
        return rows.filter(Q(org_id__in=visible_scope.org_ids) | Q(id__in=holders(visible_scope, "team_id")))

    def scope_of(self, row: Team) -> Scope:
        """The organization of the team."""
        return Scope(org_id=row.org_id)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Adds links to the members."""
        team = super().get_object(request, object_id, from_field)
        if team is not None:
            names = list(team.members.order_by("username_key").values_list("username", flat=True))
            visible_scope = operator_of(request).visible_scope()
            urls = urls_seen(self.admin_site, visible_scope, "accesslist.user", "username", names)
            team.people_shown = [link(urls[name], name) if name in urls else name for name in names]
        return team

    @admin.display(description="members")
    def people(self, team: Any) -> SafeString | None:
        """The members of the team."""
        return format_html_join(", ", "{}", ((member,) for member in team.people_shown)) or None
