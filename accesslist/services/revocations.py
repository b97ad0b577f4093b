"""Consequences for keys and users when a role, a team or an address of theirs is revoked.

Call these functions in the transaction that revokes. On behalf of a caller, that transaction begins with
`accesslist.services.locks.actor_lock_in_turn`; the worker needs no lock.
"""

from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, F, OuterRef

from accesslist.models import ApiKey, RoleGrant, User
from accesslist.selectors.users import Membership
from accesslist.services.locks import identities_lock_exclusive
from opsapi.api.principal import Actor
from opsapi.roles import IMPLIED, READING, Role

_ENTERING = [role.value for role in Role if not IMPLIED[role].isdisjoint(READING)]


def keys_revoke(*, ids: Collection[str], actor: Actor) -> None:
    """Refuse writes of these keys that were authenticated with the old roles and the old access list.

    The acting key continues: it may write to many projects at once.
    """
    ApiKey.objects.filter(id__in=ids).exclude(id=actor.id).update(revocations=F("revocations") + 1)


def users_revoke(*, ids: Collection[str], actor: Actor, now: datetime) -> None:
    """Refuse writes of these users that were authenticated with the old roles.

    The sessions of users without roles end.

    An ended session does not come back with the next role. The acting user continues: an action on many rows
    may also revoke roles of the user's own teams.
    """
    users = User.objects.filter(id__in=ids)
    users.exclude(id=actor.id).update(revocations=F("revocations") + 1)
    own = RoleGrant.objects.filter(user_id=OuterRef("id"), role__in=_ENTERING)
    by_team = Membership.objects.filter(user_id=OuterRef("id"), team__grants__role__in=_ENTERING)
    users.filter(~Exists(own), ~Exists(by_team)).update(sessions_ended=now)


def member_ids(*team_ids: str) -> list[str]:
    """The members of the teams."""
    return list(User.objects.filter(teams__in=team_ids).distinct().values_list("id", flat=True))


def members_lock_exclusive(*team_ids: str) -> None:
    """As `accesslist.services.locks.identities_lock_exclusive`, for the members of the teams."""
    identities_lock_exclusive(member_ids(*team_ids))
