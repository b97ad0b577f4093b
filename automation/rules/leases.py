"""Which of the agents that can watch a host watches it. Pure.

An agent asks for leases again and again, and each time is told which hosts it holds. It holds a host until
its time runs out, unless it gives the host back or hands it over. Asks of a project follow one another.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import heapify, heapreplace

Key = tuple[str, int]
"""A host: its name in lower case, and its port."""
Unit = str | Key

LEASE_INTERVALS = 2.5
"""So many intervals of its agent a lease lasts: one ask may be lost, and no host waits for a third."""
SHORTEST_LEASE = timedelta(seconds=5)
ROUND_INTERVALS = 0.9
"""So long an agent asks its hosts, once it has asked for leases; what it hands over is free after that."""
LATE_INTERVALS = 1.25
"""An agent that has not asked for so many of its intervals is late."""
FORGOTTEN_AFTER = timedelta(hours=2)
"""So long after its end a lease is of no use: reports are at most one hour old."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """An agent that shares hosts: when it last asked, how often it asks, and when its time runs out."""

    asked: datetime
    interval: timedelta
    until: datetime


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a host: `watcher`, until its time runs out or `free_from` has come.

    `wanted_by` is the watcher that is to have it next, before any other. Hosts with the same text in
    `together` go to one watcher: what members of a replica set say of each other is then told at one time.
    """

    watcher: str | None
    free_from: datetime | None = None
    wanted_by: str | None = None
    together: str = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """What becomes of an ask.

    `held` are the hosts of the watcher that asked, with the end of each lease; those in `gained` it did not
    hold before. `changed` are all leases that are others than before, `forgotten` those that nobody needs any
    more. At `ask_again`, where it is set, there may be more for the watcher.
    """

    held: Mapping[Key, datetime]
    gained: frozenset[Key]
    changed: Mapping[Key, Lease]
    forgotten: frozenset[Key]
    ask_again: datetime | None


def lease_end(now: datetime, interval: timedelta) -> datetime:
    """When the time of a watcher that asks now runs out."""
    return now + max(interval * LEASE_INTERVALS, SHORTEST_LEASE)


def holder_of(lease: Lease, watchers: Mapping[str, Watcher], now: datetime) -> str | None:
    """The watcher that holds a host now; None when it is free."""
    watcher = watchers.get(lease.watcher or "")
    is_over = lease.free_from is not None and lease.free_from <= now
    return lease.watcher if watcher and watcher.until > now and not is_over else None


def shares_given_back(me: str, *, leases: Mapping[Key, Lease], now: datetime) -> Mapping[Key, Lease]:
    """The leases of a watcher that stops, as they are then: free, and wanted by it no more."""
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
    """One ask of a watcher, answered in steps; each changes `leases` and `loads`.

    It keeps what it holds. Free hosts go to the watchers that hold the fewest, so that one which asks first
    leaves others their part; what nobody has taken until its next ask it takes then. From a watcher that
    holds at least two hosts more it wants some: the other lets them go at its next ask, for the end of its
    round.
    """

    def __init__(
        self,
        me: str,
        *,
        candidates: Mapping[Key, str],
        leases: Mapping[Key, Lease],
        watchers: Mapping[str, Watcher],
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
        # It asked when the platform was there, and others could as well: who has not asked since is gone.
        self.asked = asked.asked if asked and asked.until > now else None
        self.end = lease_end(now, interval)
        # What was ours when our time ran out, and nobody took, is ours.
        self.watchers = {**watchers, me: Watcher(now, interval, self.end)}
        self.others = {key for key, one in watchers.items() if one.until > now} - {me}
        self.loads = Counter(filter(None, map(self._owner, leases.values())))

    def shares(self) -> Shares:
        """All steps."""
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
        return Shares(
            held,
            frozenset(gained),
            {key: lease for key, lease in changed.items() if key not in forgotten},
            forgotten,
            self._ask_again(),
        )

    def _holder(self, lease: Lease) -> str | None:
        return holder_of(lease, self.watchers, self.now)

    def _owner(self, lease: Lease) -> str | None:
        """Who holds it once all is handed over."""
        wants = lease.wanted_by
        return wants if wants == self.me or wants in self.others else self._holder(lease)

    def _put(self, key: Key, lease: Lease) -> None:
        before = self._owner(self.leases.get(key, Lease(None)))
        after = self._owner(lease)
        self.leases[key] = lease
        self.loads.subtract(filter(None, [before]))
        self.loads.update(filter(None, [after]))

    def _give_back(self) -> None:
        """Let others have what is not named any more."""
        for key, lease in list(self.leases.items()):
            if key in self.candidates:
                continue
            if self._holder(lease) == self.me:
                self._put(key, replace(lease, free_from=self.now))
            elif lease.wanted_by == self.me:
                self._put(key, replace(lease, wanted_by=None))

    def _let_go(self) -> None:
        """Hand over what others want: this round is the last."""
        for key, lease in list(self.leases.items()):
            if self._holder(lease) != self.me:
                continue
            if lease.wanted_by in self.others:
                end = self.now if lease.free_from else self.now + self.interval * ROUND_INTERVALS
                self._put(key, replace(lease, free_from=end))
            elif lease.free_from or lease.wanted_by:
                self._put(key, self._ours(key))  # who wanted it is gone

    def _name_units(self) -> None:
        """Note which hosts belong together; of a host that another holds, the other says it."""
        for key in self.candidates & self.leases.keys():
            lease, said = self.leases[key], self.together[key]
            is_ours = self._holder(lease) not in self.others or not lease.together
            if said and said != lease.together and is_ours:
                self._put(key, replace(lease, together=said))

    def _gain(self) -> Collection[Key]:
        """Take free hosts, and return them."""
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
        """What goes to one watcher: the hosts that belong together, or the host alone."""
        lease = self.leases.get(key)
        return (lease.together if lease else self.together.get(key)) or key

    def _owners(self) -> Mapping[Unit, Counter[str]]:
        """How many hosts of each unit its owners have."""
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
        """Whether nobody holds it or is to have it before us."""
        if self._holder(lease) is not None or lease.wanted_by in self.others:
            return False
        # The platform may have been away, so that nobody could ask: whoever held it is first.
        was_given_back = lease.free_from is not None and lease.free_from <= self.now
        return lease.watcher not in self.watchers or was_given_back or self.asked is not None

    def _is_due(self, key: Key) -> bool:
        """Whether it is reserved for us, or others had their chance."""
        lease = self.leases.get(key)
        if lease is None:
            return False
        return lease.wanted_by == self.me or (
            self.asked is not None and self._free_since(lease) <= self.asked
        )

    def _free_since(self, lease: Lease) -> datetime:
        watcher = self.watchers.get(lease.watcher or "")
        ends = [one for one in (lease.free_from, watcher.until if watcher else None) if one is not None]
        return min(ends, default=self.now)

    def _part(self, sizes: Mapping[Unit, int]) -> Collection[Unit]:
        """Which units of free hosts are ours when each goes to the watcher with the fewest hosts."""
        loads = [(self.loads[self.me], 0), *((self.loads[one], 1) for one in self._rivals())]
        heapify(loads)
        ours = set()
        for unit, size in sizes.items():
            load, rank = loads[0]
            if rank == 0:
                ours.add(unit)
            heapreplace(loads, (load + size, rank))
        return ours

    def _rivals(self) -> Iterable[str]:
        """Others that watch some of our candidates, or nothing yet."""
        named = {self._owner(lease) for key, lease in self.leases.items() if key in self.candidates}
        return [one for one in self.others if one in named or not self.loads[one]]

    def _free(self, key: Key) -> Lease:
        """The lease of a host that we leave to others."""
        lease = self.leases.get(key) or Lease(None, together=self.together[key])
        return lease if lease.free_from else replace(lease, free_from=self.now)

    def _left(self) -> Sequence[Key]:
        """What we leave to others until the next ask."""
        return [key for key in self.candidates if self._is_free(self.leases[key])]

    def _want(self) -> None:
        """Want the rest of what we have the most of, and units of watchers that hold more than we would."""
        offered: dict[str, dict[Unit, list[Key]]] = {}
        for key in sorted(self.candidates):
            lease = self.leases[key]
            holder = self._holder(lease)
            if holder in self.others and lease.free_from is None and self._owner(lease) == holder:
                offered.setdefault(str(holder), {}).setdefault(self._unit(key), []).append(key)
        owners = self._owners()
        for other, units in offered.items():
            for unit in [unit for unit in units if len(owners[unit]) > 1]:
                keys = units.pop(unit)  # it is in several hands: whoever has the most of it wants the rest
                if (owners[unit][self.me], self.me) > (owners[unit][other], other):
                    self._want_all(keys)
        while offered:
            richest = max(offered, key=lambda one: (self.loads[one], one))
            more = self.loads[richest] - self.loads[self.me]
            # A part of a unit, where we cannot watch all of it, would only be wanted back.
            fitting = [
                unit
                for unit, keys in offered[richest].items()
                if len(keys) < more and len(keys) == owners[unit][richest]
            ]
            if fitting:
                self._want_all(offered[richest].pop(fitting[0]))
            else:
                del offered[richest]

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
        """The first moment before the usual one at which a host may come free for us."""
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
        return min((one for one in moments if self.now < one < self.now + self.interval), default=None)
