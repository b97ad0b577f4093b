"""Addresses that keys recently called from, read from events: each write records key and address."""

from collections.abc import Collection
from datetime import datetime, timedelta

from accesslist.models import RoleGrant
from accesslist.rules.access_lists import SeenCaller
from events.selectors import EventFilter, event_rows
from opsapi.clock import parse_time

RECENT = timedelta(days=30)
_MOST_EVENTS = 2000


def recent_callers(key_id: str | None, *, now: datetime) -> list[SeenCaller]:
    """Return the latest call of each key from each address, newest first.

    `key_id` selects a key; None selects all keys with a global role. Only the newest 2,000 events of the last
    30 days are read, so the cost does not depend on the length of the log.
    """
    keys = [key_id] if key_id else _keys_with_global_roles()
    found: dict[tuple[str, str], SeenCaller] = {}
    for row in event_rows(EventFilter(min_date=now - RECENT))[:_MOST_EVENTS]:
        details = row["details"]
        address = details.get("remoteAddress")
        if address and details.get("apiKeyId") in keys:
            caller = SeenCaller(details["publicKey"], address, parse_time(row["wire_created"]))
            found.setdefault((caller.public_key, address), caller)
    return list(found.values())


def _keys_with_global_roles() -> Collection[str | None]:
    grants = RoleGrant.objects.filter(api_key__isnull=False, org=None, project=None)
    return set(grants.values_list("api_key_id", flat=True))
