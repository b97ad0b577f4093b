"""The limits that projects have reached."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from automation.models import ReachedLimit
from opsapi.api.principal import VisibleScope
from opsapi.clock import AHEAD
from opsapi.first_rows import MOST_SHOWN, in_visible_scope

SAID_FOR = timedelta(days=1)
"""How long after its last refusal a limit is shown as reached."""


def reached_limits(
    visible_scope: VisibleScope, group_id: str | None, now: datetime
) -> Sequence[ReachedLimit]:
    """Return the limits that refused a report in the last day, newest first; at most MOST_SHOWN.

    Only of readable projects; `group_id`: only of this project.
    """
    refused = ReachedLimit.objects.filter(refused__gt=now - SAID_FOR, refused__lte=now + AHEAD)
    found = in_visible_scope(refused.filter(group__deleted=None), visible_scope)
    if group_id is not None:
        found = found.filter(group_id=group_id)
    return list(found.select_related("group").order_by("-refused", "id")[:MOST_SHOWN])
