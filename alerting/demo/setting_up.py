"""Organizations, projects, people, keys and access lists, made weeks before the day that is told."""

import secrets
from collections.abc import Mapping
from datetime import datetime

from accesslist.models import ApiKey
from accesslist.rules.listing import GLOBAL_LIST, AccessList, ListWriter, NewEntry
from accesslist.selectors.users import EVERYTHING
from accesslist.serializers.teams import AskedMember, AskedTeam
from accesslist.services.access_lists import access_list_entries_create
from accesslist.services.group_teams import group_teams_add
from accesslist.services.keys import api_key_create
from accesslist.services.organizations import organization_create
from accesslist.services.projects import project_create
from accesslist.services.teams import team_create
from accesslist.services.users import NewUser, user_create
from alerting.demo.tables.people import (
    AGENTS_ADDRESS,
    KEYS,
    LISTED,
    TEAMS,
    USERS,
    KeySpec,
    Places,
    TeamSpec,
    UserSpec,
    agents_key,
)
from alerting.demo.tables.places import ORGANIZATIONS, PROJECTS
from alerting.demo.world import ALL_ROLES, World
from opsapi.api.principal import Actor, ActorKind, Group
from opsapi.roles import Grant, Role

Passwords = Mapping[str, str]
"""By username."""


def places_make(world: World, now: datetime) -> None:
    """Make organizations and projects; each project gets its default configurations."""
    for name in ORGANIZATIONS:
        world.orgs[name] = organization_create(name=name, actor=world.owner, now=now).id
    for one in PROJECTS:
        org_id = world.orgs[one.org]
        values = {"name": one.name, "org_id": org_id, "tags": list(one.tags)}
        project = project_create(values=values, owned_by_maker=False, actor=world.owner, now=now)
        world.groups[one.name] = Group(project.id, project.name, org_id)


def people_make(world: World, now: datetime, *, listing: bool) -> Passwords:
    """Make users, teams, keys and their access lists; with `listing` the global access list too."""
    passwords = {one.username: secrets.token_urlsafe(12) for one in USERS}
    for user in USERS:
        world.actors[user.username] = _user_make(world, user, passwords[user.username], now)
    for team in TEAMS:
        _team_make(world, team, now)
    for key in KEYS:
        _key_make(world, key, now)
    for group in world.groups:
        _key_make(world, KeySpec(agents_key(group), Role.GROUP_AGENT, (group,), AGENTS_ADDRESS, {}), now)
    if listing:
        _list_make(world, GLOBAL_LIST, LISTED, now)
    return passwords


def _user_make(world: World, one: UserSpec, password: str, now: datetime) -> Actor:
    new = NewUser(
        username=one.username,
        password=password,
        first_name=one.first_name,
        last_name=one.last_name,
        roles=[_asked(grant) for grant in _grants(world, one.role, one.places)],
    )
    user = user_create(new=new, by=ALL_ROLES, actor=world.owner, now=now)
    return Actor(ActorKind.USER, user.id, user.username, remote_address=one.address)


def _team_make(world: World, one: TeamSpec, now: datetime) -> None:
    members = [AskedMember(f"usernames[{place}]", username=name) for place, name in enumerate(one.members)]
    team = team_create(
        org_id=world.orgs[one.org],
        name=one.name,
        members=members,
        seen_in=EVERYTHING,
        actor=world.owner,
        now=now,
    )
    world.teams[one.name] = team.id
    for group in one.groups:
        asked = [AskedTeam("teamId", team.id, [one.role])]
        group_teams_add(group=world.groups[group], asked=asked, by=ALL_ROLES, actor=world.owner, now=now)


def _key_make(world: World, one: KeySpec, now: datetime) -> None:
    """Its private part is told to nobody: whoever wants a key makes one."""
    grants = _grants(world, one.role, one.places)
    key = api_key_create(desc=one.desc, grants=grants, actor=world.owner, now=now).key
    world.actors[one.desc] = Actor(ActorKind.KEY, key.id, key.public_key, remote_address=one.address)
    _list_make(world, _list_of(key, grants), one.listed, now)


def _list_of(key: ApiKey, grants: list[Grant]) -> AccessList:
    return AccessList(key_id=key.id, public_key=key.public_key, place=grants[0].scope)


def _list_make(world: World, of: AccessList, listed: Mapping[str, str], now: datetime) -> None:
    new = [NewEntry(block, description) for block, description in listed.items()]
    access_list_entries_create(of=of, new=new, by=ListWriter(world.owner), now=now)


def _grants(world: World, role: Role, places: Places) -> list[Grant]:
    if role.is_global:
        return [Grant(role)]
    if role.is_org:
        return [Grant(role, org_id=world.orgs[place]) for place in places]
    return [Grant(role, group_id=world.groups[place].id) for place in places]


def _asked(grant: Grant) -> dict[str, str]:
    """As a body asks for it."""
    named = {"roleName": grant.role.value, "orgId": grant.org_id, "groupId": grant.group_id}
    return {name: value for name, value in named.items() if value is not None}
