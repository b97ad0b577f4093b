"""Second factors of users, as their own account page and logging in need them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from accesslist.models import RoleGrant, SecondFactor, User
from accesslist.rules.second_factor import setup_uri
from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import Among


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


def groups_without_second_factor(group_ids: Collection[str]) -> set[str]:
    """Those of the projects in which a user, by a role of their own or of a team, has no second factor."""
    return set(_lacking().filter(Among("project_id", group_ids)).values_list("project_id", flat=True))


def orgs_without_second_factor(org_ids: Collection[str]) -> set[str]:
    """Those of the organizations in which, or in a project of which, a user has no second factor."""
    lacking = _lacking().annotate(within=Coalesce("org_id", "project__org_id"))
    return set(lacking.filter(Among("within", org_ids)).values_list("within", flat=True))


def _lacking() -> QuerySet[RoleGrant]:
    """The roles that somebody without a second factor has."""
    confirmed = SecondFactor.objects.filter(user=OuterRef("pk"), confirmed__isnull=False)
    users = User.objects.filter(~Exists(confirmed))
    return RoleGrant.objects.filter(Q(user__in=users) | Q(team__members__in=users)).distinct()


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
        CannotDecryptError: the key that encrypted it is not configured any more.
    """
    return decrypt(str(factor.secret), owner=factor.id)


def _setup(factor: SecondFactor) -> Setup | None:
    """None where its secret cannot be read any more: it has to be begun anew."""
    try:
        secret = secret_of(factor)
    except CannotDecryptError:
        return None
    return Setup(secret, setup_uri(secret, factor.user.username))
