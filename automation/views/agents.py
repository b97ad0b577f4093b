"""The agents that report to a project."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_AGENTS
from automation.choices import AgentType
from automation.models import Agent
from automation.selectors.agents import agents_named, agents_of
from automation.selectors.leases import watching
from automation.serializers.agents import AgentDocument, WatchingAgentDocument, present_watching
from automation.services.agents import agent_delete
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.links import link
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet

_TYPES = {agent_type.value: agent_type for agent_type in AgentType}


class AgentViewSet(ApiViewSet):
    """`/groups/{id}/agents`, `…/{agentType}` and `…/{agentType}/{hostname}`."""

    agent: Agent

    access = {"index": READ, "of_type": READ, "retrieve": READ, "destroy": WRITE_AGENTS}
    parameters = {"index": LISTING, "of_type": LISTING}
    answers = {"index": [AgentDocument], "of_type": [AgentDocument], "retrieve": WatchingAgentDocument}
    statuses = {"destroy": 204}
    refusals = {
        "of_type": (ErrorCode.INVALID_AGENT_TYPE,),
        "retrieve": (ErrorCode.AGENT_NOT_FOUND,),
        "destroy": (ErrorCode.AGENT_NOT_FOUND,),
    }

    def load(self) -> None:
        """Check the type in the path, or find the agent; an unknown type has no agents."""
        if self.action == "of_type":
            named = self.kwargs["agent_type"]
            get_or_404(_TYPES.get(named), ErrorCode.INVALID_AGENT_TYPE, named)
        elif "agent_name" in self.kwargs:
            named, name = self.kwargs["agent_type"], self.kwargs["agent_name"]
            agent_type = _TYPES.get(named)
            row = agents_named(self.group.id, agent_type, name).first() if agent_type else None
            self.agent = get_or_404(row, ErrorCode.AGENT_NOT_FOUND, named, name)

    def index(self, request: Request, group_id: str) -> Response:
        """List agents by type and hostname, with links to the agents of each type."""
        answer = self.list_of(AgentDocument, agents_of(self.group.id))
        agents = f"/groups/{self.group.id}/agents"
        answer.data["links"] += [
            link(f"{agent_type.value.lower()}Agents", self.links.to(f"{agents}/{agent_type.value}"))
            for agent_type in AgentType
        ]
        return answer

    def of_type(self, request: Request, group_id: str, agent_type: str) -> Response:
        """List agents of a type by hostname."""
        return self.list_of(AgentDocument, agents_of(self.group.id).filter(agent_type=agent_type))

    def retrieve(self, request: Request, group_id: str, agent_type: str, agent_name: str) -> Response:
        """Get an agent: its hosts, and the metrics that it reports of them or the reason why not."""
        facts, watched = AgentDocument.stored(self.agent), watching(self.agent, self.now)
        return Response(present_watching(facts, watched, self.links, place=self.place))

    def destroy(self, request: Request, group_id: str, agent_type: str, agent_name: str) -> Response:
        """Delete an agent that is out of service. Its alerts are cancelled; its hosts keep their state."""
        agent_delete(
            group_id=self.group.id,
            agent_type=_TYPES[agent_type],
            hostname=agent_name,
            actor=self.actor,
            now=self.now,
        )
        return Response(status=204)
