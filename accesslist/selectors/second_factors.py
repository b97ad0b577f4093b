"""Second factors of users, as their own account page and logging in need them."""

from dataclasses import dataclass
from datetime import datetime

from accesslist.models import SecondFactor
from accesslist.rules.second_factor import setup_uri
from opsapi.encryption import CannotDecryptError, decrypt


@dataclass(frozen=True, slots=True)
class Setup:
    """A second factor that waits for its first code: its secret as text, and as authenticators read it."""

    secret: str
    uri: str


@dataclass(frozen=True, slots=True)
class FactorState:
    """How a user's second factor stands: since when there is one, how many recovery codes are left."""

    confirmed: datetime | None = None
    recovery_codes_left: int = 0
    setup: Setup | None = None


def has_second_factor(user_id: str) -> bool:
    """Whether the user is asked for a code; one that is being set up is asked for nowhere."""
    return SecondFactor.objects.filter(user_id=user_id, confirmed__isnull=False).exists()


def factor_state(user_id: str) -> FactorState:
    """How the user's stands. The secret is told only until the first code was given."""
    factor = SecondFactor.objects.select_related("user").filter(user_id=user_id).first()
    if factor is None:
        return FactorState()
    if factor.confirmed is None:
        return FactorState(setup=_setup(factor))
    return FactorState(factor.confirmed, len(factor.recovery_hashes))


def secret_of(factor: SecondFactor) -> str:
    """The secret, opened.

    Raises:
        CannotDecryptError: the key that sealed it is not configured any more.
    """
    return decrypt(str(factor.secret), owner=factor.id)


def _setup(factor: SecondFactor) -> Setup | None:
    """None where its secret cannot be read any more: it has to be begun anew."""
    try:
        secret = secret_of(factor)
    except CannotDecryptError:
        return None
    return Setup(secret, setup_uri(secret, factor.user.username))
