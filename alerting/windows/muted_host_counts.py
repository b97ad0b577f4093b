"""The numbers of hosts that several maintenance windows mute."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from alerting.budgets import Budget, OutOfTimeError
from alerting.windows.loud_sets import loud_sets
from alerting.windows.models import MaintenanceWindow
from alerting.windows.muted_rows import muted_host_rows
from events.types import Category


@dataclass(frozen=True, slots=True)
class MutedHosts:
    """The number of hosts that a window mutes; None if they were not compared in time.

    `has_loud_sets`: some of them belong to loud replica sets (`loud_sets`).
    """

    count: int | None
    has_loud_sets: bool = False


def muted_hosts(
    windows: Iterable[MaintenanceWindow],
    *,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, MutedHosts]:
    """Return the hosts that each window mutes, by the id of the window, in at most so many seconds.

    Windows that mute no alerts of hosts are left out.
    """
    budget, muted = Budget(clock() + seconds, clock), dict[str, MutedHosts]()
    for window in windows:
        if Category.HOST.value not in window.alert_types:
            continue
        try:
            budget.check()
        except OutOfTimeError:
            muted[window.id] = MutedHosts(None)
            continue
        rule = window.rule
        hosts = muted_host_rows(window.group_id, rule, budget)
        loud = loud_sets(window.group_id, rule, hosts.ids, budget)
        count = hosts.count if hosts.compared is None else None
        muted[window.id] = MutedHosts(count, loud.sets.count > 0)
    return muted
