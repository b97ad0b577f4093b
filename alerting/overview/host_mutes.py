"""The times in which maintenance windows mute the alerts of hosts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from typing import Final

from alerting.budgets import Budget, OutOfTimeError
from alerting.windows.models import MaintenanceWindow
from alerting.windows.store import COMPARE_SECONDS, unexpired
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts
from automation.hosts.store import host_state
from automation.models import Host
from events.types import Category
from opsapi.console.heartbeats import MutedTimes

_MOST_WINDOWS: Final = 100
_MOST_OCCURRENCES: Final = 50


@dataclass(frozen=True, slots=True)
class HostMute:
    """A time in which a window mutes the alerts of a host; `until` is exclusive."""

    host_id: str
    window: MaintenanceWindow
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class HostMutes:
    """The mutes of hosts in a time range. `is_cut`: some windows were not compared."""

    mutes: Sequence[HostMute] = ()
    is_cut: bool = False


def host_mutes(hosts: Sequence[Host], since: datetime, until: datetime) -> HostMutes:
    """Compare hosts with the windows that mute alerts of hosts, in one statement for all their projects.

    Windows that select hosts by type or labels need a few more. Hosts have the facts that they have now.
    """
    groups = {host.group_id for host in hosts}
    if not groups:
        return HostMutes()
    in_time = MaintenanceWindow.objects.filter(
        unexpired(since), group_id__in=groups, start__lt=until, alert_types__contains=[Category.HOST.value]
    )
    windows = list(in_time.order_by("start", "id")[: _MOST_WINDOWS + 1])
    is_cut = len(windows) > _MOST_WINDOWS
    budget = Budget(time.thread_time() + COMPARE_SECONDS, time.thread_time)
    mutes: list[HostMute] = []
    try:
        occurring = [
            (window, times)
            for window in windows[:_MOST_WINDOWS]
            if (times := _times(window, since, until, budget))
        ]
        rules = {window.id: window.rule for window, _ in occurring}
        targets = {host.id: TargetFacts(host.group_id, host_state(host)) for host in hosts} if rules else {}
        subjects = Subjects(rules.values(), targets.values(), most_hosts=MOST_LABELED_HOSTS)
        for window, times in occurring:
            muted = [
                host
                for host in hosts
                if host.group_id == window.group_id
                and rules[window.id].matches(subjects.of(targets[host.id]), budget.check)
            ]
            mutes += [HostMute(host.id, window, *both) for host in muted for both in times]
    except OutOfTimeError:
        is_cut = True
    return HostMutes(mutes, is_cut)


def muted_times_of_hosts(hosts: Sequence[Host], since: datetime, until: datetime) -> MutedTimes:
    """Return the times in which the alerts of hosts are muted, for their heartbeat bars and the fleet map."""
    mutes = host_mutes(hosts, since, until)
    return MutedTimes([(mute.host_id, mute.since, mute.until) for mute in mutes.mutes], mutes.is_cut)


def _times(
    window: MaintenanceWindow, since: datetime, until: datetime, budget: Budget
) -> list[tuple[datetime, datetime]]:
    """The occurrences within the time range. Raises OutOfTimeError."""
    budget.check()
    first = islice(window.rule.occurrences(since), _MOST_OCCURRENCES)
    return [
        (max(begins, since), min(ends, until))
        for begins, ends in takewhile(lambda occurrence: occurrence[0] < until, first)
    ]
