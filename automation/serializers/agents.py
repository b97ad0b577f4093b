"""Agents as the API shows them (decisions 10)."""

from typing import Any

from rest_framework import serializers

from automation.choices import AgentType
from automation.selectors.agents import AgentRow
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME


class AgentDocument(Document):
    """An agent, when it last reported, and whether it has fallen silent."""

    example = {
        "agentType": AgentType.MONITORING.value,
        "hostname": "agent1.example.com",
        "version": "1.0",
        "created": A_TIME,
        "lastReport": A_TIME,
        "down": False,
        "links": [],
    }

    agentType = serializers.ChoiceField([one.value for one in AgentType])
    hostname = serializers.CharField()
    version = serializers.CharField()
    created = serializers.DateTimeField()
    lastReport = serializers.DateTimeField()
    down = serializers.BooleanField(help_text="It has been silent for 4 minutes.")
    links = LinkDocument(many=True, help_text="None: agents are read in the list alone.")


def present_agent(row: AgentRow) -> dict[str, Any]:
    """An agent."""
    return {
        "agentType": row["agent_type"],
        "hostname": row["hostname"],
        "version": row["version"],
        "created": row["wire_created"],
        "lastReport": row["wire_last_report"],
        "down": row["down"],
        "links": [],
    }
