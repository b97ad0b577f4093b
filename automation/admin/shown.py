"""What pages of the fleet show alike: when something was last heard of, and how it stands."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString

from automation.choices import HostType
from automation.models import Agent, Host, ReplicaSet
from opsapi import clock
from opsapi.console.ages import age_words
from opsapi.console.display import EMPTY
from opsapi.console.parts import Tone

HOST_TONES = {"up": Tone.GOOD.value, "down": Tone.BAD.value, "no data": Tone.PLAIN.value}
SET_TONES = {
    "healthy": Tone.GOOD.value,
    "members unhealthy": Tone.WARNING.value,
    "no primary": Tone.BAD.value,
    "several primaries": Tone.BAD.value,
    "no members": Tone.PLAIN.value,
}
AGENT_TONES = {"reporting": Tone.GOOD.value, "silent": Tone.BAD.value}


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


def ago(moment: datetime | None) -> SafeString | str:
    """`3 h 20 min ago`, with the time itself for who looks closer; never heard of: a dash."""
    if moment is None:
        return EMPTY
    words = f"{age_words(clock.now() - moment)} ago"
    return format_html('<time datetime="{}" title="{}">{}</time>', clock.wire_time(moment), moment, words)


def with_behind(version: str | None, *, behind: bool) -> str:
    """A version, and whether others have a higher one."""
    return f"{version} (behind)" if version and behind else version or EMPTY
