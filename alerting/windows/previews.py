"""The preview of a maintenance window: its next occurrences, and the hosts and open alerts that it mutes."""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from alerting.budgets import Budget, slot_of
from alerting.windows.muted_rows import MutedRows, muted_alert_rows, muted_host_rows
from alerting.windows.recurrence import Occurrence
from alerting.windows.rules import WindowRule

MOST_OCCURRENCES: Final = 10
SECONDS: Final = 5.0
"""The longest preview of a window with matchers."""
_HOST_SECONDS: Final = 3.0
"""The time after which the remaining hosts are left out, so that some is left for alerts."""


@dataclass(frozen=True, slots=True)
class WindowPreview:
    """The next occurrences of a window, hosts by name, and open alerts, newest first.

    `gaps`: see `alerting.windows.recurrence.clock_gaps`.
    """

    occurrences: list[Occurrence]
    hosts: MutedRows
    alerts: MutedRows
    gaps: Sequence[Occurrence] = ()

    @property
    def is_complete(self) -> bool:
        """Whether all hosts and alerts were compared."""
        return self.hosts.compared is None and self.alerts.compared is None


def window_preview(
    *,
    group_id: str,
    rule: WindowRule,
    now: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> WindowPreview:
    """Return the effect of a window in a project.

    Hosts and alerts are muted during each occurrence, by the rule of delivery. A preview with matchers ends
    with its time, and holds a slot of dry runs. `clock` is monotonic, in seconds.

    Raises:
        ApiError: RATE_LIMITED, when dry runs and other previews leave no room.
    """
    begun = clock()
    with slot_of(group_id) if rule.matchers else nullcontext():
        hosts = muted_host_rows(group_id, rule, Budget(begun + _HOST_SECONDS, clock))
        alerts = muted_alert_rows(group_id, rule, Budget(begun + SECONDS, clock))
    return WindowPreview(_next_occurrences(rule, now), hosts, alerts, rule.gaps(now))


def uncompared_preview(rule: WindowRule, now: datetime) -> WindowPreview:
    """Return the preview of a window for which no host and no alert was compared."""
    none = MutedRows([], 0, compared=0)
    return WindowPreview(_next_occurrences(rule, now), none, none, rule.gaps(now))


def _next_occurrences(rule: WindowRule, now: datetime) -> list[Occurrence]:
    return list(islice(rule.occurrences(now), MOST_OCCURRENCES))
