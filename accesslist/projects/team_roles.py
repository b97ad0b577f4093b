"""The roles of teams in a project: the forms and actions on the project's page, and the list of its teams."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from accesslist.access import WRITE_PROJECT_ACCESS
from accesslist.forms import RolesField, ScopedForm, ScopeField
from accesslist.locks import actor_lock_in_turn
from accesslist.projects.models import Project
from accesslist.roles.changes import grants_of
from accesslist.teams.changes import group_team_update, group_teams_add
from accesslist.teams.models import Team
from accesslist.teams.resource import AskedTeam
from accesslist.teams.store import teams_in
from events.choices import DiffType
from opsapi.api.catalogue import ErrorCode
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import action_url, page_url
from opsapi.console.display import Context
from opsapi.console.earlier import EVENT, RevertedChange, RevertingForm, RowInEvents
from opsapi.first_rows import first_rows
from opsapi.roles import ROLE_WORDS, Role, Scope, role_names

ADD, CHANGE, REMOVE = "add-team", "team-roles", "remove-team"
"""The names of the actions. The forms of CHANGE and REMOVE are of the team that the URL names."""
TEAM = "team"
"""The parameter of the URL that names the team."""
MOST_TEAMS = 100
"""The most teams that the page of a project lists."""
_GROUP_ROLES = [role for role in Role if role.is_group]


class AddTeamForm(ScopedForm):
    """A team that has no role in the project (the row) yet, and its roles."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.ROLE_NOT_HELD: "roles"}

    team = ScopeField(TEAM, help_text="A team of the project's organization.")
    roles = RolesField(_GROUP_ROLES, label="Roles in the project")

    def clean_team(self) -> Team:
        """A team that has a role in the project keeps its roles: they are changed elsewhere."""
        team: Team = self.cleaned_data["team"]
        if held := _held(self.row, team):
            raise ValidationError(
                f"{team.name} has roles in the project already: {role_names(held, conjunction='and')}. "
                "Change them on the page of the project."
            )
        return team

    @property
    def values(self) -> Mapping[str, Any]:
        """The team, and `given` and `revoked`: the roles to grant and to revoke."""
        return {"team": self.cleaned_data["team"], "given": self.cleaned_data["roles"], "revoked": ()}


class _TeamOfProjectForm(ScopedForm):
    """A form about the team that the URL names, and a project (the row)."""

    from_address = frozenset({TEAM})
    fields_template = "console/team_of_project.html"

    team = forms.CharField(required=False, widget=forms.HiddenInput)
    no_team = "The organization of the project has no such team. Choose a team on the page of the project."

    def team_row(self) -> Team | None:
        """The team of the project's organization; None if it is deleted or of another organization."""
        team_id = self.data.get(TEAM) if self.is_bound else self.initial.get(TEAM)
        return _team_of(self.row, team_id)

    def clean_team(self) -> Team:
        """The team; the operator cannot choose another one here."""
        team = _team_of(self.row, self.cleaned_data[TEAM])
        if team is None:
            raise ValidationError(self.no_team)
        return team


class TeamRolesForm(RevertingForm, _TeamOfProjectForm):
    """The roles of a team in the project; without roles, the team leaves the project.

    Only roles that the operator selects or clears change; roles granted since the page was loaded stay. A
    form that reverts a change clears the roles that the change granted, and selects the roles that it
    revoked.
    """

    from_address = frozenset({EVENT, TEAM})
    kinds_in_events = frozenset({DiffType.ROLES})
    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.ROLE_NOT_HELD: "roles",
        ErrorCode.TEAM_NOT_FOUND: "roles",
    }

    roles = RolesField(
        _GROUP_ROLES,
        required=False,
        label="Roles in the project",
        help_text="Clear all checkboxes to remove the team from the project.",
    )
    offered_then = forms.Field(required=False, widget=forms.MultipleHiddenInput)
    """The roles that the form offered as selected: roles granted since then stay."""
    _team_id = ""
    _granting: Sequence[Role] = ()
    _revoking: Sequence[Role] = ()

    def filled_in(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The roles of the team that the URL names, or the roles before the change of an event."""
        self._team_id = str(given.get(TEAM, ""))
        values = super().filled_in(given)
        if self.reverted is None:
            return values
        held, before, after = self._held_roles(), *_sides(self.reverted)
        self._granting = [role for role in before if role not in after and role not in held]
        self._revoking = [role for role in after if role not in before and role in held]
        kept = [role for role in held if role not in self._revoking]
        return {**values, "roles": _wire([*kept, *self._granting]), "offered_then": _wire(held)}

    def _held_roles(self) -> list[Role]:
        team = _team_of(self.row, self._team_id)
        return _held(self.row, team) if team else []

    def stored(self) -> Mapping[str, Any]:
        """The current roles."""
        held = _wire(self._held_roles()) if self.row else []
        return {"roles": held, "offered_then": held}

    def row_in_events(self) -> RowInEvents:
        """Events of the project name the team."""
        return RowInEvents(name=self._team_id, group_id=self.row.id, kinds=self.kinds_in_events)

    def as_stored(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Events have the roles in the order in which they were granted."""
        return {"roles": _wire(_known(values["roleNames"] or ()))} if "roleNames" in values else values

    def label_in_events(self, name: str) -> str:
        """The name of the field in events."""
        return "Roles" if name == "roleNames" else super().label_in_events(name)

    def reverted_fields(self) -> Sequence[str]:
        """The roles that the form grants and revokes: the operator reads them before the form is sent."""
        changes = [
            *(f"grants {ROLE_WORDS[role].name}" for role in self._granting),
            *(f"revokes {ROLE_WORDS[role].name}" for role in self._revoking),
        ]
        return [f"Roles ({', '.join(changes)})"] if changes else []

    @property
    def values(self) -> Mapping[str, Any]:
        """See `AddTeamForm.values`."""
        roles, then = self.cleaned_data["roles"], _known(self.cleaned_data["offered_then"] or ())
        given = [role for role in roles if role not in then]
        revoked = [role for role in then if role not in roles]
        return {"team": self.cleaned_data["team"], "given": given, "revoked": revoked}


class RemoveTeamForm(_TeamOfProjectForm):
    """Asks whether the team leaves the project."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {ErrorCode.TEAM_NOT_FOUND: "team"}


def _team_of(project: Project, team_id: object) -> Team | None:
    return Team.objects.filter(org_id=project.org_id, id=str(team_id or "")).first()


def _held(project: Project, team: Team) -> list[Role]:
    """The roles of the team in the project, oldest first."""
    return [grant.role for grant in grants_of(team, Scope(group_id=project.id))]


def _known(names: Collection[str]) -> list[Role]:
    """The roles of these names; an event may have names that this version does not know."""
    return [Role(name) for name in names if name in set(Role)]


def _wire(roles: Collection[Role]) -> list[str]:
    """The names of the roles, in the order of the form."""
    return [role.value for role in _GROUP_ROLES if role in roles]


def _sides(change: RevertedChange) -> tuple[list[Role], list[Role]]:
    """The roles before and after a change."""
    before, after = (
        _known(json.loads(side.get("roleNames") or "[]")) for side in (change.before, change.after)
    )
    return before, after


def _give_and_revoke(call: ActionCall) -> ActionOutcome:
    # Before the roles are read: of two changes at once, the second sees the first.
    actor_lock_in_turn(call.actor)
    project, team = call.row, call.values["team"]
    kept = [role for role in _held(project, team) if role not in call.values["revoked"]]
    wanted = list(dict.fromkeys([*kept, *call.values["given"]]))
    if not wanted:
        return _remove(call)
    group = call.operator.authorise_group(WRITE_PROJECT_ACCESS.roles, project.id)
    asked = [AskedTeam("team", team.id, wanted)]
    group_teams_add(group=group, asked=asked, by=call.operator.grants, actor=call.actor, now=call.now)
    held = role_names(wanted, conjunction="and")
    return ActionOutcome(message=f"In the project, the team {team.name} is now: {held}.")


def _remove(call: ActionCall) -> ActionOutcome:
    group = call.operator.authorise_group(WRITE_PROJECT_ACCESS.roles, call.row.id)
    team = call.values["team"]
    group_team_update(group=group, team_id=team.id, roles=(), actor=call.actor, now=call.now)
    return ActionOutcome(message=f"The team {team.name} no longer has roles in the project.")


TEAM_ACTIONS: Mapping[str, Action] = {
    ADD: Action(
        label="Add team",
        text="Each member of the team gets these roles in the project.",
        icon="group_add",
        run=_give_and_revoke,
        access=WRITE_PROJECT_ACCESS,
        form=AddTeamForm,
    ),
    CHANGE: Action(
        label="Change team roles",
        text="Each member of the team has these roles in the project.",
        button="Change roles",
        icon="groups",
        run=_give_and_revoke,
        access=WRITE_PROJECT_ACCESS,
        form=TeamRolesForm,
    ),
    REMOVE: Action(
        label="Remove team",
        text="Revokes all roles of the team in the project. Its members keep their own roles, and the roles "
        "of their other teams.",
        icon="person_remove",
        danger=True,
        run=_remove,
        access=WRITE_PROJECT_ACCESS,
        form=RemoveTeamForm,
    ),
}
"""The actions on the teams of a project (the row), by name."""
OF_A_TEAM = frozenset({CHANGE, REMOVE})
"""The actions that the list of teams offers, rather than the buttons of the page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamInProject:
    """A team in the list of a project; without URLs of forms if the operator may not change its roles."""

    name: str
    url: str
    roles: Sequence[Role]
    change_url: str = ""
    remove_url: str = ""

    @property
    def words(self) -> str:
        """The roles in words."""
        return ", ".join(ROLE_WORDS[role].name for role in self.roles)

    @property
    def names(self) -> str:
        """The names of the roles in the API."""
        return ", ".join(self.roles)


def teams_context(project: Project, *, may_change: bool) -> Context:
    """The list of the teams with roles in the project, for the template of its page."""
    first = first_rows(teams_in(project.id), most=MOST_TEAMS)
    teams = [_listed(project, team, may_change=may_change) for team in first.rows]
    return {"teams": teams, "more_teams": first.left_out_words, "may_change": may_change}


def _listed(project: Project, team: Any, *, may_change: bool) -> TeamInProject:
    def url(name: str) -> str:
        return action_url(Project, project.pk, name, **{TEAM: team.id}) if may_change else ""

    return TeamInProject(
        name=team.name,
        url=page_url(team),
        roles=_known(team.role_names),
        change_url=url(CHANGE),
        remove_url=url(REMOVE),
    )
