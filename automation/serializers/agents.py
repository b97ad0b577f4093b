"""Agents as the API shows them."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rest_framework import serializers

from automation.choices import AgentState, AgentType, MetricState
from automation.metrics import Metric
from automation.selectors.agents import AgentRow
from automation.selectors.leases import WatchedHost, Watching
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.examples import A_TIME, AN_ID, self_link
from opsapi.api.links import Links
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject

_TYPES = [agent_type.value for agent_type in AgentType]
_EXAMPLE_PATH = f"/groups/{AN_ID}/agents/{AgentType.MONITORING.value}/agent1.example.com"


class AgentDocument(Document):
    """An agent, the time of its last report, and whether it has stopped reporting."""

    example = {
        "agentType": AgentType.MONITORING.value,
        "typeName": AgentType.MONITORING.value,
        "hostname": "agent1.example.com",
        "version": "1.0",
        "created": A_TIME,
        "lastReport": A_TIME,
        "lastPing": A_TIME,
        "down": False,
        "stateName": AgentState.ACTIVE.value,
        "links": self_link(_EXAMPLE_PATH),
    }

    agentType = serializers.ChoiceField(_TYPES)
    typeName = serializers.ChoiceField(_TYPES, help_text="The same as agentType.")
    hostname = serializers.CharField()
    version = serializers.CharField()
    created = serializers.DateTimeField()
    lastReport = serializers.DateTimeField()
    lastPing = serializers.DateTimeField(help_text="The same as lastReport.")
    down = serializers.BooleanField(help_text="Whether the agent has been silent for 4 minutes.")
    stateName = serializers.ChoiceField(
        [state.value for state in AgentState], help_text="The same as down, as a word."
    )
    links = LinkDocument(many=True)


class WatchedHostDocument(Document):
    """A host that the agent watches, and no other agent that shares hosts."""

    hostname = serializers.CharField()
    port = serializers.IntegerField()
    hostnamePort = serializers.CharField(help_text="Hostname and port, IPv6 in brackets.")
    since = serializers.DateTimeField(help_text="When the agent got the host.")
    until = serializers.DateTimeField(
        help_text="When other agents can get the host, unless the agent asks again."
    )
    metricSet = serializers.IntegerField(
        required=False, help_text="Index in metricSets, from 0, of the metric coverage of the host."
    )


class MetricStateDocument(Document):
    """Whether a metric is reported, or why not."""

    metricName = serializers.CharField()
    stateName = serializers.ChoiceField(
        [state.value for state in MetricState],
        help_text="REPORTED: sent whenever there is a value. ABSENT: this version or type of server "
        "does not have the metric. REFUSED: roleName is missing. FAILED: the log of the agent has the "
        "cause.",
    )
    roleName = serializers.CharField(required=False, help_text="The missing role or privilege.")


class MetricSetDocument(Document):
    """The state of each metric of a host."""

    metrics = MetricStateDocument(many=True)


class WatchingAgentDocument(AgentDocument):
    """An agent, the hosts it watches, and the state of each of their metrics."""

    example = {
        **AgentDocument.example,
        "hosts": [
            {
                "hostname": "db1.example.com",
                "port": 5432,
                "hostnamePort": "db1.example.com:5432",
                "since": A_TIME,
                "until": A_TIME,
                "metricSet": 0,
            }
        ],
        "metricSets": [
            {
                "metrics": [
                    {
                        "metricName": Metric.CONNECTIONS.value,
                        "stateName": MetricState.REFUSED.value,
                        "roleName": "pg_monitor",
                    },
                    {"metricName": Metric.PG_WAL_BYTES.value, "stateName": MetricState.REPORTED.value},
                ]
            }
        ],
    }

    hosts = WatchedHostDocument(many=True, help_text="Empty for an agent that does not share hosts.")
    metricSets = MetricSetDocument(many=True)


def agent_path(row: AgentRow) -> str:
    """Return the path of the agent in the API."""
    return f"/groups/{row['group_id']}/agents/{row['agent_type']}/{quote(row['hostname'], safe='')}"


def present_watching(row: AgentRow, watching: Watching, links: Links) -> JsonObject:
    """Return the document of an agent with the hosts it watches."""
    return {
        **present_agent(row, links),
        "hosts": [_host(host) for host in watching.hosts],
        "metricSets": [{"metrics": _metrics(metric_set)} for metric_set in watching.metric_sets],
        "links": links.related(agent_path(row), {"group": f"/groups/{row['group_id']}"}),
    }


def _host(host: WatchedHost) -> JsonObject:
    shown = {
        "hostname": host.address.hostname,
        "port": host.address.port,
        "hostnamePort": str(host.address),
        "since": wire_time(host.since),
        "until": wire_time(host.until),
    }
    return shown if host.metric_set is None else {**shown, "metricSet": host.metric_set}


def _metrics(metric_set: Mapping[str, Any]) -> list[dict[str, str]]:
    found = []
    for state in MetricState:
        role = (
            {"roleName": metric_set["role"]} if state is MetricState.REFUSED and "role" in metric_set else {}
        )
        named = metric_set.get(state.value.lower(), ())
        found += [{"metricName": metric, "stateName": state.value, **role} for metric in named]
    return sorted(found, key=lambda row: row["metricName"])


def present_agent(row: AgentRow, links: Links) -> JsonObject:
    """Return the document of an agent in a list."""
    return {
        "agentType": row["agent_type"],
        "typeName": row["agent_type"],
        "hostname": row["hostname"],
        "version": row["version"],
        "created": row["wire_created"],
        "lastReport": row["wire_last_report"],
        "lastPing": row["wire_last_report"],
        "down": row["down"],
        "stateName": (AgentState.DOWN if row["down"] else AgentState.ACTIVE).value,
        "links": links.self_only(agent_path(row)),
    }
