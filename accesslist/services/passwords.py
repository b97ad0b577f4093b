"""Resets forgotten passwords."""

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
    """Set a new password for a user, and end the user's sessions. A second factor stays on.

    `by`: the caller's grants.

    Raises:
        ApiError: USER_NOT_FOUND; USER_UNAUTHORIZED, also for a user admin if the user has a role that the
            admin does not have (a Global Owner is needed); INVALID_ATTRIBUTE for the caller's own password;
            WEAK_PASSWORD.
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
