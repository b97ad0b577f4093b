"""The log-in of users: passwords, sessions, second factors."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Func, Q, Value

from accesslist.changes import acting
from accesslist.login.models import SecondFactor
from accesslist.login.rules import CodeFault, is_timed, new_recovery_codes, new_secret, recovery_hash, step_of
from accesslist.login.store import has_second_factor, secret_of
from accesslist.roles.changes import user_lock
from accesslist.users.checks import check_password, check_resets
from accesslist.users.models import User
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.encryption import CannotDecryptError, encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant


@transaction.atomic
def user_password_change(*, old_password: str, password: str, actor: Actor, now: datetime) -> User:
    """Change the actor's password; sessions that started with the old password end.

    Raises:
        ApiError: INVALID_ATTRIBUTE for a wrong `oldPassword`, and for a `password` that somebody else gave to
            the user; WEAK_PASSWORD.
    """
    user = own_user_lock(actor)
    own_password_check(user, old_password, field="oldPassword")
    if user.password_given and password == old_password:
        raise refused("password", "Choose a password that only you know.")
    check_password(password, user)
    user.set_password(password)
    user.password_given = False
    user.save(update_fields=["password", "password_given"])
    user_event_record(event_type=EventType.USER_PASSWORD_CHANGED_AUDIT, user=user, actor=actor, now=now)
    return user


def user_password_reset(
    *, user_id: str, password: str, by: Sequence[Grant], actor: Actor, now: datetime
) -> User:
    """Set a new password for a user, and end the user's sessions. A second factor stays on.

    The user must change the password after the next log-in.

    `by`: the caller's grants.

    Raises:
        ApiError: USER_NOT_FOUND; USER_UNAUTHORIZED, also for a user admin if the user has a role that the
            admin does not have (a Global owner is needed); INVALID_ATTRIBUTE for the caller's own password;
            WEAK_PASSWORD.
    """
    with acting(actor, now, ends=()):
        user = _resettable(user_id, by, actor, "change your own password on your account page")
        check_password(password, user)
        user.set_password(password)
        user.password_given = True
        user.save(update_fields=["password", "password_given"])
        user_event_record(event_type=EventType.USER_PASSWORD_RESET_AUDIT, user=user, actor=actor, now=now)
        return user


@transaction.atomic
def user_sessions_end(*, actor: Actor, now: datetime) -> User:
    """End the actor's sessions. A session that gets the new `get_session_auth_hash` stays."""
    user = own_user_lock(actor)
    sessions_end(user=user, now=now)
    user_event_record(event_type=EventType.USER_SESSIONS_ENDED_AUDIT, user=user, actor=actor, now=now)
    return user


@transaction.atomic
def user_time_zone_set(*, time_zone: str, actor: Actor, now: datetime) -> None:
    """Set the zone in which the console shows times to the actor; empty for the zone of the browser.

    The same zone again changes nothing.
    """
    user = own_user_lock(actor)
    if user.time_zone == time_zone:
        return
    old, user.time_zone = user.time_zone, time_zone
    user.save(update_fields=["time_zone"])
    user_event_record(
        event_type=EventType.USER_CHANGED_AUDIT,
        user=user,
        actor=actor,
        now=now,
        diffs=diff(DiffType.USERS, user.id, old={"timeZone": old}, new={"timeZone": time_zone}),
    )


def _resettable(user_id: str, by: Sequence[Grant], actor: Actor, own: str) -> User:
    """Lock the user, whose log-in the caller may reset. `own`: the refusal for the actor's own log-in."""
    user = user_lock(user_id)
    check_resets(user, by)
    if actor.kind is ActorKind.USER and actor.id == user.id:
        raise refused("user", own)
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
    return ApiError.of_field(field, ErrorCode.INVALID_ATTRIBUTE, message)


logger = logging.getLogger("opsapi.authentication")

SETUP_LASTS = timedelta(hours=1)
"""The time for the first code after the password; until then, the page shows the secret."""
_WITHOUT, _WITH = {"secondFactor": False}, {"secondFactor": True}


@transaction.atomic
def second_factor_begin(*, password: str, actor: Actor, now: datetime) -> SecondFactor:
    """Create a secret for the actor, which has no effect until `second_factor_confirm`.

    Raises:
        ApiError: INVALID_ATTRIBUTE: the password is wrong, or the actor has a second factor already.
    """
    user = own_user_lock(actor)
    own_password_check(user, password)
    if has_second_factor(user.id):
        raise refused("password", "You already have a second factor. Remove it first.")
    SecondFactor.objects.filter(user=user).delete()
    factor_id = new_id()
    encrypted = encrypt(new_secret(), owner=factor_id)
    factor = SecondFactor.objects.create(id=factor_id, user=user, secret=encrypted, created=now)
    user_event_record(event_type=EventType.USER_SECOND_FACTOR_BEGUN_AUDIT, user=user, actor=actor, now=now)
    return factor


@transaction.atomic
def second_factor_confirm(*, code: str, actor: Actor, now: datetime) -> list[str]:
    """Turn the second factor on with its first code; return the recovery codes, which can be shown only now.

    The user's sessions end, because they started without the second factor.

    Raises:
        ApiError: INVALID_ATTRIBUTE: the code is wrong, or no setup is in progress.
    """
    user = own_user_lock(actor)
    factor = SecondFactor.objects.filter(user=user, confirmed=None).first()
    if factor is None:
        raise refused("code", "You have not started to set up a second factor.")
    if factor.created + SETUP_LASTS <= now:
        raise refused("code", "The setup has expired. Go back and start again.")
    _use_timed_code(factor=factor, code=code, now=now)
    codes = _keep_recovery_codes(factor, confirmed=now)
    sessions_end(user=user, now=now)
    user_event_record(
        event_type=EventType.USER_SECOND_FACTOR_ADDED_AUDIT,
        user=user,
        actor=actor,
        now=now,
        diffs=diff(DiffType.USERS, user.id, old=_WITHOUT, new=_WITH),
    )
    return codes


@transaction.atomic
def second_factor_use(*, user_id: str, code: str, actor: Actor, now: datetime) -> SecondFactor:
    """Use up a timed code or a recovery code of the user's second factor, and return the second factor.

    Raises:
        ApiError: INVALID_ATTRIBUTE: the code is wrong or was used, or the user has no second factor.
    """
    rows = SecondFactor.objects.select_related("user")
    factor = rows.filter(user_id=user_id, confirmed__isnull=False).first()
    if factor is None:
        raise refused("code", "You have no second factor.")
    if is_timed(code):
        _use_timed_code(factor=factor, code=code, now=now)
    else:
        _use_recovery_code(factor, code, actor, now)
    return factor


@transaction.atomic
def recovery_codes_renew(*, code: str, actor: Actor, now: datetime) -> list[str]:
    """Replace the recovery codes; return the new codes, which can be shown only now.

    Raises:
        ApiError: as `second_factor_use`.
    """
    user = own_user_lock(actor)
    factor = second_factor_use(user_id=user.id, code=code, actor=actor, now=now)
    codes = _keep_recovery_codes(factor)
    user_event_record(event_type=EventType.USER_RECOVERY_CODES_MADE_AUDIT, user=user, actor=actor, now=now)
    return codes


@transaction.atomic
def second_factor_remove(*, code: str, actor: Actor, now: datetime) -> None:
    """Remove the actor's second factor.

    Raises:
        ApiError: as `second_factor_use`.
    """
    user = own_user_lock(actor)
    second_factor_use(user_id=user.id, code=code, actor=actor, now=now)
    _remove(user, actor, now)


def second_factor_reset(*, user_id: str, by: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Remove the lost second factor of a user, and end the user's sessions.

    `by`: the caller's grants.

    Raises:
        ApiError: USER_NOT_FOUND; USER_UNAUTHORIZED, also for a user admin if the user has a role that the
            admin does not have (a Global owner is needed); INVALID_ATTRIBUTE for the caller's own second
            factor, and for a user without one.
    """
    with acting(actor, now, ends=()):
        user = _resettable(user_id, by, actor, "remove your own second factor on your account page")
        if not has_second_factor(user.id):
            raise refused("user", f"{user.username} has no second factor")
        sessions_end(user=user, now=now)
        _remove(user, actor, now)


def _keep_recovery_codes(factor: SecondFactor, **changes: Any) -> list[str]:
    codes = new_recovery_codes()
    hashes = [recovery_hash(code, owner=factor.id) for code in codes]
    SecondFactor.objects.filter(id=factor.id).update(recovery_hashes=hashes, **changes)
    return codes


def _remove(user: User, actor: Actor, now: datetime) -> None:
    SecondFactor.objects.filter(user=user).delete()
    user_event_record(
        event_type=EventType.USER_SECOND_FACTOR_REMOVED_AUDIT,
        user=user,
        actor=actor,
        now=now,
        diffs=diff(DiffType.USERS, user.id, old=_WITH, new=_WITHOUT),
    )


def _use_timed_code(*, factor: SecondFactor, code: str, now: datetime) -> None:
    """Use up a timed code. The update checks again that no later code was used in the meantime.

    Raises:
        ApiError: as `second_factor_use`.
    """
    try:
        secret = secret_of(factor)
    except CannotDecryptError as error:
        logger.error("the second factor of %s cannot be checked: %s", factor.user.username, error)
        raise refused("code", CodeFault.UNREADABLE.value) from None
    step = step_of(code, secret=secret, last_step=factor.last_step, now=now)
    if isinstance(step, CodeFault):
        raise refused("code", step.value)
    # The last step is later if it was used while a clock was wrong.
    unused = SecondFactor.objects.filter(Q(last_step__lt=step) | Q(last_step=factor.last_step), id=factor.id)
    if not unused.update(last_step=step):
        raise refused("code", CodeFault.USED.value)


def _use_recovery_code(factor: SecondFactor, code: str, actor: Actor, now: datetime) -> None:
    used = recovery_hash(code, owner=factor.id)
    without = Func(F("recovery_hashes"), Value(used), function="array_remove")
    rows = SecondFactor.objects.filter(id=factor.id, recovery_hashes__contains=[used])
    if not rows.update(recovery_hashes=without):
        raise refused("code", CodeFault.WRONG.value)
    factor.refresh_from_db(fields=["recovery_hashes"])
    left = len(factor.recovery_hashes)
    user_event_record(
        event_type=EventType.USER_RECOVERY_CODE_USED_AUDIT,
        user=factor.user,
        actor=actor,
        now=now,
        diffs=diff(
            DiffType.USERS, factor.user_id, old={"recoveryCodes": left + 1}, new={"recoveryCodes": left}
        ),
    )
