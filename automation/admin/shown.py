"""What pages of the fleet show alike: how something stands."""

from automation.choices import HostType
from automation.models import Agent, Host, ReplicaSet
from opsapi.console.display import EMPTY
from opsapi.console.parts import Tone

HOST_TONES = {"up": Tone.GOOD, "down": Tone.BAD, "no data": Tone.PLAIN}
SET_TONES = {
    "healthy": Tone.GOOD,
    "members unhealthy": Tone.WARNING,
    "no primary": Tone.BAD,
    "several primaries": Tone.BAD,
    "no members": Tone.PLAIN,
}
AGENT_TONES = {"reporting": Tone.GOOD, "silent": Tone.BAD}


def host_state(host: Host) -> str:
    """How a host stands, in a word."""
    if host.down:
        return "down"
    return "no data" if host.type_name == HostType.NO_DATA.value else "up"


def set_state(one: ReplicaSet) -> str:
    """How a replica set stands, in a word or two: the worst that is the matter."""
    if not one.healthy + one.unhealthy:
        return "no members"
    if one.primaries != 1:
        return "several primaries" if one.primaries else "no primary"
    return "members unhealthy" if one.unhealthy else "healthy"


def agent_state(agent: Agent) -> str:
    """How an agent stands, in a word."""
    return "silent" if agent.down else "reporting"


def with_behind(version: str | None, *, behind: bool) -> str:
    """A version, and whether others have a higher one."""
    return f"{version} (behind)" if version and behind else version or EMPTY
