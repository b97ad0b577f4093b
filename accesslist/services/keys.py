"""API keys (decisions 3 "key shape", "keys")."""

import secrets
import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from accesslist import digest
from accesslist.models import ApiKey
from accesslist.selectors.keys import key_rows, present_roles
from accesslist.services.grants import grants_create
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant

_PUBLIC_LENGTH = 6
_PUBLIC_ALPHABET = string.ascii_lowercase + string.digits
_PRIVATE_GROUPS = (8, 4, 4, 12)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key as it is shown the only time its private part can be."""

    key: ApiKey
    private_key: str


@transaction.atomic
def api_key_create(
    *, desc: str, grants: Sequence[Grant], actor: Actor, now: datetime, group_id: str | None = None
) -> NewKey:
    """Make a key with these roles; `group_id` is the project whose event log tells of it."""
    private_key = "-".join(secrets.token_hex(length // 2) for length in _PRIVATE_GROUPS)
    key = _insert(desc, private_key, now)
    grants_create(grants, holder=key)
    roles = present_roles(key_rows().get(id=key.id)["roles"])
    event_record(
        event_type=EventType.API_KEY_CREATED_AUDIT,
        actor=actor,
        now=now,
        group_id=group_id,
        facts=EventFacts(target_public_key=key.public_key),
        diffs=diff(DiffType.ROLES, key.id, new={"roles": roles}),
    )
    return NewKey(key, private_key)


def _insert(desc: str, private_key: str, now: datetime) -> ApiKey:
    """Draw public keys until one is free; two billion of them make a second draw rare."""
    while True:
        public_key = "".join(secrets.choice(_PUBLIC_ALPHABET) for _ in range(_PUBLIC_LENGTH))
        key_id = new_id()
        key, created = ApiKey.objects.get_or_create(
            public_key=public_key,
            defaults={
                "id": key_id,
                "desc": desc,
                "ha1": encrypt(digest.ha1(public_key, digest.REALM, private_key), owner=key_id),
                "private_last4": private_key[-4:],
                "created": now,
            },
        )
        if created:
            return key
