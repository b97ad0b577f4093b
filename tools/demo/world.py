"""The objects of the demonstration by name, and the services that add to them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Any

from accesslist.access_lists.changes import access_list_entries_create
from accesslist.access_lists.rules import AccessList, ListWriter
from accesslist.keys.changes import NewKey, api_key_create
from accesslist.models import Organization, Project, User, username_forms
from accesslist.projects.changes import organization_create, project_create
from accesslist.teams.changes import group_teams_add, team_create
from accesslist.teams.resource import AskedMember, AskedTeam
from accesslist.users.changes import NewUser, user_create
from accesslist.users.checks import random_password
from accesslist.users.store import EVERYTHING, name_is_taken
from alerting.configs.changes import alert_config_create
from alerting.configs.resource import AlertConfigDocument, GlobalAlertConfigDocument
from alerting.incidents.changes import alert_acknowledge
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, AlertConfig
from alerting.windows.changes import window_create
from alerting.windows.resource import WindowDocument
from automation.desired_state.changes import automation_config_publish
from integrations.credentials.changes import integration_create
from integrations.credentials.resource import IntegrationDocument
from opsapi.api.principal import SYSTEM, Actor, ActorKind, Group
from opsapi.clock import wire_time
from opsapi.roles import Grant, Role

_ALL_ROLES = (Grant(Role.GLOBAL_OWNER),)


def place_names(name: str) -> Iterable[str]:
    """Names for a project or organization, the best first: `payments`, `demo payments`, `demo payments 2`…"""
    return chain((name, f"demo {name}"), (f"demo {name} {number}" for number in count(2)))


def user_names(name: str) -> Iterable[str]:
    """Names for a user, the best first: `lena@bank.example`, `lena-2@bank.example`…"""
    local, at, domain = name.partition("@")
    return chain((name,), (f"{local}-{number}{at}{domain}" for number in count(2)))


def _first_free(names: Iterable[str], is_taken: Callable[[str], bool]) -> str:
    return next(name for name in names if not is_taken(name))


@dataclass(slots=True)
class World:
    """`now` is the end of the day, `moment` the time of the next steps.

    `is_guest`: the installation has an owner, so the demonstration adds nothing that concerns all projects.

    Organizations, projects and teams are found by the name that they have in an empty installation, actors by
    such a user name or the description of the key, alert configurations by project and metric or event type.
    """

    now: datetime
    moment: datetime
    is_guest: bool = False
    actors: dict[str, Actor] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    orgs: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    teams: dict[str, str] = field(default_factory=dict)
    configs: dict[tuple[str | None, str], AlertConfig] = field(default_factory=dict)
    owner: Actor = SYSTEM

    def ago(self, minutes: float) -> datetime:
        """The time `minutes` before the end; a negative number is in the future."""
        return self.now - timedelta(minutes=minutes)

    def add_user(
        self, username: str, name: str, address: str, role: Role, places: Sequence[str] = ("",)
    ) -> None:
        """Create a user who has the role in each place."""
        first, last = name.split()
        known = username
        username = _first_free(user_names(known), lambda free: name_is_taken(username_forms(free)))
        named = User(username=username, first_name=first, last_name=last)
        password = self.passwords[username] = random_password(named)
        roles = [
            {"roleName": grant.role.value}
            | ({"orgId": grant.org_id} if grant.org_id else {})
            | ({"groupId": grant.group_id} if grant.group_id else {})
            for grant in self._grants(role, places)
        ]
        new = NewUser(username=username, password=password, first_name=first, last_name=last, roles=roles)
        user = user_create(new=new, by=_ALL_ROLES, actor=self.owner, now=self.moment)
        # The passwords are for the person who reads them, not for somebody else.
        User.objects.filter(id=user.id).update(password_given=False)
        self.actors[known] = Actor(
            ActorKind.USER,
            user.id,
            username,
            is_global_admin=role is Role.GLOBAL_OWNER,
            remote_address=address,
        )

    def add_key(
        self,
        desc: str,
        address: str,
        role: Role,
        places: Sequence[str],
        listed: Mapping[str, str] | None = None,
    ) -> NewKey:
        """Create a key, and its access list of ranges with descriptions."""
        grants = self._grants(role, places)
        new = api_key_create(values={"desc": desc}, grants=grants, actor=self.owner, now=self.moment)
        key = new.key
        self.actors[desc] = Actor(ActorKind.KEY, key.id, key.public_key, remote_address=address)
        access_list = AccessList(key_id=key.id, public_key=key.public_key, scope=grants[0].scope)
        entries = [{"cidr_block": block, "description": text} for block, text in (listed or {}).items()]
        access_list_entries_create(of=access_list, new=entries, by=ListWriter(self.owner), now=self.moment)
        return new

    def add_organization(self, name: str) -> None:
        named = Organization.objects.filter
        values = {"name": _first_free(place_names(name), lambda free: named(name=free).exists())}
        self.orgs[name] = organization_create(values=values, actor=self.owner, now=self.moment).id

    def add_project(self, name: str, org: str, tags: Sequence[str]) -> None:
        live = Project.objects.filter(deleted=None).filter
        free = _first_free(place_names(name), lambda free: live(name=free).exists())
        values = {"name": free, "org_id": self.orgs[org], "tags": list(tags)}
        project = project_create(values=values, owned_by_creator=False, actor=self.owner, now=self.moment)
        self.groups[name] = Group(project.id, free, self.orgs[org])

    def add_team(self, name: str, org: str, group: str, role: Role, usernames: Sequence[str]) -> None:
        """Create a team that has the role in a project."""
        members = [
            AskedMember(f"usernames[{index}]", username=self.actors[each].name)
            for index, each in enumerate(usernames)
        ]
        team = team_create(
            org_id=self.orgs[org],
            values={"name": name},
            members=members,
            seen_in=EVERYTHING,
            actor=self.owner,
            now=self.moment,
        )
        self.teams[name] = team.id
        asked = [AskedTeam("teamId", team.id, [role])]
        group_teams_add(
            group=self.groups[group], asked=asked, by=_ALL_ROLES, actor=self.owner, now=self.moment
        )

    def add_integration(self, by: str, group: str, name: str, document: Mapping[str, Any]) -> None:
        integration_create(
            group_id=self.groups[group].id,
            integration_type=name,
            values=IntegrationDocument(context={"type": name, "secrets": {}}).read(document),
            actor=self.actors[by],
            now=self.moment,
        )

    def add_config(
        self, by: str, group: str | None, event_type: str, *notifications: Mapping[str, Any], **more: Any
    ) -> None:
        """Create an alert configuration, without a project a global one."""
        group_id = self.groups[group].id if group else None
        schema = AlertConfigDocument if group_id else GlobalAlertConfigDocument
        document = {"eventTypeName": event_type, "notifications": [*notifications], **more}
        values = schema(context={"group_id": group_id}).read(document)
        config = alert_config_create(group_id=group_id, values=values, actor=self.actors[by], now=self.moment)
        self.configs[group, more.get("metricThreshold", {}).get("metricName", event_type)] = config

    def add_window(
        self, by: str, group: str, hours: tuple[int, int], categories: Sequence[str], text: str
    ) -> None:
        """Create a maintenance window; `hours` are its start and end in hours before the end of the day."""
        begin, end = (wire_time(self.ago(60 * each)) for each in hours)
        document = {"startDate": begin, "endDate": end, "alertTypeNames": [*categories], "description": text}
        values = WindowDocument().read(document)
        window_create(group_id=self.groups[group].id, values=values, actor=self.actors[by], now=self.moment)

    def acknowledge(self, by: str, group: str, label: str, hours: int, comment: str) -> None:
        """Acknowledge the open alert of a configuration until `hours` after the end of the day."""
        config = self.configs[group, label]
        alert = Alert.objects.filter(config_id=config.id, status=AlertStatus.OPEN.value).latest("created")
        alert_acknowledge(
            alert_id=alert.id,
            group_id=alert.group_id,
            until=self.ago(-60 * hours),
            comment=comment,
            actor=self.actors[by],
            now=self.moment,
        )

    def publish(self, by: str, group: str, document: Mapping[str, Any]) -> None:
        automation_config_publish(
            group_id=self.groups[group].id,
            sent=dict(document),
            if_match=None,
            dry_run=False,
            actor=self.actors[by],
            now=self.moment,
        )

    def _grants(self, role: Role, places: Sequence[str]) -> Sequence[Grant]:
        if role.is_global:
            return [Grant(role)]
        if role.is_org:
            return [Grant(role, org_id=self.orgs[each]) for each in places]
        return [Grant(role, group_id=self.groups[each].id) for each in places]
