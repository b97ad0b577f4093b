"""Second factors, and the codes that their owner's authenticator shows."""

from datetime import datetime, timedelta

import pyotp

from accesslist.login.changes import second_factor_begin, second_factor_confirm
from accesslist.login.store import secret_of
from accesslist.models import User
from opsapi.api.principal import Actor, ActorKind
from tests.factories.accesslist import PASSWORD

STEP = timedelta(seconds=30)


def acting(user: User) -> Actor:
    """The user as one who acts on their own account."""
    return Actor(ActorKind.USER, user.id, user.username, False, "192.0.2.1")


def code_at(secret: str, now: datetime) -> str:
    """What the authenticator shows at that time."""
    return pyotp.TOTP(secret).at(now)


def begin_second_factor(user: User, now: datetime) -> str:
    """Begin to set one up; answers the secret."""
    return secret_of(second_factor_begin(password=PASSWORD, actor=acting(user), now=now))


def make_second_factor(user: User, now: datetime) -> tuple[str, list[str]]:
    """A confirmed one; answers its secret and its recovery codes. The code of this step is used."""
    secret = begin_second_factor(user, now)
    codes = second_factor_confirm(code=code_at(secret, now), actor=acting(user), now=now)
    return secret, codes
