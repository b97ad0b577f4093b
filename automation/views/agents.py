"""The agents that report to a project (decisions 10)."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.selectors import agent_rows
from automation.serializers.agents import AgentDocument, present_agent
from opsapi.api.permissions import in_group
from opsapi.api.query import LISTING
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role


class AgentViewSet(ApiViewSet):
    """`/groups/{id}/agents`."""

    access = {"index": in_group(Role.GROUP_READ_ONLY)}
    parameters = {"index": LISTING}
    answers = {"index": [AgentDocument]}

    def index(self, request: Request, group_id: str) -> Response:
        """Agents by type and hostname."""
        return self.list(agent_rows(self.group.id), present_agent)
