"""The members of a replica set in the documents of servers: their states and their delays. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from automation.plan.values import MemberState

STATES = {
    0: MemberState.STARTING,
    1: MemberState.PRIMARY,
    2: MemberState.SECONDARY,
    3: MemberState.RECOVERING,
    5: MemberState.SYNCING,
    7: MemberState.ARBITER,
    9: MemberState.ROLLBACK,
    10: MemberState.REMOVED,
}
"""The states of members by their numbers."""
WITHOUT_CONFIG = frozenset({MemberState.UNINITIATED, MemberState.STANDALONE})
"""The states of a process that has no configuration of a replica set."""
DOWN = 8
"""The number of a member that another member does not reach."""
DELAYS = ("secondaryDelaySecs", "slaveDelay")
"""The names of the delay of a member: since feature compatibility version 5.0, and before."""


def state_of(number: object) -> MemberState | None:
    """The state with this number; None if it is not known."""
    return STATES.get(number) if isinstance(number, int) else None


def delay_of(member: Mapping[str, Any]) -> int:
    """The delay of a member of a configuration, in seconds; 0 without a delay."""
    return int(next((member[name] for name in DELAYS if name in member), 0))
