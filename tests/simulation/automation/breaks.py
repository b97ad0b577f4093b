"""The plan broken on purpose, one rule at a time: what the simulator of fleets has to find.

The last ones were in the plan until the simulator found them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from automation.plan import (
    concerns,
    data_moves,
    guards,
    key_files,
    planner,
    process_moves,
    reading,
    set_moves,
    version_choice,
)
from automation.plan.auth import KeyUse
from automation.plan.guards import HEALTHY, UnitState
from automation.plan.values import KeyFile, MemberState, Move, MoveKind, PlanStep
from automation.plan.versions import series
from tests.simulation.automation.fleet import FleetPromise

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class PlanBreak:
    """What is broken, a seed that finds it, and the promises of which one is broken with it."""

    name: str
    seed: int
    promises: frozenset[FleetPromise]
    apply: Callable[[Patch], None]


def _nothing(*_: Any, **__: Any) -> Iterator[Any]:
    return iter(())


def _without(*names: str) -> Callable[[Patch], None]:
    """Break guards: they hold always, wherever they are asked."""

    def apply(patch: Patch) -> None:
        for name in names:
            for module in (guards, set_moves):
                if hasattr(module, name):
                    patch.setattr(module, name, _nothing)

    return apply


def _unknown_is_healthy(patch: Patch) -> None:
    def is_healthy(self: UnitState, name: str) -> bool:
        seen = self.process(name)
        return seen.is_running is None or (bool(seen.is_running) and seen.state in HEALTHY)

    patch.setattr(UnitState, "is_healthy", is_healthy)
    patch.setattr(UnitState, "is_known", lambda self, name: True)


def _primary_is_interrupted(patch: Patch) -> None:
    def primary_last(state: UnitState, move: Move) -> PlanStep:
        holds = guards.disturbance_holds(state, move.process)
        return PlanStep((), tuple(holds)) if holds else PlanStep((move,))

    patch.setattr(planner, "_primary_last", primary_last)


def _primary_first(patch: Patch) -> None:
    def rolling(state: UnitState, own: Any) -> PlanStep:
        of_primary = [move for name, move in own.changes.items() if planner._is_primary(state, name)]
        return planner._primary_last(state, of_primary[0]) if of_primary else real(state, own)

    real = planner._rolling
    patch.setattr(planner, "_rolling", rolling)


def _concern_is_forgotten(patch: Patch) -> None:
    patch.setattr(planner, "concern_move", lambda _: PlanStep())


def _concern_at_any_version(patch: Patch) -> None:
    patch.setattr(set_moves, "_concern_unknown", _nothing)
    patch.setattr(concerns, "CONCERNS_SINCE", 0)


def _first_concern(patch: Patch) -> None:
    """The first process decides, also with values that servers refuse."""

    def first(processes: Any, _: Any) -> tuple[Any, str]:
        return (processes[0].concern if processes else {}), ""

    patch.setattr(reading, "united_concern", first)


def _the_file_comes_first(patch: Patch) -> None:
    """The file is written while the earlier version still runs."""
    real = planner._rolling

    def rolling(state: UnitState, own: Any) -> PlanStep:
        found = real(state, own)
        for move in found.moves:
            is_written = state.process(move.process).file == state.goals[move.process].settings
            if move.kind is MoveKind.CHANGE_VERSION and not is_written:
                return PlanStep((state.move(MoveKind.WRITE_FILE, move.process),))
        return found

    patch.setattr(planner, "_rolling", rolling)


def _any_arbiters(patch: Patch) -> None:
    patch.setattr(set_moves, "_refusals", _nothing)


def _any_version_with_arbiters(patch: Patch) -> None:
    patch.setattr(version_choice, "arbiters_hold", lambda *_: None)
    patch.setattr(reading, "_several_arbiters", _nothing)


def _two_series_at_once(patch: Patch) -> None:
    real = version_choice._version_of_neighbour

    def version_of_neighbour(state: UnitState, goal: Any, process: Any, place: int) -> Any:
        found = real(state, goal, process, place)
        return process.version if isinstance(found, str) else found

    patch.setattr(version_choice, "_version_of_neighbour", version_of_neighbour)


def _feature_version_is_ignored(patch: Patch) -> None:
    """A server changes its version whatever the feature compatibility version is."""
    patch.setattr(version_choice, "supports", lambda *_: True)


def _feature_version_before_the_members(patch: Patch) -> None:
    patch.setattr(set_moves, "_unsupported", _nothing)
    real = set_moves._feature_target

    def feature_target(state: UnitState, running: Any) -> int | None:
        goal = series(running[0].feature_version)
        now = series(version_choice.feature_version_of(state, running[0]))
        return goal if goal != now and goal is not None else real(state, running)

    patch.setattr(set_moves, "_feature_target", feature_target)


def _feature_version_only_at_the_end(patch: Patch) -> None:
    """Version changes that need another feature compatibility version never get it."""
    real = set_moves._feature_target

    def feature_target(state: UnitState, running: Any) -> int | None:
        waits = any(series(state.process(p.name).version) != series(p.version) for p in running)
        return None if waits else real(state, running)

    patch.setattr(set_moves, "_feature_target", feature_target)


def _clock_decides_about_restarts(patch: Patch) -> None:
    def is_restart_due(process: Any, seen: Any, now: Any) -> bool:
        due = process.restart is not None and process.restart <= now
        return bool(due and (seen.started is None or seen.started < process.restart))

    patch.setattr(process_moves, "_is_restart_due", is_restart_due)


def _copies_are_not_counted(patch: Patch) -> None:
    for module in (guards, planner):
        patch.setattr(module, "resync_holds", _nothing)


def _the_only_copy_goes(patch: Patch) -> None:
    _copies_are_not_counted(patch)
    patch.setattr(data_moves, "_resync_refusal", lambda *_: "")


def _unknown_data_is_old(patch: Patch) -> None:
    real = data_moves._is_resync_due
    patch.setattr(data_moves, "_is_resync_due", lambda *given: real(*given) is not False)


def _clock_decides_about_resyncs(patch: Patch) -> None:
    real = data_moves._is_resync_due

    def is_resync_due(process: Any, seen: Any, now: Any) -> Any:
        return real(process, replace(seen, resync=None), now)

    patch.setattr(data_moves, "_is_resync_due", is_resync_due)


def _resyncs_are_forgotten(patch: Patch) -> None:
    patch.setattr(data_moves, "_is_resync_due", lambda *_: False)


def _old_data_goes_before_the_sync(patch: Patch) -> None:
    patch.setattr(data_moves, "WITH_ALL_DATA", frozenset({*MemberState, None}))


def _compactions_are_forgotten(patch: Patch) -> None:
    patch.setattr(data_moves, "_is_uncompacted", lambda *_: False)


def _primaries_are_compacted(patch: Patch) -> None:
    _primary_is_interrupted(patch)
    patch.setattr(data_moves, "_compact_refusal", lambda *_: "")


def _the_only_voter_is_compacted(patch: Patch) -> None:
    patch.setattr(data_moves, "_compact_refusal", lambda *_: "")


def _times_without_a_zone_compact(patch: Patch) -> None:
    patch.setattr(reading, "has_zone", bool)


def _old_data_stays(patch: Patch) -> None:
    patch.setattr(planner, "removal", lambda *_: None)


def _restarts_are_forgotten(patch: Patch) -> None:
    patch.setattr(process_moves, "_is_restart_due", lambda *_: False)


def _everything_at_run_time(patch: Patch) -> None:
    patch.setattr(process_moves, "_is_settable", lambda *_: True)


def _defaults_at_run_time(patch: Patch) -> None:
    def is_settable(process: Any, seen: Any, names: tuple[str, ...]) -> bool:
        return all(name in (seen.settable or ()) for name in names)

    patch.setattr(process_moves, "_is_settable", is_settable)


def _file_is_forgotten(patch: Patch) -> None:
    """A parameter changes at run time only, so that a restart loses it."""

    def without_restart(state: UnitState, process: Any) -> Any:
        seen = state.process(process.name)
        names = process_moves.changed_settings(process, seen)
        return Move(MoveKind.SET_PARAMETER, process.name, settings=names) if names else None

    patch.setattr(planner, "without_restart", without_restart)


def _data_can_move(patch: Patch) -> None:
    patch.setattr(process_moves, "_fixed_settings", lambda *_: None)


def _a_field_is_left_alone_without_a_word(patch: Patch) -> None:
    patch.setattr(reading, "NOT_PLANNED", dict(list(reading.NOT_PLANNED.items())[1:]))


def _restarts_are_called_left_alone(patch: Patch) -> None:
    patch.setattr(reading, "NOT_PLANNED", {**reading.NOT_PLANNED, "lastRestart": "because"})


def _failures_are_ignored(patch: Patch) -> None:
    patch.setattr(planner, "_failures", _nothing)


def _failures_stay(patch: Patch) -> None:
    """A failure under an earlier document stops the plan for good."""
    real = planner._failures

    def failures(state: UnitState, goal: Any) -> Any:
        for process in state.unit.processes:
            failure = state.process(process.name).failure
            if failure is not None:
                yield from real(state, replace(goal, number=failure.goal_number))

    patch.setattr(planner, "_failures", failures)


def _pauses_are_ignored(patch: Patch) -> None:
    patch.setattr(planner, "_pause", _nothing)


def _manual_mode_is_ignored(patch: Patch) -> None:
    real = planner._own_needs

    def own_needs(state: UnitState, goal: Any) -> Any:
        processes = tuple(replace(process, is_manual=False) for process in state.unit.processes)
        return real(replace(state, unit=replace(state.unit, processes=processes)), goal)

    patch.setattr(planner, "_own_needs", own_needs)


def _with_nothing_awaited(own: Any) -> Any:
    return replace(own, holds=(), preparing=frozenset())


def _initiated_with_what_is_known(patch: Patch) -> None:
    """The unknown state of a process does not stop the initiation."""
    patch.setattr(set_moves, "_unknown", _nothing)
    real = set_moves.initiate

    def initiate(state: UnitState) -> PlanStep:
        stated = state.unit.members or ()
        known = [member for member in stated if state.process(member.process).is_running]
        return real(replace(state, unit=replace(state.unit, members=tuple(known))))

    patch.setattr(planner, "initiate", initiate)
    real_new_set = planner._of_new_set
    patch.setattr(planner, "_of_new_set", lambda state, own: real_new_set(state, _with_nothing_awaited(own)))


def _new_members_vote(patch: Patch) -> None:
    real = set_moves._addition

    def addition(state: UnitState, wanted: Any, settled: Any) -> Any:
        found = real(state, wanted, settled)
        if not isinstance(found, Move):
            return found
        member = replace(wanted, number=found.members[0].number)
        return replace(found, members=(member,))

    patch.setattr(set_moves, "_addition", addition)


def _the_primary_is_removed(patch: Patch) -> None:
    def removal(state: UnitState, member: Any) -> Move:
        return set_moves._by_primary(state, MoveKind.REMOVE_MEMBER, member)

    patch.setattr(set_moves, "_removal", removal)


def _all_members_at_once(patch: Patch) -> None:
    """Members change without regard to the majority of the members that stay."""
    patch.setattr(set_moves, "majority_of", _nothing)
    patch.setattr(set_moves, "others_present", _nothing)


def _joining_at_any_version(patch: Patch) -> None:
    patch.setattr(planner, "outsider_hold", lambda *_: None)


def _initiation_at_any_version(patch: Patch) -> None:
    def initiation(state: UnitState, members: Any) -> PlanStep:
        name = next(member.process for member in members if member.is_electable)
        move = Move(MoveKind.INITIATE, name, state.unit.replica_set, members=tuple(members))
        return PlanStep((move,))

    patch.setattr(set_moves, "_initiation", initiation)


def _gone_data_is_ignored(patch: Patch) -> None:
    real = version_choice.start_version

    def start_version(state: UnitState, goal: Any, process: Any, seen: Any) -> Any:
        return real(state, goal, process, replace(seen, is_data_gone=False))

    patch.setattr(process_moves, "start_version", start_version)


def _the_primary_does_not_wait_for_downloads(patch: Patch) -> None:
    real = planner._rolling

    def rolling(state: UnitState, own: Any) -> PlanStep:
        return real(state, replace(own, preparing=frozenset()))

    patch.setattr(planner, "_rolling", rolling)


def _newcomers_go_ahead(patch: Patch) -> None:
    patch.setattr(version_choice, "_is_newcomer", lambda *_: False)


def _manual_newcomers_are_not_awaited(patch: Patch) -> None:
    patch.setattr(set_moves, "_manual_hold", lambda *_: None)


def _manual_members_are_awaited_without_a_word(patch: Patch) -> None:
    real = set_moves.initiate

    def initiate(state: UnitState) -> PlanStep:
        found = real(state)
        return PlanStep(found.moves, tuple(hold for hold in found.holds if hold.process))

    patch.setattr(planner, "initiate", initiate)


def _members_are_cut_off(patch: Patch) -> None:
    patch.setattr(key_files, "_separated", _nothing)


def _another_key_is_replaced(patch: Patch) -> None:
    """The key file of the document takes the place of any other."""

    def lacks_key(process: Any, seen: Any) -> bool:
        return bool(process.key_file) and seen.key_file is not KeyFile.SAME

    patch.setattr(process_moves, "lacks_key", lacks_key)
    patch.setattr(process_moves, "key_hold", lambda *_: None)


def _no_key_file_is_written(patch: Patch) -> None:
    patch.setattr(process_moves, "lacks_key", lambda *_: False)


def _passwords_go_anywhere(patch: Patch) -> None:
    """A server gets passwords before it has its key file."""
    real = set_moves.users_move

    def users_move(state: UnitState) -> PlanStep:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(UnitState, "key_use", lambda *_: KeyUse.FULL)
            users = state.unit.users if state.of_set.users is None else state.of_set.users
            return real(replace(state, of_set=replace(state.of_set, users=users)))

    patch.setattr(planner, "users_move", users_move)


def _users_are_forgotten(patch: Patch) -> None:
    patch.setattr(planner, "users_move", lambda _: PlanStep())


_P = FleetPromise
_END, _VERSION, _SERVER = frozenset({_P.END}), frozenset({_P.VERSION}), frozenset({_P.SERVER})
_MAJORITY, _ONE, _CALM = frozenset({_P.MAJORITY}), frozenset({_P.ONE_AT_A_TIME}), frozenset({_P.CALM})
_KEY = frozenset({_P.KEY})
_PRIMARY, _HANDS, _DATA = frozenset({_P.PRIMARY_LAST}), frozenset({_P.HANDS_OFF}), frozenset({_P.DATA})

PLAN_BREAKS = (
    PlanBreak("no majority is needed", 42, _MAJORITY, _without("majority")),
    PlanBreak("other members may be away", 12, _ONE | _CALM, _without("others_present")),
    PlanBreak("the turn of another process is ignored", 1, _HANDS, _without("turn")),
    PlanBreak(
        "a replica set without a primary is disturbed",
        438,
        _PRIMARY | _MAJORITY | _SERVER,
        _without("primary"),
    ),
    PlanBreak("lag is ignored", 103, _CALM, _without("lag")),
    PlanBreak("the oplog is ignored", 7, frozenset({_P.OPLOG}), _without("oplog")),
    PlanBreak("alerts are ignored", 84, _CALM, _without("alerts")),
    PlanBreak("members leave whatever the others do", 76, _CALM, _without("loss_holds")),
    PlanBreak("nobody needs to follow the primary", 98, _END, _without("electable")),
    PlanBreak("unknown counts as healthy", 304, frozenset(_P), _unknown_is_healthy),
    PlanBreak("the primary does not step down", 1, _PRIMARY, _primary_is_interrupted),
    PlanBreak("the primary comes first", 1, _PRIMARY | _END, _primary_first),
    PlanBreak("two series at once", 1, _VERSION, _two_series_at_once),
    PlanBreak("the feature version does not limit versions", 1, _VERSION, _feature_version_is_ignored),
    PlanBreak("the feature version comes first", 7, _VERSION, _feature_version_before_the_members),
    PlanBreak("the feature version comes only at the end", 1, _END, _feature_version_only_at_the_end),
    PlanBreak("the clock decides about restarts", 118, _END, _clock_decides_about_restarts),
    PlanBreak("restarts are forgotten", 26, _END, _restarts_are_forgotten),
    PlanBreak("an initial sync needs no copies", 32_241, _DATA, _copies_are_not_counted),
    PlanBreak("the only copy of the data goes", 36, _DATA, _the_only_copy_goes),
    PlanBreak("data of an unknown age is old", 5, _HANDS, _unknown_data_is_old),
    PlanBreak("the clock decides about initial syncs", 7, _DATA, _clock_decides_about_resyncs),
    PlanBreak("initial syncs are forgotten", 7, _END, _resyncs_are_forgotten),
    PlanBreak("old data goes before the initial sync", 5, _DATA, _old_data_goes_before_the_sync),
    PlanBreak("compactions are forgotten", 1, _END, _compactions_are_forgotten),
    PlanBreak("primaries are compacted", 18, _SERVER, _primaries_are_compacted),
    PlanBreak("the only voting member is compacted", 69, _SERVER, _the_only_voter_is_compacted),
    PlanBreak("times without a zone compact", 11, _HANDS, _times_without_a_zone_compact),
    PlanBreak("old data stays", 7, _END, _old_data_stays),
    PlanBreak("all settings change at run time", 14, _SERVER, _everything_at_run_time),
    PlanBreak("settings get their defaults at run time", 326, _SERVER, _defaults_at_run_time),
    PlanBreak("the file is forgotten", 19, _END, _file_is_forgotten),
    PlanBreak("the file of a version comes before the version", 1527, _VERSION, _the_file_comes_first),
    PlanBreak("a server can get another data directory", 34, _DATA, _data_can_move),
    PlanBreak("a field is left alone without a word", 1, _END, _a_field_is_left_alone_without_a_word),
    PlanBreak("restarts are called left alone", 8, _END, _restarts_are_called_left_alone),
    PlanBreak("failures are ignored", 8, _HANDS | _END, _failures_are_ignored),
    PlanBreak("failures under earlier documents stay", 8, _END, _failures_stay),
    PlanBreak("pauses are ignored", 17, _HANDS, _pauses_are_ignored),
    PlanBreak("manual mode is ignored", 1515, _HANDS, _manual_mode_is_ignored),
    PlanBreak(
        "a replica set is initiated by the known processes",
        129,
        _HANDS | _DATA,
        _initiated_with_what_is_known,
    ),
    PlanBreak("new members vote at once", 0, _MAJORITY | _SERVER, _new_members_vote),
    PlanBreak("the primary is removed", 27, _SERVER, _the_primary_is_removed),
    PlanBreak("members change without a majority", 38, _MAJORITY | _ONE, _all_members_at_once),
    PlanBreak("the default concern is forgotten", 2, _END, _concern_is_forgotten),
    PlanBreak("a default concern at any version", 32, _SERVER, _concern_at_any_version),
    PlanBreak("the first process decides about the concern", 2, _SERVER | _END, _first_concern),
    PlanBreak("arbiters change the default write concern", 5, _SERVER, _any_arbiters),
    PlanBreak("any version takes several arbiters", 560, _SERVER, _any_version_with_arbiters),
    PlanBreak("members are cut off by a key file", 29, _KEY, _members_are_cut_off),
    PlanBreak("another key is replaced", 3, _KEY, _another_key_is_replaced),
    PlanBreak("no key file is written", 0, _SERVER, _no_key_file_is_written),
    PlanBreak("a server gets passwords before its key file", 6, _KEY, _passwords_go_anywhere),
    PlanBreak("users are forgotten", 0, _END, _users_are_forgotten),
    # Found while the simulator was built.
    PlanBreak("a member joins at any version", 713, _VERSION, _joining_at_any_version),
    PlanBreak("a replica set begins at any version", 62, _VERSION, _initiation_at_any_version),
    PlanBreak("a server starts although its data is gone", 676, _DATA, _gone_data_is_ignored),
    PlanBreak(
        "the primary does not wait for downloads", 314, _PRIMARY, _the_primary_does_not_wait_for_downloads
    ),
    PlanBreak("newcomers change their version first", 40470, _END, _newcomers_go_ahead),
    PlanBreak("a manual newcomer is not awaited", 21445, _SERVER, _manual_newcomers_are_not_awaited),
    PlanBreak("a new replica set waits without a word", 62, _END, _manual_members_are_awaited_without_a_word),
)
