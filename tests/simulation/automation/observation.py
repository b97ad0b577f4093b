"""The observed state of the simulated fleet, as far as it is visible."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from automation.plan.values import (
    NOTHING_OBSERVED,
    KeyFile,
    MemberConfig,
    MemberState,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    Settings,
)
from automation.plan.versions import SERIES
from tests.simulation.automation.documents import SET_NAME
from tests.simulation.automation.fleet import SimulatedServer
from tests.simulation.automation.run_state import BEGIN, SETTABLE, RunState


def observed_fleet(state: RunState) -> ObservedFleet:
    """The fleet as it is observed now."""
    world = state.world
    alerts = ("NO_PRIMARY",) if state.alert_until > world.now else ()
    of_set = ObservedSet(
        config=_observed_config(state),
        oplog=timedelta(seconds=world.oplog),
        oplog_lost=world.oplog_lost,
        turn=state.turn if state.turn_until > world.now else "",
        alerts=alerts,
        concern=_observed_concern(state),
        users=_observed_users(state),
    )
    alone = ObservedSet(users=_observed_users(state))
    return ObservedFleet(
        now=BEGIN + timedelta(minutes=world.now),
        processes={name: _observed_process(state, server) for name, server in world.servers.items()},
        sets={SET_NAME: of_set, "": alone},
        is_paused=state.paused_until > world.now,
    )


def _visible(state: RunState) -> Iterator[SimulatedServer]:
    """The servers that run and are observed."""
    unseen = state.unseen()
    yield from (
        server for server in state.world.servers.values() if server.is_running and server.name not in unseen
    )


def _observed_config(state: RunState) -> tuple[MemberConfig, ...]:
    """The configuration as a visible member says it; empty if no visible process knows one."""
    says = any(server.state is not MemberState.UNINITIATED for server in _visible(state))
    return state.world.config if says else ()


def _observed_concern(state: RunState) -> Settings | None:
    """The default concern as a visible member with data says it."""
    says = any(server.state in {MemberState.PRIMARY, MemberState.SECONDARY} for server in _visible(state))
    return state.world.concern if says else None


def _observed_users(state: RunState) -> tuple[str, ...] | None:
    """The users that are not as the document wants, as a visible primary or single server says them."""
    says = any(
        server.running_key and server.state in {MemberState.PRIMARY, MemberState.STANDALONE}
        for server in _visible(state)
    )
    known = state.world.users
    different = sorted(name for name, pwd in state.wanted_users().items() if known.get(name) != pwd)
    return tuple(different) if says else None


def _observed_key_file(state: RunState, server: SimulatedServer) -> KeyFile | None:
    key = state.stated_auth().get("key")
    if key is None:
        return None
    if server.is_running and server.running_key not in {"", key}:
        return KeyFile.DIFFERENT
    return KeyFile.MISSING if not server.key else KeyFile.SAME if server.key == key else KeyFile.DIFFERENT


def _observed_process(state: RunState, server: SimulatedServer) -> ObservedProcess:
    if server.name in state.unseen():
        return NOTHING_OBSERVED
    return ObservedProcess(
        is_running=server.is_running,
        state=server.state,
        version=_observed_version(server),
        feature_version=_observed_feature(server),
        has_data=server.has_data or _has_files(server),
        settings=server.settings,
        file=server.file,
        settable=SETTABLE,
        started=BEGIN + timedelta(minutes=server.started + server.clock) if server.version else None,
        restart=server.marker,
        resync=server.resync,
        compacted=server.compacted,
        data_since=_data_since(state, server),
        has_old_data=server.old > 0,
        builds=frozenset(server.builds),
        lag=timedelta(seconds=server.lag),
        failure=state.failures.get(server.name),
        key_file=_observed_key_file(state, server),
        is_data_gone=server.is_wiped and not server.is_running and not server.old,
    )


def _observed_feature(server: SimulatedServer) -> str | None:
    """As the server says, or said before its last start failed. Its data does not say it."""
    is_known = (server.is_running or server.has_failed) and server.feature is not None
    return SERIES[server.feature or 0] if is_known else None


def _has_files(server: SimulatedServer) -> bool:
    """Whether a server that is down has left files, which count as data: they do not say what they hold."""
    return not server.is_running and server.data_since is not None


def _observed_version(server: SimulatedServer) -> str | None:
    """The version that runs, or of the file of a server that has run."""
    is_of_file = bool(server.version and server.file_version) and not server.is_running
    return (server.file_version if is_of_file else server.version) or None


def _data_since(state: RunState, server: SimulatedServer) -> datetime | None:
    is_known = server.data_since is not None and not state.is_ageless(server.name)
    return BEGIN + timedelta(minutes=server.data_since or 0) if is_known else None
