"""The automation configuration of a project: read, published, its status, its schema (decisions 9)."""

from collections.abc import Mapping
from typing import Any

from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.views.base import KeyViewSet
from automation.document.publishing import Publication, etag
from automation.document.schema import SCHEMA
from automation.document.secrets import redacted
from automation.document.text import read_sent
from automation.renderers import AutomationRenderer
from automation.selectors.revisions import goal_document, process_status
from automation.serializers.automation_config import (
    AutomationConfigDocument,
    AutomationSchemaDocument,
    AutomationStatusDocument,
    PublishedDocument,
    present_plan,
    present_status,
)
from automation.services.automation_config import automation_config_publish
from opsapi.api.catalogue import ErrorCode
from opsapi.api.permissions import ANY_KEY, in_group
from opsapi.api.query import Parameter, read_flag
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role, Scope

MAX_DOCUMENT = 16 * 1024 * 1024
DRY_RUN = Parameter(
    "dryRun",
    read_flag,
    False,
    {"type": "boolean", "default": False},
    "Check everything, write nothing, and answer what publishing would do.",
    allowed=("true", "false"),
)
READ, WRITE = in_group(Role.GROUP_READ_ONLY), in_group(Role.GROUP_AUTOMATION_ADMIN)


class OfAutomationConfig(KeyViewSet):
    """What answers automation documents: in full to those who may publish, to others redacted."""

    renderer_classes = [AutomationRenderer]

    def shown(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document as the caller may see it."""
        here = Scope(org_id=self.group.org_id, group_id=self.group.id)
        may_see = self.caller.holds(Role.GROUP_AUTOMATION_ADMIN, here)
        return document if may_see else redacted(document)

    def current(self, document: Mapping[str, Any]) -> Response:
        """The answer that shows the configuration as it is."""
        return Response(self.shown(document), headers={"ETag": etag(document)})

    def published(self, made: Publication) -> Response:
        """The answer of a publish, or of its dry run."""
        return Response(present_plan(made, self.now)) if self.query["dryRun"] else self.current(made.new)

    @property
    def conditions(self) -> dict[str, Any]:
        """On which conditions it is published, as services take them."""
        header = self.http_request.headers.get("If-Match")
        # What is no entity tag is no version of ours either.
        tags = None if header is None else parse_etags(header) or [header]
        return {"if_match": tags, "dry_run": self.query["dryRun"], "actor": self.actor, "now": self.now}


class AutomationConfigViewSet(OfAutomationConfig):
    """`/groups/{id}/automationConfig`."""

    access = {"retrieve": READ, "replace": WRITE}
    parameters = {"replace": (DRY_RUN,)}
    bodies = {"replace": AutomationConfigDocument}
    answers = {"retrieve": AutomationConfigDocument, "replace": PublishedDocument}
    refusals = {"replace": (ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, ErrorCode.LIMIT_REACHED)}
    max_body = MAX_DOCUMENT

    def retrieve(self, request: Request, group_id: str) -> Response:
        """The automation configuration; its ETag is its version.

        Secrets are shown to those who may publish it, and redacted to everybody else.
        """
        return self.current(goal_document(self.group.id))

    def replace(self, request: Request, group_id: str) -> Response:
        """Publishes a document as the next version.

        Its `version` has to be the current one, and so has the ETag in If-Match where that is sent.
        Redacted values stand for what is stored there. One that changes nothing is not published.
        """
        sent, unkept = read_sent(self._raw_body)
        made = automation_config_publish(group_id=self.group.id, sent=sent, unkept=unkept, **self.conditions)
        return self.published(made)


class AutomationStatusViewSet(ApiViewSet):
    """`/groups/{id}/automationStatus`."""

    access = {"retrieve": READ}
    answers = {"retrieve": AutomationStatusDocument}

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Which version is wanted, and which each process has reached, as agents report it."""
        version, processes = process_status(self.group.id, self.now)
        return Response(present_status(self.group.id, version, processes, self.links))


class AutomationSchemaViewSet(ApiViewSet):
    """`/automationConfig/schema`."""

    access = {"retrieve": ANY_KEY}
    answers = {"retrieve": AutomationSchemaDocument}

    def retrieve(self, request: Request) -> Response:
        """The JSON Schema of automation configurations; further rules hold between fields."""
        return Response(SCHEMA)
