"""Passwords that were forgotten: another one is set by who administers users."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accesslist.models import User
from accesslist.services.locks import actor_lock_in_turn
from accesslist.services.own_accounts import refused, user_event_record
from accesslist.services.user_roles import user_lock
from accesslist.user_checks import check_password, check_resets
from events.types import EventType
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Grant


@transaction.atomic
def user_password_reset(
    *, user_id: str, password: str, by: Sequence[Grant], actor: Actor, now: datetime
) -> User:
    """Give somebody who forgot theirs another password, as a user admin may; their sessions end.

    A second factor stays: without its codes the password lets nobody in. `by` are the grants of the one
    who acts.

    Raises:
        ApiError: USER_NOT_FOUND; USER_UNAUTHORIZED, also for a user admin where the user holds a role that
            they do not: that takes a Global Owner; INVALID_ATTRIBUTE for one's own; WEAK_PASSWORD.
    """
    actor_lock_in_turn(actor)
    user = user_lock(user_id)
    check_resets(user, by)
    if actor.kind is ActorKind.USER and actor.id == user.id:
        raise refused("user", "change your own password on your account page")
    check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    user_event_record(event_type=EventType.USER_PASSWORD_RESET_AUDIT, user=user, actor=actor, now=now)
    return user
