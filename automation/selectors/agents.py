"""Reading agents."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Lower

from automation.choices import AgentType
from automation.models import (
    Agent,
)
from events.facts import EventFacts
from opsapi.fields import WireTime
from opsapi.wire_json import JsonObject

AgentRow = JsonObject


def agent_rows(group_id: str, *, agent_type: AgentType | None = None) -> QuerySet[Agent, Any]:
    """Return the agents of a project, optionally of one type, by type and hostname."""
    agents = Agent.objects.filter(group_id=group_id).order_by("agent_type", Lower("hostname"))
    agents = agents if agent_type is None else agents.filter(agent_type=agent_type.value)
    return agents.values(
        "id",
        "group_id",
        "agent_type",
        "hostname",
        "version",
        "down",
        wire_created=WireTime("created"),
        wire_last_report=WireTime("last_report"),
    )


def agents_named(group_id: str, agent_type: AgentType, hostname: str) -> QuerySet[Agent]:
    """Return the agent with this type and hostname, ignoring case: at most one row."""
    agents = Agent.objects.filter(group_id=group_id, agent_type=agent_type.value)
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    return agents.alias(key=Lower("hostname")).filter(key=hostname.lower().replace("\0", "/"))


def known_agents(group_id: str, named: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs of agent type and lower-case hostname for which the project has an agent."""
    if not named:
        return set()
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    names = {hostname.replace("\0", "/") for _, hostname in named}
    agents = Agent.objects.filter(group_id=group_id).alias(key=Lower("hostname")).filter(key__in=names)
    return set(agents.values_list("agent_type", Lower("hostname"))).intersection(named)


def facts_of_agent(agent: Agent) -> EventFacts:
    """Return the facts that identify an agent in events."""
    return EventFacts(hostname=agent.hostname, source_type_name=agent.agent_type)


def agent_state(agent: Agent) -> JsonObject:
    """Return the state of an agent under its wire names, for alerting."""
    return {
        **facts_of_agent(agent).document(),
        "down": agent.down,
        "versionBehind": agent.version_behind,
    }
