"""The whole demonstration, in one transaction."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from accesslist.models import ApiKey, User, username_key
from accesslist.services.keys import NewKey, api_key_create
from accesslist.services.users import NewUser, user_create
from alerting.choices import AlertStatus, NotificationStatus
from alerting.demo.day import FIRST_REPORT, day_tell, follow
from alerting.demo.setting_up import people_make, places_make
from alerting.demo.watching import configs_make, integrations_make
from alerting.demo.world import ALL_ROLES, World
from alerting.models import Alert, Notification
from automation.services.watch import clocks_restart
from events.models import Signal
from opsapi.api.principal import SYSTEM, Actor, ActorKind
from opsapi.roles import Grant, Role

OWNER = "demo"
UNWATCHED = timedelta(days=1)
"""For so long silence does not count, unless another agent reports: those of the demonstration do not."""
_SET_UP = timedelta(days=21)


class AlreadyFilledError(Exception):
    """The demonstration is there."""


class WorkWaitsError(Exception):
    """The worker has something to do that the demonstration would take for its own."""


@dataclass(frozen=True, slots=True)
class Told:
    """What is shown only once: the password of each user, and the owner's key."""

    passwords: Mapping[str, str]
    key: NewKey


@transaction.atomic
def demo_fill(*, now: datetime) -> Told:
    """Tell the three weeks up to `now`, most of all the last day, next to whatever is there.

    Raises:
        AlreadyFilledError, WorkWaitsError; ApiError, when a name of the demonstration is in use.
    """
    if User.objects.filter(username_key=username_key(OWNER)).exists():
        raise AlreadyFilledError
    _hold_the_worker(now)
    # It would keep out keys that are used from elsewhere.
    listing = not ApiKey.objects.exists()
    password = secrets.token_urlsafe(12)
    started = now - _SET_UP
    owner, key = _owner_make(password, started)
    world = World(now=now.replace(microsecond=0), owner=owner)
    passwords = _set_up(world, started, listing=listing)
    day_tell(world)
    clocks_restart(now=now + UNWATCHED)
    return Told({OWNER: password, **passwords}, key)


def _hold_the_worker(now: datetime) -> None:
    """Until the transaction ends, signals and notifications are only ours: we act at times long past."""
    tables = ", ".join(connection.ops.quote_name(model._meta.db_table) for model in (Signal, Notification))
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE")
    waiting = (
        Signal.objects.filter(failed=None),
        Alert.objects.filter(status=AlertStatus.TRACKING.value, opens__lte=now),
        Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=now),
    )
    if any(rows.exists() for rows in waiting):
        raise WorkWaitsError


def _owner_make(password: str, now: datetime) -> tuple[Actor, NewKey]:
    role = {"roleName": Role.GLOBAL_OWNER.value}
    new = NewUser(username=OWNER, password=password, first_name="Demo", last_name="Owner", roles=[role])
    user = user_create(new=new, by=ALL_ROLES, actor=SYSTEM, now=now)
    owner = Actor(ActorKind.USER, user.id, user.username, is_global_admin=True, remote_address="192.0.2.5")
    key = api_key_create(desc="Key of demo", grants=[Grant(Role.GLOBAL_OWNER)], actor=owner, now=now)
    return owner, key


def _set_up(world: World, started: datetime, *, listing: bool) -> Mapping[str, str]:
    """Before the agents report for the first time."""
    places_make(world, started)
    passwords = people_make(world, started, listing=listing)
    integrations_make(world, started + timedelta(minutes=20))
    configs_make(world, started + timedelta(minutes=40))
    follow(world.ago(FIRST_REPORT + 1))
    return passwords
