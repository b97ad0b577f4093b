"""Organizations, projects, users and keys."""

from dataclasses import dataclass
from typing import Any

import factory

from accesslist.digest import rules as digest
from accesslist.models import (
    AccessListEntry,
    ApiKey,
    Organization,
    Project,
    RoleGrant,
    Team,
    User,
    username_forms,
)
from opsapi import clock
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant, Role

PASSWORD = "a long enough passphrase"


class OrganizationFactory(factory.django.DjangoModelFactory):
    """An organization."""

    class Meta:
        model = Organization

    name = factory.Sequence(lambda number: f"org {number}")
    created = factory.LazyFunction(clock.now)


class ProjectFactory(factory.django.DjangoModelFactory):
    """A project in an organization of its own."""

    class Meta:
        model = Project

    name = factory.Sequence(lambda number: f"project {number}")
    org = factory.SubFactory(OrganizationFactory)
    created = factory.LazyFunction(clock.now)


class UserFactory(factory.django.DjangoModelFactory):
    """A user with PASSWORD and no roles."""

    class Meta:
        model = User

    username = factory.Sequence(lambda number: f"user{number}")
    username_key = factory.LazyAttribute(lambda user: username_forms(user.username)["username_key"])
    username_skeleton = factory.LazyAttribute(lambda user: username_forms(user.username)["username_skeleton"])
    username_key_skeleton = factory.LazyAttribute(
        lambda user: username_forms(user.username)["username_key_skeleton"]
    )
    first_name = "Ada"
    last_name = "Lovelace"
    password = factory.django.Password(PASSWORD)
    created = factory.LazyFunction(clock.now)


def make_team(project: Project, *members: User, team_id: str | None = None) -> Team:
    """A team of the project's organization, with GROUP_READ_ONLY in the project."""
    name = f"team of {project.name}"
    team = Team.objects.create(id=team_id or new_id(), org_id=project.org_id, name=name, created=clock.now())
    RoleGrant.objects.create(role=Role.GROUP_READ_ONLY.value, team=team, project=project)
    team.members.add(*members)
    return team


@dataclass(frozen=True)
class KeyPair:
    """A key as a client holds it."""

    id: str
    public_key: str
    private_key: str


_made = iter(range(10**6))


def make_key(*grants: Grant | Role) -> KeyPair:
    """A key with these roles; a bare role is a global one."""
    key_id, public_key, private_key = new_id(), f"k{next(_made):05}", "11111111-2222-3333-444444444444"
    ApiKey.objects.create(
        id=key_id,
        desc="test key",
        public_key=public_key,
        ha1=encrypt(digest.ha1(public_key, digest.REALM, private_key), owner=key_id),
        private_last4=private_key[-4:],
        created=clock.now(),
    )
    for grant in (Grant(grant) if isinstance(grant, Role) else grant for grant in grants):
        RoleGrant.objects.create(
            role=grant.role.value, api_key_id=key_id, org_id=grant.org_id, project_id=grant.group_id
        )
    return KeyPair(key_id, public_key, private_key)


def make_entry(cidr_block: str, key_id: str | None = None, **changes: Any) -> AccessListEntry:
    """An entry of the key's access list, or of the global one."""
    now = clock.now()
    values = {"cidr_block": cidr_block, "api_key_id": key_id, "created": now, "updated": now}
    return AccessListEntry.objects.create(**(values | changes))
