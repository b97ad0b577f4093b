"""Kiosks: created and revoked. Each is recorded as an event in its project or organization."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from accesslist.changes import acting
from accesslist.invitations.rules import new_secret, secret_hash, token_of
from accesslist.kiosks.models import Kiosk
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import NewEvent
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.roles import Scope


@dataclass(frozen=True, slots=True)
class NewKiosk:
    """A new kiosk with its token, which can be shown only now."""

    kiosk: Kiosk
    token: str


def _facts(kiosk: Kiosk) -> dict[str, Any]:
    """What events show of a kiosk: never the token or its hash."""
    return {"desc": kiosk.desc, "expiresAt": wire_time(kiosk.expires)}


def kiosk_create(*, here: Scope, desc: str, lasts: timedelta, actor: Actor, now: datetime) -> NewKiosk:
    """Create a kiosk of a project or an organization, which the actor, a user, can read.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, if it was deleted in the meantime.
    """
    with acting(actor, now, here=here) as act:
        secret = new_secret()
        kiosk = Kiosk.objects.create(
            id=new_id(),
            desc=desc,
            org_id=None if here.group_id else here.org_id,
            project_id=here.group_id,
            token_hash=secret_hash(secret),
            creator_id=actor.id or "",
            created=now,
            expires=now + lasts,
        )
        added = diff(DiffType.AUTH, kiosk.id, new=_facts(kiosk))
        act.record(NewEvent(event_type=EventType.KIOSK_CREATED_AUDIT, diffs=added), here=kiosk.scope)
        return NewKiosk(kiosk, token_of(kiosk.id, secret))


def kiosk_revoke(*, kiosk: Kiosk, actor: Actor, now: datetime) -> None:
    """Delete a kiosk: its address shows nothing from now on. A repeated call changes nothing."""
    with acting(actor, now, here=kiosk.scope) as act:
        if not Kiosk.objects.filter(id=kiosk.id).delete()[0]:
            return
        gone = diff(DiffType.AUTH, kiosk.id, old=_facts(kiosk))
        act.record(NewEvent(event_type=EventType.KIOSK_REVOKED_AUDIT, diffs=gone))
