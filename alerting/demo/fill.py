"""The whole demonstration, in one transaction."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from accesslist.services.keys import NewKey
from accesslist.services.users import NewUser, unauth_user_create
from alerting.demo.day import FIRST_REPORT, day_tell, follow
from alerting.demo.setting_up import people_make, places_make
from alerting.demo.watching import configs_make, integrations_make
from alerting.demo.world import World
from automation.services.watch import clocks_restart
from opsapi.api.principal import Actor, ActorKind

OWNER = "demo"
UNWATCHED = timedelta(days=1)
"""For so long silence does not count, unless another agent reports: those of the demonstration do not."""
_SET_UP = timedelta(days=21)


@dataclass(frozen=True, slots=True)
class Told:
    """What is shown this once: the password of each user, and the owner's key."""

    passwords: Mapping[str, str]
    key: NewKey | None


@transaction.atomic
def demo_fill(*, now: datetime) -> Told:
    """Tell the three weeks up to `now`, most of all the last day, in an installation that is empty."""
    password = secrets.token_urlsafe(12)
    started = now - _SET_UP
    new = NewUser(username=OWNER, password=password, first_name="Demo", last_name="Owner")
    user, key = unauth_user_create(new=new, access_list=(), remote_address=None, now=started)
    owner = Actor(ActorKind.USER, user.id, user.username, is_global_admin=True, remote_address="192.0.2.5")
    world = World(now=now.replace(microsecond=0), owner=owner)
    passwords = _set_up(world, started)
    day_tell(world)
    clocks_restart(now=now + UNWATCHED)
    return Told({OWNER: password, **passwords}, key)


def _set_up(world: World, started: datetime) -> Mapping[str, str]:
    """Before the agents report for the first time."""
    places_make(world, started)
    passwords = people_make(world, started)
    integrations_make(world, started + timedelta(minutes=20))
    configs_make(world, started + timedelta(minutes=40))
    follow(world.ago(FIRST_REPORT + 1))
    return passwords
