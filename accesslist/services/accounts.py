"""Passwords and sessions of users: users change their own, administrators reset passwords of others."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from accesslist.models import User
from accesslist.services.locks import actor_lock_in_turn
from accesslist.services.user_roles import user_lock
from accesslist.user_checks import check_password, check_resets
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import Grant


@transaction.atomic
def user_password_change(*, old_password: str, password: str, actor: Actor, now: datetime) -> User:
    """Change the actor's password; sessions that started with the old password end.

    Raises:
        ApiError: INVALID_ATTRIBUTE for a wrong `oldPassword`, WEAK_PASSWORD.
    """
    user = own_user_lock(actor)
    own_password_check(user, old_password, field="oldPassword")
    check_password(password, user)
    user.set_password(password)
    user.save(update_fields=["password"])
    user_event_record(event_type=EventType.USER_PASSWORD_CHANGED_AUDIT, user=user, actor=actor, now=now)
    return user


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


@transaction.atomic
def user_sessions_end(*, actor: Actor, now: datetime) -> User:
    """End the actor's sessions. A session that gets the new `get_session_auth_hash` stays."""
    user = own_user_lock(actor)
    sessions_end(user=user, now=now)
    user_event_record(event_type=EventType.USER_SESSIONS_ENDED_AUDIT, user=user, actor=actor, now=now)
    return user


def sessions_end(*, user: User, now: datetime) -> None:
    """End all sessions of the user, in the transaction of the caller, which records the event."""
    user.sessions_ended = now
    user.save(update_fields=["sessions_ended"])


def own_user_lock(actor: Actor) -> User:
    """Lock the actor's user until the transaction ends, and return it.

    Raises:
        ApiError: USER_NOT_FOUND, also if the actor is not a user.
    """
    return user_lock((actor.id or "") if actor.kind is ActorKind.USER else "")


def own_password_check(user: User, typed: str, *, field: str = "password") -> None:
    """Refuse a wrong password of the user.

    Raises:
        ApiError: INVALID_ATTRIBUTE.
    """
    if not user.check_password(typed):
        raise refused(field, "Incorrect password.")


def user_event_record(
    *,
    event_type: EventType,
    user: User,
    actor: Actor,
    now: datetime,
    diffs: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Record an event about the user in the installation: users belong to no scope."""
    facts = EventFacts(target_username=user.username)
    event_record(event_type=event_type, actor=actor, now=now, facts=facts, diffs=diffs)


def refused(field: str, message: str) -> ApiError:
    """Return the error for a refused field."""
    return ApiError.of_fields([BadField(field, ErrorCode.INVALID_ATTRIBUTE, message)])
