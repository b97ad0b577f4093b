"""The whole demonstration, in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from accesslist.models import User
from accesslist.rules.usernames import username_key
from accesslist.services.keys import NewKey
from alerting.choices import AlertStatus, NotificationStatus
from alerting.models import Alert, Notification
from automation.services.heartbeats import clocks_restart
from events.models import Signal
from opsapi.roles import Role
from tools.demo.timeline import OWNER, play_day, set_up
from tools.demo.world import World

UNWATCHED = timedelta(days=1)
"""Heartbeat timeouts are off for so long, unless another agent reports: these agents have stopped."""
_SET_UP = timedelta(days=21)


class AlreadyFilledError(Exception):
    """The demonstration is there."""


class WorkWaitsError(Exception):
    """The worker has work that the demonstration would mistake for its own."""


@dataclass(frozen=True, slots=True)
class FilledDemo:
    """What is shown only once: the password of each user, and the owner's key."""

    passwords: Mapping[str, str]
    key: NewKey


@transaction.atomic
def demo_fill(*, now: datetime) -> FilledDemo:
    """Add three weeks up to `now`, most of all the last day, to whatever is there.

    Raises:
        AlreadyFilledError, WorkWaitsError; ApiError, if a name of the demonstration is in use.
    """
    if User.objects.filter(username_key=username_key(OWNER)).exists():
        raise AlreadyFilledError
    _exclude_worker(now)
    world = World(now=now.replace(microsecond=0), moment=now - _SET_UP)
    world.add_user(OWNER, "Demo Owner", "192.0.2.5", Role.GLOBAL_OWNER)
    world.owner = world.actors[OWNER]
    key = world.add_key("Key of demo", "192.0.2.5", Role.GLOBAL_OWNER, [""])
    set_up(world)
    play_day(world)
    clocks_restart(now=now + UNWATCHED)
    return FilledDemo(world.passwords, key)


def _exclude_worker(now: datetime) -> None:
    """Lock out the worker until the transaction ends, because the demonstration acts at times in the past."""
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
