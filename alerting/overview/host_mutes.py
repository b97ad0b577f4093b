"""The times in which maintenance windows mute the alerts of hosts."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from alerting.budgets import Budget, OutOfTimeError
from alerting.windows.models import MaintenanceWindow
from alerting.windows.store import COMPARE_SECONDS, not_over
from alerting.windows.subjects import MOST_LABELED_HOSTS, Subjects, TargetFacts
from automation.hosts.store import host_state
from automation.models import Host
from events.types import Category

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
    windows = MaintenanceWindow.objects.filter(
        not_over(since), group_id__in=groups, start__lt=until, alert_types__contains=[Category.HOST.value]
    )
    rows = list(windows.order_by("start", "id")[: _MOST_WINDOWS + 1])
    is_cut = len(rows) > _MOST_WINDOWS
    rules = {row.id: row.rule for row in rows[:_MOST_WINDOWS]}
    targets = {host.id: TargetFacts(host.group_id, host_state(host)) for host in hosts} if rules else {}
    subjects = Subjects(rules.values(), targets.values(), most_hosts=MOST_LABELED_HOSTS)
    budget = Budget(time.thread_time() + COMPARE_SECONDS, time.thread_time)
    mutes: list[HostMute] = []
    try:
        for row in rows[:_MOST_WINDOWS]:
            muted = [
                host
                for host in hosts
                if host.group_id == row.group_id
                and rules[row.id].mutes(subjects.of(targets[host.id]), budget.check)
            ]
            times = list(_times(row, since, until)) if muted else []
            mutes += [HostMute(host.id, row, *both) for host in muted for both in times]
    except OutOfTimeError:
        is_cut = True
    return HostMutes(mutes, is_cut)


def muted_times_of_hosts(
    hosts: Sequence[Host], since: datetime, until: datetime
) -> Iterator[tuple[str, datetime, datetime]]:
    """Yield the times in which the alerts of hosts are muted, for their heartbeat bars."""
    for mute in host_mutes(hosts, since, until).mutes:
        yield mute.host_id, mute.since, mute.until


def _times(
    window: MaintenanceWindow, since: datetime, until: datetime
) -> Iterator[tuple[datetime, datetime]]:
    for begins, ends in islice(window.rule.occurrences(since), _MOST_OCCURRENCES):
        if begins >= until:
            return
        yield max(begins, since), min(ends, until)
