"""The settings that a project keeps for its agents: redacted for people, in full for agents."""

from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, READ_AGENT_SETTINGS, WRITE_AGENTS
from automation.agent_settings.changes import agent_settings_put
from automation.agent_settings.models import AgentSettings
from automation.agent_settings.resource import AgentSettingsDocument, FullAgentSettingsDocument
from automation.agent_settings.store import (
    agent_settings_of,
    full_settings,
    settings_etag,
    shown_agent_settings_of,
    shown_settings,
    version_for_agents,
    version_of,
)
from automation.desired_state.document.publish import ANY_ETAG
from opsapi.api.catalogue import ErrorCode
from opsapi.api.views import ApiViewSet


class AgentSettingsViewSet(ApiViewSet):
    """`/groups/{id}/agents/settings`."""

    access = {"retrieve": READ, "replace": WRITE_AGENTS}
    bodies = {"replace": AgentSettingsDocument}
    answers = {"retrieve": AgentSettingsDocument, "replace": AgentSettingsDocument}
    refusals = {"replace": (ErrorCode.AGENT_SETTINGS_CONCURRENT_MODIFICATION,)}

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get the settings that the project keeps for its agents, with secrets redacted."""
        return self._answer(shown_agent_settings_of(self.group.id))

    def replace(self, request: Request, group_id: str) -> Response:
        """Replace the settings that the project keeps for its agents.

        A connection string that is sent back redacted and unchanged keeps its stored secrets. The `version`
        in the body and the ETag in If-Match, if sent, must match the stored settings.
        """
        header = self.http_request.headers.get("If-Match")
        # Text that is not an entity tag matches no version.
        tags = None if header is None else parse_etags(header) or [header]
        written = agent_settings_put(
            group_id=self.group.id, sent=self.body(), if_match=tags, actor=self.actor, now=self.now
        )
        return self._answer(written)

    def _answer(self, stored: AgentSettings | None) -> Response:
        document = AgentSettingsDocument.present(shown_settings(stored), self.group.id, self.links)
        return Response(document, headers={"ETag": settings_etag(version_of(stored))})


class FullAgentSettingsViewSet(ApiViewSet):
    """`GET /agents/v1.0/groups/{id}/settings`."""

    access = {"retrieve": READ_AGENT_SETTINGS}
    answers = {"retrieve": FullAgentSettingsDocument}
    also_answers = {"retrieve": {304: OpenApiResponse(description="The version matches If-None-Match.")}}
    linked = False

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get the settings for agents, with their secrets; the ETag is the version.

        With If-None-Match, a version that the agent already has is not sent again. A key with `hostnames`
        gets only the connection strings whose servers are all on its machine.
        """
        tag = settings_etag(version_for_agents(self.group.id, self.actor.hostnames))
        known = {
            sent.removeprefix("W/")
            for sent in parse_etags(self.http_request.headers.get("If-None-Match", ""))
        }
        if known & {ANY_ETAG, tag}:
            return Response(status=304, headers={"ETag": tag})
        stored = agent_settings_of(self.group.id)
        document = full_settings(self.group.id, stored, self.actor.hostnames)
        return Response(document, headers={"ETag": settings_etag(document["version"])})
