"""Agents as the API shows them."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now
from rest_framework import serializers

from automation.agents.rules import HEARTBEAT_TIMEOUT
from automation.agents.store import Watching
from automation.choices import AgentState, AgentType, MetricState
from automation.metrics import Metric
from opsapi.api.answers import Answer
from opsapi.api.documents import A_TIME, Document, LinkDocument
from opsapi.api.fields import ShownChoice, ShownFlag, ShownText, ShownTime
from opsapi.api.resources import Facts, Resource

_TYPES = [agent_type.value for agent_type in AgentType]


# By the last report, as `not_reporting` of the console, and by the time of the database. The worker
# marks an agent as down a few seconds later.
_IS_DOWN = Q(down=True) | Q(last_report__lte=Now() - HEARTBEAT_TIMEOUT, demonstration=False)


class AgentDocument(Resource):
    """An agent, the time of its last report, and whether it has stopped reporting."""

    path = "/groups/{group_id}/agents/{agentType}/{hostname}"
    encoded = ("hostname",)
    relations = {"group": "/groups/{group_id}"}
    columns = {
        "down": Case(When(_IS_DOWN, then=Value(True)), default=Value(False)),
        "stateName": Case(
            When(_IS_DOWN, then=Value(AgentState.DOWN.value)), default=Value(AgentState.ACTIVE.value)
        ),
    }

    agentType = ShownChoice(_TYPES, source="agent_type", example=AgentType.MONITORING.value)
    typeName = ShownChoice(
        _TYPES, source="agent_type", help_text="The same as agentType.", example=AgentType.MONITORING.value
    )
    hostname = ShownText(example="agent1.example.com")
    version = ShownText(example="1.0")
    created = ShownTime()
    lastReport = ShownTime(source="last_report")
    lastPing = ShownTime(source="last_report", help_text="The same as lastReport.")
    down = ShownFlag(help_text="Whether the agent has sent no report for 4 minutes.", example=False)
    stateName = ShownChoice(
        [state.value for state in AgentState],
        help_text="The same as down, as a word.",
        example=AgentState.ACTIVE.value,
    )
    demonstration = ShownFlag(
        help_text="Whether the agent belongs to the demonstration, and has no heartbeat timeout.",
        example=False,
    )
    updateProblem = ShownText(
        source="update_problem",
        required=False,
        help_text="Why the agent did not update itself, although the settings of the project say so. Absent "
        "if nothing prevents it.",
    )
    links = LinkDocument(many=True)


class WatchedHostDocument(Answer):
    """A host that the agent watches, and no other agent that shares hosts."""

    computed = {"hostnamePort": lambda host: str(host.address)}

    hostname = serializers.CharField(source="address.hostname")
    port = serializers.IntegerField(source="address.port")
    hostnamePort = serializers.CharField(help_text="Hostname and port, IPv6 in brackets.")
    since = serializers.DateTimeField(help_text="When the agent got the host.")
    until = serializers.DateTimeField(
        help_text="When other agents can get the host, unless the agent asks again."
    )
    metricSet = serializers.IntegerField(
        source="metric_set",
        required=False,
        help_text="Index in metricSets, from 0, of the metric coverage of the host.",
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

    hosts = WatchedHostDocument(
        many=True,
        help_text="Empty for an agent that does not share hosts.",
        example={
            "hostname": "db1.example.com",
            "port": 5432,
            "hostnamePort": "db1.example.com:5432",
            "since": A_TIME,
            "until": A_TIME,
            "metricSet": 0,
        },
    )
    metricSets = MetricSetDocument(
        many=True,
        example={
            "metrics": [
                {
                    "metricName": Metric.CONNECTIONS.value,
                    "stateName": MetricState.REFUSED.value,
                    "roleName": "pg_monitor",
                },
                {"metricName": Metric.PG_WAL_BYTES.value, "stateName": MetricState.REPORTED.value},
            ]
        },
    )

    @classmethod
    def with_hosts(cls, agent: Facts, watching: Watching) -> Facts:
        """Return the document of an agent with the hosts it watches."""
        return {
            **agent,
            "hosts": [WatchedHostDocument.of(host) for host in watching.hosts],
            "metricSets": [{"metrics": _metrics(metric_set)} for metric_set in watching.metric_sets],
        }


def _metrics(metric_set: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = []
    for state in MetricState:
        role = (
            {"roleName": metric_set["role"]} if state is MetricState.REFUSED and "role" in metric_set else {}
        )
        named = metric_set.get(state.value.lower(), ())
        rows += [{"metricName": metric, "stateName": state.value, **role} for metric in named]
    return sorted(rows, key=lambda row: row["metricName"])
