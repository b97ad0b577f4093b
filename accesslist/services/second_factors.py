"""Second factors: set up, used at the login, removed, reset, given new recovery codes.

A code counts once, even if several requests send it at the same time. Changes lock the user first.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Func, Value

from accesslist.models import SecondFactor, User
from accesslist.rules.second_factor import (
    CodeFault,
    is_timed,
    new_recovery_codes,
    new_secret,
    recovery_hash,
    step_of,
)
from accesslist.selectors.second_factors import has_second_factor, secret_of
from accesslist.services.accounts import (
    own_password_check,
    own_user_lock,
    refused,
    sessions_end,
    user_event_record,
)
from accesslist.services.locks import actor_lock_in_turn
from accesslist.services.user_roles import user_lock
from accesslist.user_checks import check_resets
from events.choices import DiffType
from events.diffs import diff
from events.types import EventType
from opsapi.api.principal import Actor, ActorKind
from opsapi.encryption import CannotDecryptError, encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant

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


@transaction.atomic
def second_factor_reset(*, user_id: str, by: Sequence[Grant], actor: Actor, now: datetime) -> None:
    """Remove the lost second factor of a user, and end the user's sessions.

    `by`: the caller's grants.

    Raises:
        ApiError: USER_NOT_FOUND; USER_UNAUTHORIZED, also for a user admin if the user has a role that the
            admin does not have (a Global Owner is needed); INVALID_ATTRIBUTE for the caller's own second
            factor, and for a user without one.
    """
    actor_lock_in_turn(actor)
    user = user_lock(user_id)
    check_resets(user, by)
    if actor.kind is ActorKind.USER and actor.id == user.id:
        raise refused("user", "remove your own second factor on your account page")
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
    if not SecondFactor.objects.filter(id=factor.id, last_step__lt=step).update(last_step=step):
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
