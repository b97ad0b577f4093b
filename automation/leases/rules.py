"""Decides which of the agents that can watch a host watches it. Pure.

An agent asks for leases again and again, and each time learns which hosts it holds. It holds a host until its
time runs out, unless it releases or hands over the host. Requests of a project are processed one after
another.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import heapify, heapreplace

Key = tuple[str, int]
"""A host: lower-case name and port."""
Unit = str | Key

LEASE_INTERVALS = 2.5
"""The length of a lease in intervals of its agent: one request may be lost, and no host waits for a third."""
SHORTEST_LEASE = timedelta(seconds=5)
ROUND_INTERVALS = 0.9
"""How long an agent may still poll a host after its request; a host that it hands over is free after that."""
LATE_INTERVALS = 1.25
"""An agent without a request for this many intervals is late."""
FORGOTTEN_AFTER = timedelta(hours=2)
"""How long a lease stays useful after its end: reports are at most one hour old."""


@dataclass(frozen=True, slots=True)
class LeaseWatcher:
    """An agent that shares hosts: its last request, its interval, and the end of its leases."""

    asked: datetime
    interval: timedelta
    until: datetime


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a host: `watcher` holds it until its time runs out or until `free_from`.

    `wanted_by` is the watcher that gets the host next. Hosts with the same text in `together` go to the same
    watcher, so that what members of a replica set say about each other is reported together.
    """

    watcher: str | None
    free_from: datetime | None = None
    wanted_by: str | None = None
    together: str = ""


@dataclass(frozen=True, slots=True)
class LeaseAnswer:
    """The result of a request.

    `held` are the hosts of the requesting watcher with the end of each lease; `gained` are the new ones.
    `changed` are all changed leases, `forgotten` are leases that are no longer needed. At `ask_again`, if
    set, there may be more hosts for the watcher.
    """

    held: Mapping[Key, datetime]
    gained: frozenset[Key]
    changed: Mapping[Key, Lease]
    forgotten: frozenset[Key]
    ask_again: datetime | None


def lease_end(now: datetime, interval: timedelta) -> datetime:
    """When the leases of a watcher that asks now run out."""
    return now + max(interval * LEASE_INTERVALS, SHORTEST_LEASE)


def holder_of(lease: Lease, watchers: Mapping[str, LeaseWatcher], now: datetime) -> str | None:
    """The current watcher of a host; None if it is free."""
    watcher = watchers.get(lease.watcher or "")
    is_over = lease.free_from is not None and lease.free_from <= now
    return lease.watcher if watcher and watcher.until > now and not is_over else None


def shares_given_back(me: str, *, leases: Mapping[Key, Lease], now: datetime) -> Mapping[Key, Lease]:
    """Release the leases of a watcher that stops; it no longer wants hosts."""
    return {
        key: replace(
            lease,
            free_from=now if lease.watcher == me else lease.free_from,
            wanted_by=None if lease.wanted_by == me else lease.wanted_by,
        )
        for key, lease in leases.items()
        if me in {lease.watcher, lease.wanted_by}
    }


class Ask:
    """A request of a watcher, processed in steps; each step changes `leases` and `loads`.

    The watcher keeps its hosts. Free hosts go to the watchers with the fewest hosts, so the first watcher
    that asks leaves hosts to the others. It gets the hosts that are still free at its next request. It wants
    hosts of a watcher with at least two hosts more; that watcher releases them at its next request, for the
    end of its round.
    """

    def __init__(
        self,
        me: str,
        *,
        candidates: Mapping[Key, str],
        leases: Mapping[Key, Lease],
        watchers: Mapping[str, LeaseWatcher],
        interval: timedelta,
        now: datetime,
    ) -> None:
        """Watcher `me` can watch the hosts in `candidates`, each with the text it has in common with others.

        `leases` are all of the project, `watchers` all that have asked, `me` as it asked before, or absent.
        """
        self.me, self.interval, self.now = me, interval, now
        self.candidates, self.together = frozenset(candidates), candidates
        self.before, self.leases = leases, dict(leases)
        asked = watchers.get(me)
        # It asked while the platform was up, so others could ask as well: watchers without a request since
        # are gone.
        self.asked = asked.asked if asked and asked.until > now else None
        self.end = lease_end(now, interval)
        # Our former hosts that no other watcher has got meanwhile are still ours.
        self.watchers = {**watchers, me: LeaseWatcher(now, interval, self.end)}
        self.others = {key for key, watcher in watchers.items() if watcher.until > now} - {me}
        self.loads = Counter(filter(None, map(self._owner, leases.values())))

    def shares(self) -> LeaseAnswer:
        self._give_back()
        self._let_go()
        self._name_units()
        gained = self._gain()
        if not self._left():
            self._want()
        changed = {key: lease for key, lease in self.leases.items() if self.before.get(key) != lease}
        held = {
            key: min(self.end, lease.free_from or self.end)
            for key, lease in self.leases.items()
            if self._holder(lease) == self.me
        }
        forgotten = frozenset(filter(self._is_forgotten, self.before))
        return LeaseAnswer(
            held,
            frozenset(gained),
            {key: lease for key, lease in changed.items() if key not in forgotten},
            forgotten,
            self._ask_again(),
        )

    def _holder(self, lease: Lease) -> str | None:
        return holder_of(lease, self.watchers, self.now)

    def _owner(self, lease: Lease) -> str | None:
        """The watcher of a host after all hand-overs."""
        wants = lease.wanted_by
        return wants if wants == self.me or wants in self.others else self._holder(lease)

    def _put(self, key: Key, lease: Lease) -> None:
        before = self._owner(self.leases.get(key, Lease(None)))
        after = self._owner(lease)
        self.leases[key] = lease
        self.loads.subtract(filter(None, [before]))
        self.loads.update(filter(None, [after]))

    def _give_back(self) -> None:
        """Release hosts that were not named this time."""
        for key, lease in list(self.leases.items()):
            if key in self.candidates:
                continue
            if self._holder(lease) == self.me:
                self._put(key, replace(lease, free_from=self.now))
            elif lease.wanted_by == self.me:
                self._put(key, replace(lease, wanted_by=None))

    def _let_go(self) -> None:
        """Hand over hosts that others want, after this round."""
        for key, lease in list(self.leases.items()):
            if self._holder(lease) != self.me:
                continue
            if lease.wanted_by in self.others:
                end = self.now if lease.free_from else self.now + self.interval * ROUND_INTERVALS
                self._put(key, replace(lease, free_from=end))
            elif lease.free_from or lease.wanted_by:
                self._put(key, self._ours(key))  # The watcher that wanted it no longer asks.

    def _name_units(self) -> None:
        """Record which hosts belong together; for a host of another watcher, that watcher decides."""
        for key in self.candidates & self.leases.keys():
            lease, together = self.leases[key], self.together[key]
            is_ours = self._holder(lease) not in self.others or not lease.together
            if together and together != lease.together and is_ours:
                self._put(key, replace(lease, together=together))

    def _gain(self) -> Collection[Key]:
        """Take free hosts and return them."""
        free = [key for key in sorted(self.candidates) if self._is_free(self.leases.get(key, Lease(None)))]
        gained = {key for key in free if self._is_due(key)}
        for key in gained:
            self._put(key, self._ours(key))
        units: dict[Unit, list[Key]] = {}
        for key in free:
            if key not in gained:
                units.setdefault(self._unit(key), []).append(key)
        owners = self._owners()
        ours = self._part({unit: len(keys) for unit, keys in units.items() if unit not in owners})
        for unit, keys in units.items():
            is_ours = unit in ours or self.me in owners.get(unit, ())
            for key in keys:
                self._put(key, self._ours(key) if is_ours else self._free(key))
            gained.update(keys if is_ours else ())
        return gained

    def _unit(self, key: Key) -> Unit:
        """The unit of a host: the hosts that belong together, or the host alone."""
        lease = self.leases.get(key)
        return (lease.together if lease else self.together.get(key)) or key

    def _owners(self) -> Mapping[Unit, Counter[str]]:
        """The number of hosts of each unit by owner."""
        owners: dict[Unit, Counter[str]] = {}
        for key, lease in self.leases.items():
            owner = self._owner(lease)
            if owner is not None:
                owners.setdefault(self._unit(key), Counter())[owner] += 1
        return owners

    def _ours(self, key: Key) -> Lease:
        lease = self.leases.get(key)
        return Lease(self.me, together=lease.together if lease else self.together[key])

    def _is_free(self, lease: Lease) -> bool:
        """Whether nobody holds the host or has priority over us."""
        if self._holder(lease) is not None or lease.wanted_by in self.others:
            return False
        # The platform may have been down, so that nobody could ask: the previous watcher has priority.
        was_given_back = lease.free_from is not None and lease.free_from <= self.now
        return lease.watcher not in self.watchers or was_given_back or self.asked is not None

    def _is_due(self, key: Key) -> bool:
        """Whether the host is reserved for us, or others had their chance."""
        lease = self.leases.get(key)
        if lease is None:
            return False
        return lease.wanted_by == self.me or (
            self.asked is not None and self._free_since(lease) <= self.asked
        )

    def _free_since(self, lease: Lease) -> datetime:
        watcher = self.watchers.get(lease.watcher or "")
        ends = [end for end in (lease.free_from, watcher.until if watcher else None) if end is not None]
        return min(ends, default=self.now)

    def _part(self, sizes: Mapping[Unit, int]) -> Collection[Unit]:
        """Our units of the free hosts, if each goes to the watcher with the fewest hosts."""
        loads = [(self.loads[self.me], 0), *((self.loads[rival], 1) for rival in self._rivals())]
        heapify(loads)
        ours = set()
        for unit, size in sizes.items():
            load, rank = loads[0]
            if rank == 0:
                ours.add(unit)
            heapreplace(loads, (load + size, rank))
        return ours

    def _rivals(self) -> Iterable[str]:
        """Other watchers of some of our candidates, or without hosts."""
        named = {self._owner(lease) for key, lease in self.leases.items() if key in self.candidates}
        return [other for other in self.others if other in named or not self.loads[other]]

    def _free(self, key: Key) -> Lease:
        """The lease of a host that is left to others."""
        lease = self.leases.get(key) or Lease(None, together=self.together[key])
        return lease if lease.free_from else replace(lease, free_from=self.now)

    def _left(self) -> Sequence[Key]:
        """Hosts that we leave to others until the next request."""
        return [key for key in self.candidates if self._is_free(self.leases[key])]

    def _want(self) -> None:
        """Want the rest of units that we mostly hold, and units of watchers with too many hosts."""
        offered: dict[str, dict[Unit, list[Key]]] = {}
        for key in sorted(self.candidates):
            lease = self.leases[key]
            holder = self._holder(lease)
            if holder in self.others and lease.free_from is None and self._owner(lease) == holder:
                offered.setdefault(str(holder), {}).setdefault(self._unit(key), []).append(key)
        owners = self._owners()
        for other, units in offered.items():
            for unit in [unit for unit in units if len(owners[unit]) > 1]:
                keys = units.pop(
                    unit
                )  # Several watchers have it: the one with the most of it wants the rest.
                if (owners[unit][self.me], self.me) > (owners[unit][other], other):
                    self._want_all(keys)
        waiting = {other: deque(units.items()) for other, units in offered.items() if units}
        while waiting:
            richest = max(waiting, key=lambda other: (self.loads[other], other))
            more = self.loads[richest] - self.loads[self.me]
            unit, keys = waiting[richest].popleft()
            # If we can watch only part of a unit, it would be wanted back. A unit that is too large stays so.
            if len(keys) < more and len(keys) == owners[unit][richest]:
                self._want_all(keys)
            if not waiting[richest]:
                del waiting[richest]

    def _want_all(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._put(key, replace(self.leases[key], wanted_by=self.me))

    def _is_forgotten(self, key: Key) -> bool:
        lease = self.leases[key]
        if key in self.candidates or self._holder(lease) is not None:
            return False
        is_of_nobody = lease.watcher not in self.watchers and lease.free_from is None
        return is_of_nobody or self._free_since(lease) < self.now - FORGOTTEN_AFTER

    def _ask_again(self) -> datetime | None:
        """The first moment before the regular request at which a host may become free for us."""
        moments: list[datetime] = []
        if self._left():
            moments.append(self.now + self.interval / 2)
        for key in self.candidates & self.leases.keys():
            lease = self.leases[key]
            if lease.wanted_by == self.me and lease.free_from is not None:
                moments.append(lease.free_from)
            holder = self._holder(lease)
            if holder in self.others:
                watcher = self.watchers[str(holder)]
                if self.now - watcher.asked > watcher.interval * LATE_INTERVALS:
                    moments.append(watcher.until)
        return min(
            (moment for moment in moments if self.now < moment < self.now + self.interval), default=None
        )
