"""Several arbiters of a replica set: the servers that refuse them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from automation.plan.guards import UnitState
from automation.plan.reasons import PlanReason
from automation.plan.values import MemberConfig, PlanHold, Settings
from automation.plan.versions import SERIES, series

_SINGLE_ARBITER_SINCE = SERIES.index("6.0")
"""Since 5.3, servers refuse several arbiters, and do not start as members of a replica set that has them."""
SEVERAL_ARBITERS = "setParameter.allowMultipleArbiters"


def takes_arbiters(settings: Settings) -> bool:
    """Whether a server with these settings takes several arbiters, whatever its version."""
    return settings.get(SEVERAL_ARBITERS) in {'"true"', '"1"'}


def refuses_arbiters(version: str | None, settings: Settings) -> bool | None:
    """Whether a server with this version and these settings refuses several arbiters; None if not known."""
    if takes_arbiters(settings):
        return False
    place = series(version)
    return None if place is None else place >= _SINGLE_ARBITER_SINCE


def arbiters_hold(
    state: UnitState, process: str, version: str, members: Iterable[MemberConfig]
) -> PlanHold | None:
    """Why a server that refuses several arbiters cannot be in a replica set with these members."""
    arbiters = [member.process for member in members if member.is_arbiter]
    if len(arbiters) < 2:
        return None
    return state.hold(PlanReason.SEVERAL_ARBITERS, process, version=version, others=", ".join(arbiters))
