"""The settings that a project keeps for its agents, as the API shows and accepts them."""

from typing import Any

from rest_framework import serializers

from automation.agent.settings import LONGEST_INTERVAL, SHORTEST_INTERVAL
from automation.agent_settings.rules import FORMS, LONGEST_STRING, MOST_STRINGS, is_redacted, redacted_string
from automation.fields import Labels
from automation.metrics import Engine
from opsapi import VERSION
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, Document, invalid, links_of
from opsapi.api.fields import Flag, ListOf, ShownList, ShownMap, ShownNumber, ShownText, Text, Whole
from opsapi.api.links import Links
from opsapi.api.resources import Facts

MONGODB_EXAMPLE = "mongodb://opsapi-agent:a%20password@db1.example.com:27017/?authSource=admin"
POSTGRESQL_EXAMPLE = "postgresql://opsapi_agent:a%20password@db2.example.com:5432/postgres"


class ConnectionString(Text):
    """A connection string of an engine, in full or redacted."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        self.engine = engine
        super().__init__(max_length=LONGEST_STRING, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(data)
        if not is_redacted(text) and (fault := FORMS[self.engine].fault(text)):
            raise invalid(fault)
        return text


class AgentSettingsDocument(Document):
    """The settings that a project keeps for its agents. Settings of an agent's machine override them."""

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    request_example = {
        "mongodb": [MONGODB_EXAMPLE],
        "postgresql": [POSTGRESQL_EXAMPLE],
        "intervalSeconds": 30,
        "labels": {"env": "production"},
        "selfUpdate": True,
    }

    mongodb = ListOf(
        ConnectionString(Engine.MONGODB),
        max_length=MOST_STRINGS,
        default=list,
        help_text="Connection strings of MongoDB. Passwords and secret options are redacted. A redacted "
        "string that is sent back keeps the stored string.",
        example=[redacted_string(MONGODB_EXAMPLE)],
    )
    postgresql = ListOf(
        ConnectionString(Engine.POSTGRESQL),
        max_length=MOST_STRINGS,
        default=list,
        help_text="Connection URIs of PostgreSQL, redacted as the strings of MongoDB.",
        example=[redacted_string(POSTGRESQL_EXAMPLE)],
    )
    intervalSeconds = Whole(
        min_value=SHORTEST_INTERVAL,
        max_value=LONGEST_INTERVAL,
        required=False,
        help_text="Seconds between the starts of two rounds. Without it, agents use their default, 60.",
        example=30,
    )
    labels = Labels(
        required=False,
        help_text="Labels of all hosts that the agents report.",
        example={"env": "production"},
    )
    selfUpdate = Flag(
        default=False,
        help_text="Whether agents that run as a single file replace it by the file of the platform when the "
        "versions differ.",
        example=True,
    )
    version = Text(
        max_length=24,
        required=False,
        help_text="The version of the settings, a new value after each change. A request with a version that "
        "is not the stored version is refused.",
        example=AN_ID,
    )
    links = links_of(f"/groups/{AN_ID}/agents/settings", read_only=True)

    @classmethod
    def present(cls, facts: Facts, group_id: str, links: Links) -> Facts:
        """Return the settings with their links."""
        group = f"/groups/{group_id}"
        return {**facts, "links": links.related(f"{group}/agents/settings", {"group": group})}


class AgentFileDocument(Document):
    """The agent file of this platform, with which the agents of the project replace their own file."""

    version = serializers.CharField()
    sha256 = serializers.CharField(help_text="SHA-256 of the file, in hexadecimal.")
    size = serializers.IntegerField(help_text="Bytes of the file.")


class FullAgentSettingsDocument(Document):
    """The settings that a project keeps for its agents, with all secrets."""

    mongodb = ShownList(child=serializers.CharField(), example=[MONGODB_EXAMPLE])
    postgresql = ShownList(child=serializers.CharField(), example=[POSTGRESQL_EXAMPLE])
    withheldCount = ShownNumber(
        required=False,
        help_text="The number of connection strings that are left out, because the key is restricted to a "
        "machine (`hostnames`) and some of their servers are, or can be, on another. Absent if it is 0.",
        example=1,
    )
    intervalSeconds = ShownNumber(required=False, example=30)
    labels = ShownMap(child=serializers.CharField(), required=False, example={"env": "production"})
    agentFile = AgentFileDocument(
        required=False,
        help_text="Absent unless agents update themselves.",
        example={"version": VERSION, "sha256": "0" * 64, "size": 4_000_000},
    )
    version = ShownText(
        help_text="Another value after each change, and for another `agentFile`.",
        example=f"{AN_ID}.0000000000000000",
    )
