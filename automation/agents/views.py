"""The agents that report to a project, and the downloads of the agent: its file, checksum and systemd unit.

Downloads need no login: they contain no secret, and a machine without an agent has no key yet.
"""

import hashlib
from collections.abc import Callable, Mapping
from functools import lru_cache

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import condition
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_AGENTS
from automation.agent_file import NAME, agent_file, agent_file_facts
from automation.agents.changes import agent_delete
from automation.agents.models import Agent
from automation.agents.resource import AgentDocument, WatchingAgentDocument
from automation.agents.store import agents_named, agents_of, watching
from automation.choices import AgentType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.handler import only_read
from opsapi.api.links import link
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet
from opsapi.program import FILES
from opsapi.wire_json import write_json

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
        return self.list_of(AgentDocument, agents_of(self.group.id, agent_type))

    def retrieve(self, request: Request, group_id: str, agent_type: str, agent_name: str) -> Response:
        """Get an agent: its hosts, and the metrics that it reports of them or the reason why not."""
        facts, watched = AgentDocument.stored(self.agent), watching(self.agent, self.now)
        agent = AgentDocument.present(facts, self.links, place=self.place, alone=True)
        return Response(WatchingAgentDocument.with_hosts(agent, watched))

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


UNIT = FILES / "deploy" / "agent" / "opsapi-agent.service"
_JSON = "application/json"


def _file() -> bytes:
    return agent_file().octets


def _sum() -> bytes:
    """A line for sha256sum(1)."""
    return f"{agent_file().sha256}  {NAME}\n".encode()


def _facts() -> bytes:
    return write_json(agent_file_facts())


@lru_cache(maxsize=1)
def _unit() -> bytes:
    return UNIT.read_bytes()


def _page(
    octets: Callable[[], bytes], media_type: str, saved_as: str = ""
) -> Callable[..., HttpResponseBase]:
    """A view that serves these octets with a strong ETag; `saved_as` is the file name for browsers."""
    headers: Mapping[str, str] = {
        # Clients revalidate each time, because an upgrade of the platform changes the file.
        "Cache-Control": "no-cache",
        **({"Content-Disposition": f'attachment; filename="{saved_as}"'} if saved_as else {}),
    }

    @lru_cache(maxsize=1)
    def etag() -> str:
        return f'"{hashlib.sha256(octets()).hexdigest()[:32]}"'

    @only_read
    @condition(etag_func=lambda _: etag())
    def answer(_request: HttpRequest) -> HttpResponse:
        return HttpResponse(octets(), content_type=media_type, headers=dict(headers))

    return answer


download = _page(_file, "application/octet-stream", NAME)
checksum = _page(_sum, "text/plain; charset=utf-8")
facts = _page(_facts, _JSON)
unit = _page(_unit, "text/plain; charset=utf-8", UNIT.name)
