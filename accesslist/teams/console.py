"""Teams in the console: forms, actions and pages."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.access import WRITE_ORG
from accesslist.forms import ScopedForm, ScopeField, lines
from accesslist.locks import actor_lock_in_turn
from accesslist.roles.console import WithRoles, holders
from accesslist.teams.changes import team_create, team_delete, team_update
from accesslist.teams.models import Team
from accesslist.teams.resource import MOST_MEMBERS, TeamChange, TeamInput, members_named
from accesslist.users.rules import username_key
from accesslist.users.store import visible_users_of
from events.choices import DiffType
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.display import link, short_field, urls_seen
from opsapi.console.document_forms import DocumentForm
from opsapi.console.earlier import EVENT, RowInEvents
from opsapi.console.filters import RelatedFilter
from opsapi.roles import Scope


class _MembersForm(ScopedForm, DocumentForm):
    """A team's name and members."""

    field_order = ("org", "name", "usernames")

    usernames = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 6}),
        required=False,
        label="Members",
        help_text="One username per line.",
    )

    def clean_usernames(self) -> list[str]:
        """The names without duplicates."""
        names = lines(self.cleaned_data["usernames"])
        if len(names) > MOST_MEMBERS:
            raise ValidationError(f"A team can have at most {MOST_MEMBERS} members.")
        return names

    def body(self) -> Mapping[str, Any]:
        """The request body, including an empty list of members."""
        return {**super().body(), "usernames": self.cleaned_data["usernames"]}


class TeamForm(_MembersForm):
    """A new team."""

    document = TeamInput

    org = ScopeField(
        "org", label="Organization", help_text="Members of the team become members of this organization."
    )

    def scope(self) -> Scope:
        """The organization of the new team."""
        return Scope(org_id=self.cleaned_data["org"].id)

    @property
    def values(self) -> Mapping[str, Any]:
        """The request body and the organization."""
        return {**super().values, "org_id": self.cleaned_data["org"].id}


class TeamChangeForm(_MembersForm):
    """Change the name and members of a team.

    Only names that the operator added or removed change; members who joined since the page was loaded stay.
    """

    document = TeamChange
    from_address = frozenset({EVENT})
    members_then = forms.CharField(required=False, widget=forms.HiddenInput)

    def row_in_events(self) -> RowInEvents:
        """The events of members name the team too."""
        return replace(super().row_in_events(), kinds=frozenset({DiffType.USERS}), member_key="teamId")

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The members as lines: events have a list, or the only member who joined or left."""
        if "usernames" in values:
            return {"usernames": "\n".join(json.loads(values["usernames"] or "[]"))}
        if "username" in values and self.reverted is not None:
            changed = [*self.reverted.before.values(), *self.reverted.after.values()]
            others = _without(lines(self.stored()["usernames"]), changed)
            names = [*others, *filter(None, [values["username"]])]
            return {"usernames": "\n".join(sorted(names, key=username_key))}
        return values

    def label_in_events(self, name: str) -> str:
        """The members have one input."""
        return "Members" if name in {"username", "usernames"} else super().label_in_events(name)

    def stored(self) -> Mapping[str, Any]:
        """The stored values."""
        if not self.row:
            return {}
        names = "\n".join(self.row.members.order_by("username_key").values_list("username", flat=True))
        return {"name": self.row.name, "usernames": names, "members_then": names}

    @property
    def values(self) -> Mapping[str, Any]:
        """The changed columns, and `come` and `go`: the usernames to add and to remove."""
        then, typed = lines(self.cleaned_data["members_then"]), self.cleaned_data["usernames"]
        columns = {name: value for name, value in super().values.items() if name != "usernames"}
        return {**columns, "come": _without(typed, then), "go": _without(then, typed)}


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    """The names that are not among the others, case-insensitive."""
    left_out = {username_key(name) for name in others}
    return [name for name in names if username_key(name) not in left_out]


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

    help = "how-to/use-the-console#people--access"
    in_any_scope = True
    add_action = Action(
        label="New team",
        done="Created",
        text="A team gives its members roles in projects and can receive alert notifications. Roles are "
        "given on the page of each project.",
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
    palette_fields = ("name",)
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
