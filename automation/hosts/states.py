"""Shared presentation of states: hosts, replica sets, clusters and agents."""

from datetime import datetime

from django.contrib import admin
from django.db.models import Value
from django.db.models.functions import Coalesce, Concat
from django.utils.safestring import SafeString

from automation.agents.models import Agent
from automation.agents.rules import unheard_for
from automation.choices import HostType
from automation.hosts.models import Host, ReplicaSet
from automation.hosts.store import MembersNow
from automation.wording import database_words, engine_words, type_words
from opsapi import clock
from opsapi.clock import age_words, ago_words, time_words
from opsapi.console.admin_urls import list_url
from opsapi.console.display import EMPTY, ago, badge, link, tipped
from opsapi.console.widgets import Tone

State = tuple[str, Tone]
"""The words and the tone of a state."""

_NO_DATA = "no data"
_DEMONSTRATION: State = ("demonstration", Tone.INFO)


class HostColumns:
    """Columns of hosts, in lists of hosts and of members."""

    @admin.display(description="state")
    def state(self, host: Host) -> SafeString:
        """Up, measured or not, down, no data, or demonstration."""
        return badge(*host_state(host, clock.now()))

    @admin.display(
        description="database", ordering=Concat(Coalesce("engine", Value("")), Coalesce("version", Value("")))
    )
    def database(self, host: Host) -> SafeString:
        """Engine, version and type, with the type in the API as a tooltip."""
        version = with_behind(host.version, behind=host.version_behind) if host.version else None
        words = database_words(engine=host.engine, version=version, type_name=host.type_name)
        return tipped(words, host.type_name)

    @admin.display(description="type", ordering="type_name")
    def role(self, host: Host) -> SafeString:
        """The type in the words of the engine."""
        return tipped(type_words(host.type_name, host.engine), host.type_name)

    @admin.display(description="engine", ordering="engine")
    def shown_engine(self, host: Host) -> str:
        """The engine, if a report says it."""
        return engine_words(host.engine)

    @admin.display(description="version", ordering="version")
    def shown_version(self, host: Host) -> str:
        """The version, marked if another host runs a newer version of the same series."""
        return with_behind(host.version, behind=host.version_behind)

    @admin.display(description="measured", ordering="measured")
    def last_measured(self, host: Host) -> SafeString | str:
        """Time since the last measurement, with the problem as a tooltip."""
        if host.problem:
            return tipped(ago_words(host.measured, clock.now()) if host.measured else "never", host.problem)
        return ago(host.measured)

    @admin.display(description="last report", ordering="last_report")
    def reported(self, host: Host) -> SafeString | str:
        """Time since the last report."""
        return ago(host.last_report)


def host_state(host: Host, now: datetime) -> State:
    """Down, up, not measured, or no data with the time since the last report.

    A host of the demonstration is not expected to be reported.
    """
    if host.down:
        return "down", Tone.BAD
    if host.last_report is None:
        return _NO_DATA, Tone.PLAIN
    if not unheard_for(host.last_report, now):
        return ("up, not measured", Tone.WARNING) if host.not_measured else ("up", Tone.GOOD)
    if host.reported_by is not None and host.reported_by.demonstration:
        return _DEMONSTRATION
    return _no_data(host.last_report, now)


def reachable_words(host: Host, now: datetime) -> str:
    """Whether the newest observation reached a host, and when: `yes, 10 s ago`."""
    observed = host.observed or host.last_report
    if observed is None:
        return "not known: no agent has reported the host"
    return f"{'no' if host.down else 'yes'}, {ago_words(observed, now)}"


def measured_words(host: Host, now: datetime) -> str:
    """When a host was last measured, and why it is not measured:

    `last 12:03, 6 min ago. Not measured now: refused`.
    """
    last = f"{time_words(host.measured)}, {ago_words(host.measured, now)}" if host.measured else None
    if host.unmeasured_since is None:
        return last or "never"
    reason = host.problem or "the reports of its agent contain no measurements"
    return f"last {last}. Not measured now: {reason}" if last else f"never: {reason}"


def known_type_words(host: Host) -> str:
    """The known type of a host: `Primary`."""
    if host.type_name == HostType.NO_DATA.value:
        return "not known"
    words = type_words(host.type_name, host.engine)
    return f"{words}, as its agent assumes: the host was never reached" if host.type_guessed else words


def set_state(replica_set: ReplicaSet, members: MembersNow, now: datetime) -> State:
    """The worst known state of a replica set. With unknown members it is not healthy."""
    if not replica_set.healthy + replica_set.unhealthy + replica_set.unknown:
        return "no members", Tone.PLAIN
    if replica_set.primary_unknown:
        return "primary unknown", Tone.WARNING
    if replica_set.primaries != 1:
        return "several primaries" if replica_set.primaries else "no primary", Tone.BAD
    if members.known.unhealthy:
        return "members unhealthy", Tone.WARNING
    if members.known.unknown:
        return "members not measured", Tone.WARNING
    return _unknown(members, now) or _demonstrated(members) or ("healthy", Tone.GOOD)


def cluster_state(members: MembersNow, now: datetime) -> State:
    """Number of hosts of a cluster that are down, otherwise the number of unknown hosts."""
    if not members.hosts:
        return "no hosts", Tone.PLAIN
    if members.down:
        return f"{members.down} down", Tone.BAD
    return _unknown(members, now) or _demonstrated(members) or ("up", Tone.GOOD)


def agent_state(agent: Agent, now: datetime) -> State:
    """Reporting, or the time since the last report; from the last report, as for a host.

    An agent of the demonstration is not expected to report, but it can be down as part of the demonstration.
    """
    if agent.demonstration and not agent.down:
        return _DEMONSTRATION
    if agent.down or unheard_for(agent.last_report, now):
        return f"no report · {age_words(now - agent.last_report)}", Tone.BAD
    return "reporting", Tone.GOOD


def alerts_about(name: str, group_id: str) -> SafeString:
    """A link to the alerts about an agent, replica set or cluster of a project."""
    url = list_url("alerting.alert", state="all", q=f'"{name}"', group__id__exact=group_id)
    return link(url, "Show alerts")


def with_behind(version: str | None, *, behind: bool) -> str:
    """A version, marked if others run a newer version."""
    return f"{version} (behind)" if version and behind else version or EMPTY


def _unknown(members: MembersNow, now: datetime) -> State | None:
    if not members.unknown:
        return None
    if members.unknown < members.hosts:
        return f"{members.unknown} unknown", Tone.PLAIN
    return _no_data(members.last_report, now)


def _demonstrated(members: MembersNow) -> State | None:
    return _DEMONSTRATION if members.demonstration else None


def _no_data(last_report: datetime | None, now: datetime) -> State:
    """`no data · 28 min`; without the time if the host never reported."""
    age = f" · {age_words(now - last_report)}" if last_report else ""
    return f"{_NO_DATA}{age}", Tone.PLAIN
