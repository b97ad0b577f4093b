"""Second factors of users, and projects and organizations with users who have none."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from accesslist.login.models import SecondFactor
from accesslist.login.rules import setup_uri
from accesslist.roles.models import RoleGrant
from accesslist.users.models import User
from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import Among


@dataclass(frozen=True, slots=True)
class Setup:
    """A second factor that waits for its first code: the secret as text, and the URI for authenticators."""

    secret: str
    uri: str


@dataclass(frozen=True, slots=True)
class FactorState:
    """The state of a user's second factor: when it was confirmed, and the number of unused recovery codes."""

    confirmed: datetime | None = None
    recovery_codes_left: int = 0
    setup: Setup | None = None


def has_second_factor(user_id: str) -> bool:
    """Whether the user must enter a code. A second factor without its first code does not count."""
    return SecondFactor.objects.filter(user_id=user_id, confirmed__isnull=False).exists()


def groups_without_second_factor(group_ids: Collection[str]) -> set[str]:
    """Return the projects in which a user with a role, directly or by a team, has no second factor."""
    return set(_lacking().filter(Among("project_id", group_ids)).values_list("project_id", flat=True))


def orgs_without_second_factor(org_ids: Collection[str]) -> set[str]:
    """Return the organizations in which, or in a project of which, a user has no second factor."""
    lacking = _lacking().annotate(within=Coalesce("org_id", "project__org_id"))
    return set(lacking.filter(Among("within", org_ids)).values_list("within", flat=True))


def _lacking() -> QuerySet[RoleGrant]:
    """The roles of users without a second factor."""
    confirmed = SecondFactor.objects.filter(user=OuterRef("pk"), confirmed__isnull=False)
    users = User.objects.filter(~Exists(confirmed))
    return RoleGrant.objects.filter(Q(user__in=users) | Q(team__members__in=users)).distinct()


def factor_state(user_id: str) -> FactorState:
    """Return the state of the user's second factor. It contains the secret only before the first code."""
    factor = SecondFactor.objects.select_related("user").filter(user_id=user_id).first()
    if factor is None:
        return FactorState()
    if factor.confirmed is None:
        return FactorState(setup=_setup(factor))
    return FactorState(factor.confirmed, len(factor.recovery_hashes))


def secret_of(factor: SecondFactor) -> str:
    """Return the decrypted secret.

    Raises:
        CannotDecryptError: the key that encrypted the secret is no longer configured.
    """
    return decrypt(str(factor.secret), owner=factor.id)


def _setup(factor: SecondFactor) -> Setup | None:
    """None if the secret can no longer be decrypted: the user must start the setup again."""
    try:
        secret = secret_of(factor)
    except CannotDecryptError:
        return None
    return Setup(secret, setup_uri(secret, factor.user.username))
