"""Decides which due notifications maintenance windows mute, and which plans hold back, in slices of time.

The windows, matchers and labels of a project decide how long this takes. So each step of a worker spends
MUTE_SECONDS on it, projects that took least time first, and keeps what it found for the next step. A
notification without a decision goes back to the queue, and other notifications do not wait for it. While a
search is unfinished, the worker claims no notifications of its project.

Nothing is locked meanwhile. `delivery` locks the windows before it writes decisions, and leaves out the
notifications of projects whose windows have changed since.

Notifications about the planned effects of a move are held back for the time of the move (`planned_messages`).
After the platform was away, delayed notifications wait for a report (`unconfirmed_messages`).
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from accesslist.models import Project
from alerting.engine.confirmation import confirmed_since, unconfirmed_alerts
from alerting.engine.models import Notification
from alerting.engine.rules import Clock, Costs, Mute, TimeSlice
from alerting.engine.share_counts import usage_add
from alerting.engine.usage_rules import LEAST_COUNTED_SECONDS
from alerting.incidents.models import Alert
from alerting.incidents.store import targets_of_messages
from alerting.windows.mute_search import MuteSearch
from alerting.windows.store import Versions, mute_searches
from automation.turns.store import PlannedTime, planned_times
from events.models import Event
from events.types import EventType
from integrations.choices import MessageKind
from opsapi.fields import Among
from opsapi.sql import fetch_rows

logger = logging.getLogger("opsapi.delivery")

MUTE_SECONDS = 0.1
"""The seconds of a step for decisions about windows; more if reading the windows takes longer."""
TURN_SECONDS = 0.01
"""Projects take turns of this length."""
MOST_DROPPED = 3
"""How often the search of a project starts again because a window was changed, has begun or has ended."""
REMEMBERED_SECONDS = 60.0
"""The time that a project took is forgotten after as long."""


@dataclass(slots=True)
class Muting:
    """The decisions about notifications, by their id.

    `mutes`: the muted notifications. `undecided`: notifications without a decision yet. `faults`:
    notifications whose windows cannot be evaluated. `planned`: until when notifications are about the
    effects of a plan (`planned_messages`). `unconfirmed`: until when notifications wait for a report, because
    the platform was away. `versions`: the windows of each project that the decisions depend
    on; a project without windows that have begun is left out. `held_up`: notifications whose alerts or
    windows another transaction has locked or changed in the meantime.
    """

    mutes: dict[str, Mute] = field(default_factory=dict)
    undecided: set[str] = field(default_factory=set)
    faults: dict[str, Exception] = field(default_factory=dict)
    planned: Mapping[str, datetime] = field(default_factory=dict)
    unconfirmed: Mapping[str, datetime] = field(default_factory=dict)
    versions: Mapping[str, Versions] = field(default_factory=dict)
    held_up: set[str] = field(default_factory=set)


class MuteDesk:
    """The decisions of one worker: keeps unfinished searches, and how long each project took."""

    def __init__(
        self,
        clock: Clock = time.monotonic,
        absent_since: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """`absent_since`: see `Absence.since`."""
        self._clock, self._absent_since = clock, absent_since
        self._searches: dict[str, MuteSearch] = {}
        self._dropped: Counter[str] = Counter()
        """How often the search of a project was dropped since its last results."""
        self._used: dict[str, float] = {}
        self._forget_at = clock() + REMEMBERED_SECONDS
        self._costs: dict[str, Costs] = {}
        """The seconds that each window took, by project and window, until they are counted."""

    @classmethod
    def undivided(cls) -> "MuteDesk":
        """Return a desk that decides on all notifications, however long it takes."""
        return cls(clock=lambda: 0.0)

    @property
    def searching(self) -> frozenset[str]:
        """The projects with an unfinished search: until its end, their notifications need no claim."""
        return frozenset(group_id for group_id, search in self._searches.items() if not search.is_done)

    def go_on(self, *, now: datetime) -> None:
        """Continue unfinished searches; drop searches with changed windows. Every step begins with this."""
        self._forget(self._clock())
        if searching := self.searching:
            versions = begun_versions(searching, now)
            for group_id in searching:
                self._drop_invalid(group_id, versions.get(group_id, {}), now)
            self._search(self.searching, TimeSlice(self._clock, MUTE_SECONDS))

    def settle(self, claimed: Sequence[Notification], *, now: datetime) -> Muting:
        """Decide on as many notifications as time allows."""
        time_slice = TimeSlice(self._clock, MUTE_SECONDS)
        muting = Muting(
            planned=planned_messages(claimed, now),
            unconfirmed=unconfirmed_messages(claimed, now, absent_since=self._absent_since()),
            versions=begun_versions({row.group_id for row in claimed if row.group_id}, now),
        )
        by_project: dict[str, list[Notification]] = {}
        for row in claimed:
            if row.group_id in muting.versions:
                by_project.setdefault(row.group_id, []).append(row)
        if not by_project:
            return muting
        targets = targets_of_messages([row for rows in by_project.values() for row in rows])
        faults = self._begin(by_project, targets, muting.versions, now)
        time_slice.allow_as_much_as_since(time_slice.began)
        faults |= self._search(by_project.keys() & self._searches.keys(), time_slice)
        for group_id, rows in by_project.items():
            if search := self._searches.get(group_id):
                _answer(search, rows, targets, muting, now)
                if search.is_done:
                    del self._searches[group_id]
                    del self._dropped[group_id]
            else:
                muting.faults |= {row.id: faults[group_id] for row in rows}
        return muting

    def count(self, *, now: datetime) -> None:
        """Count the time that projects took, as their share of the workers' time."""
        counted = [
            group_id for group_id, costs in self._costs.items() if costs.total() >= LEAST_COUNTED_SECONDS
        ]
        for group_id in counted:
            costs = self._costs.pop(group_id)
            usage_add(group_id=group_id, seconds=costs.total(), window_id=costs.dearest(), now=now)

    def _begin(
        self,
        by_project: Mapping[str, Sequence[Notification]],
        targets: Mapping[str, Sequence[str]],
        versions: Mapping[str, Versions],
        now: datetime,
    ) -> dict[str, Exception]:
        """Begin the searches of projects without one, or with one for windows that have changed.

        Return the faults of projects by their id.
        """
        for group_id in by_project:
            self._drop_invalid(group_id, versions[group_id], now)
        new = {
            group_id: {target for row in rows for target in targets[row.id]}
            for group_id, rows in by_project.items()
            if group_id not in self._searches
        }
        begun = mute_searches(new, versions, now=now)
        self._searches |= begun.searches
        for group_id, error in begun.faults.items():
            logger.error("windows of project %s cannot be read", group_id, exc_info=error)
        return begun.faults

    def _drop_invalid(self, group_id: str, versions: Versions, now: datetime) -> None:
        """Drop a search whose windows have changed, unless the search was dropped MOST_DROPPED times.

        Without this limit, a search that takes longer than the time between changes would never end. After
        the limit, the search continues, and the changed windows mute nothing.
        """
        search = self._searches.get(group_id)
        if search and not search.is_valid(versions, now) and self._dropped[group_id] < MOST_DROPPED:
            self._dropped[group_id] += 1
            del self._searches[group_id]

    def _search(self, group_ids: AbstractSet[str], time_slice: TimeSlice) -> dict[str, Exception]:
        """Let projects take turns until all is found or the time is over. Return their faults."""
        faults: dict[str, Exception] = {}
        waiting = deque(sorted(group_ids, key=self._used_by))
        while waiting and not time_slice.is_over():
            group_id = waiting.popleft()
            try:
                self._take_turn(group_id)
            except Exception as error:
                logger.exception("windows of project %s cannot be evaluated", group_id)
                faults[group_id] = error
                del self._searches[group_id]
            else:
                if not self._searches[group_id].is_done:
                    waiting.append(group_id)
        return faults

    def _forget(self, moment: float) -> None:
        """Forget the time that projects took, and searches whose notifications have gone."""
        if moment > self._forget_at:
            self._forget_at = moment + REMEMBERED_SECONDS
            self._used.clear()
            self._costs.clear()
            for group_id in self._searches.keys() - self.searching:
                del self._searches[group_id]

    def _used_by(self, group_id: str) -> tuple[float, str]:
        return self._used.get(group_id, 0.0), group_id

    def _take_turn(self, group_id: str) -> None:
        turn, costs = TimeSlice(self._clock, TURN_SECONDS), self._costs.setdefault(group_id, Costs())
        before = turn.began
        for window_id in self._searches[group_id].steps:
            is_over = turn.is_over()
            costs.add(window_id, turn.last_look - before)
            before = turn.last_look
            if is_over:
                break
        self._used[group_id] = self._used.get(group_id, 0.0) + before - turn.began


def _answer(
    search: MuteSearch,
    rows: Sequence[Notification],
    targets: Mapping[str, Sequence[str]],
    muting: Muting,
    now: datetime,
) -> None:
    for row in rows:
        if not search.is_done or not search.covers(targets[row.id]):
            muting.undecided.add(row.id)
        elif mute := search.mute(targets[row.id], muting.versions[row.group_id or ""], now):
            muting.mutes[row.id] = mute


# The version of a row is the transaction that wrote it. After a restored backup or a failover, PostgreSQL may
# give its number a second time; the time of the update differs then.
_BEGUN = """
SELECT id, group_id, updated::text || ' ' || xmin FROM alerting_maintenancewindow
 WHERE group_id = ANY(%(groups)s) AND start <= %(now)s
   AND ("end" > %(now)s OR recurrence IS NOT NULL AND (last_end IS NULL OR last_end > %(now)s))
 ORDER BY id
"""
_LOCK_BEGUN = f"{_BEGUN} FOR SHARE SKIP LOCKED"


def begun_versions(
    group_ids: Collection[str], now: datetime, *, lock: bool = False
) -> Mapping[str, Versions]:
    """The windows of each project that have begun and are not over; projects without any are left out.

    `lock`: the windows are locked until the transaction ends, and windows that another transaction changes
    are left out. Windows of a deleted project mute nothing.
    """
    by_project: dict[str, dict[str, str]] = {}
    if group_ids:
        statement = _LOCK_BEGUN if lock else _BEGUN
        for window_id, group_id, version in fetch_rows(statement, {"groups": sorted(group_ids), "now": now}):
            by_project.setdefault(group_id, {})[window_id] = version
    # Read last, and without a lock: deleting a project locks its windows first.
    live = (
        set(Project.objects.filter(id__in=by_project).values_list("id", flat=True)) if by_project else set()
    )
    return {group_id: versions for group_id, versions in by_project.items() if group_id in live}


# --- plans ----------------------------------------------------------------------------------------

PLANNED_TYPES = frozenset(
    event_type.value
    for event_type in EventType
    if event_type in {EventType.HOST_DOWN, EventType.HOST_RESTARTED}
    or event_type.value.startswith(("HOST_NOW_", "VERSION_"))
)


def planned_messages(notifications: Sequence[Notification], now: datetime) -> dict[str, datetime]:
    """Return until when a plan holds each notification back, by its id; the others are left out.

    A plan changes one member of a replica set at a time, and the agent holds the turn meanwhile. Alerts of
    types that are not in PLANNED_TYPES, such as NO_PRIMARY, are always notified. A message about several
    alerts is held back only if all of them are planned.
    """
    times: dict[tuple[str, str], list[PlannedTime]] = {}
    for planned in planned_times({row.group_id for row in notifications if row.group_id}, now):
        times.setdefault((planned.group_id, planned.host_id), []).append(planned)
    groups = {group_id for group_id, _ in times}
    rows = [row for row in notifications if row.group_id in groups]
    if not rows:
        return {}
    targets = targets_of_messages(rows)
    ends = _planned_ends({target for row in rows for target in targets[row.id]}, times)
    return {
        row.id: min(ends[target] for target in targets[row.id])
        for row in rows
        if targets[row.id] and all(target in ends for target in targets[row.id])
    }


def _planned_ends(targets: set[str], times: dict[tuple[str, str], list[PlannedTime]]) -> dict[str, datetime]:
    """The end of the planned time of each alert and event, by its id."""
    alerts = Alert.objects.filter(Among("id", targets), event_type__in=PLANNED_TYPES)
    events = Event.objects.filter(Among("id", targets), event_type__in=PLANNED_TYPES)
    began = [
        *alerts.values_list("id", "group_id", "facts__hostId", "created"),
        *events.values_list("id", "group_id", "details__hostId", "created"),
    ]
    ends = {}
    for target, group_id, host_id, created in began:
        until = [
            planned.until for planned in times.get((group_id or "", host_id), ()) if planned.covers(created)
        ]
        if until:
            ends[target] = max(until)
    return ends


# --- after the platform was away -------------------------------------------------------------------

LOOKS_AGAIN = timedelta(seconds=5)
"""How long a message waits before the platform looks for a report again."""
MOST_TARGETS = 20
"""The most alerts of a message that are compared with reports."""


def unconfirmed_messages(
    notifications: Sequence[Notification], now: datetime, *, absent_since: datetime | None = None
) -> dict[str, datetime]:
    """Return until when each notification waits for a report, by its id; the others are left out.

    They are delayed openings and reminders from before the platform was away (`confirmed_since`). A message
    about several alerts waits only if all of the first MOST_TARGETS are unconfirmed.
    """
    delayed = [row for row in notifications if _is_delayed(row)]
    since = confirmed_since(now, absent_since=absent_since) if delayed else None
    if since is None:
        return {}
    all_targets = targets_of_messages([row for row in delayed if row.created <= since])
    targets = {row_id: of_message[:MOST_TARGETS] for row_id, of_message in all_targets.items()}
    ids = {target for of_message in targets.values() for target in of_message}
    unconfirmed = unconfirmed_alerts(ids, since=since)
    return {row_id: now + LOOKS_AGAIN for row_id, of in targets.items() if unconfirmed.issuperset(of)}


def _is_delayed(row: Notification) -> bool:
    is_first = row.kind == MessageKind.OPEN.value and row.created < row.due
    return row.alert_id is not None and not row.attempts and (is_first or row.is_reminder)
