"""Using up codes of a second factor: each counts once, however many requests bring it at a time."""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import F, Func, Value

from accesslist.models import SecondFactor
from accesslist.rules.second_factor import CodeFault, is_timed, recovery_hash, step_of
from accesslist.selectors.second_factors import secret_of
from accesslist.services.own_accounts import refused, user_event_record
from events.choices import DiffType
from events.diffs import diff
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError

logger = logging.getLogger("opsapi.authentication")


@transaction.atomic
def second_factor_use(*, user_id: str, code: str, actor: Actor, now: datetime) -> SecondFactor:
    """Use up a code by time, or a recovery code, of the user's second factor, which it answers.

    Raises:
        ApiError: INVALID_ATTRIBUTE: the code is not right or was used, or there is no second factor.
    """
    rows = SecondFactor.objects.select_related("user")
    factor = rows.filter(user_id=user_id, confirmed__isnull=False).first()
    if factor is None:
        raise refused("code", "You have no second factor.")
    if is_timed(code):
        timed_code_use(factor=factor, code=code, now=now)
    else:
        _use_recovery_code(factor, code, actor, now)
    return factor


def timed_code_use(*, factor: SecondFactor, code: str, now: datetime) -> None:
    """Use up a code by time. The row says whether one as late was used since the factor was read.

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
