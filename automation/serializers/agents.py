"""Agents as the API shows them."""

from typing import Any

from rest_framework import serializers

from automation.choices import AgentType
from automation.selectors.agents import AgentRow
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME

_TYPES = [one.value for one in AgentType]
_REPORTING, _SILENT = "ACTIVE", "DOWN"


class AgentDocument(Document):
    """An agent, when it last reported, and whether it has fallen silent."""

    example = {
        "agentType": AgentType.MONITORING.value,
        "typeName": AgentType.MONITORING.value,
        "hostname": "agent1.example.com",
        "version": "1.0",
        "created": A_TIME,
        "lastReport": A_TIME,
        "lastPing": A_TIME,
        "down": False,
        "stateName": _REPORTING,
        "links": [],
    }

    agentType = serializers.ChoiceField(_TYPES)
    typeName = serializers.ChoiceField(_TYPES, help_text="The same as agentType.")
    hostname = serializers.CharField()
    version = serializers.CharField()
    created = serializers.DateTimeField()
    lastReport = serializers.DateTimeField()
    lastPing = serializers.DateTimeField(help_text="The same as lastReport.")
    down = serializers.BooleanField(help_text="It has been silent for 4 minutes.")
    stateName = serializers.ChoiceField([_REPORTING, _SILENT], help_text="down in a word.")
    links = LinkDocument(many=True, help_text="None: agents are read in the list alone.")


def present_agent(row: AgentRow) -> dict[str, Any]:
    """An agent."""
    return {
        "agentType": row["agent_type"],
        "typeName": row["agent_type"],
        "hostname": row["hostname"],
        "version": row["version"],
        "created": row["wire_created"],
        "lastReport": row["wire_last_report"],
        "lastPing": row["wire_last_report"],
        "down": row["down"],
        "stateName": _SILENT if row["down"] else _REPORTING,
        "links": [],
    }
