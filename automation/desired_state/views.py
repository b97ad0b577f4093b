"""The automation configuration of a project, its revisions, its status and its schema."""

from typing import Any

import orjson
from django.utils.functional import cached_property
from django.utils.http import parse_etags
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from accesslist.views import KeyViewSet
from automation.access import READ, WRITE_CONFIG
from automation.desired_state.changes import (
    NEW_PROJECT_TEXT,
    automation_config_publish,
    automation_config_restore,
    masked_text,
)
from automation.desired_state.document.publish import ANY_ETAG, NEW_PROJECT, Publication, etag
from automation.desired_state.document.schema import SCHEMA
from automation.desired_state.document.text import for_people, read_sent, write
from automation.desired_state.models import AutomationRevision
from automation.desired_state.resource import (
    AutomationConfigDocument,
    AutomationPlanDocument,
    AutomationSchemaDocument,
    PublishedDocument,
    RestoreDocument,
    RevisionDocument,
)
from automation.desired_state.store import (
    newest_revision,
    publication_plan,
    revision_at,
    revision_text,
    revisions_of,
)
from automation.turns.store import standing_holds
from opsapi.api.bodies import DocumentRenderer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.permissions import ANY_KEY
from opsapi.api.query import LISTING, PRETTY, asks_for, flag_parameter
from opsapi.api.views import ApiViewSet
from opsapi.roles import Role, Scope
from opsapi.wire_json import JsonObject

MAX_DOCUMENT = 16 * 1024 * 1024
DRY_RUN = flag_parameter(
    "dryRun", "Validate the configuration and return the effects and the plan, without publishing it."
)
_LONGEST_NUMBER = 9  # Digits. The column does not hold every number of ten digits.


class AutomationRenderer(DocumentRenderer):
    """The default renderer, except for numbers."""

    @staticmethod
    def write(document: Any, *, pretty: bool) -> bytes:
        """Return the document with each number as it was published."""
        return write(document, pretty=pretty).encode()


class OfAutomationConfig(KeyViewSet):
    """Base of views with automation documents: in full for callers who can publish, redacted for others."""

    renderer_classes = [AutomationRenderer]

    def shown(self, revision: AutomationRevision | None) -> orjson.Fragment:
        """The document that the caller can see; None is the initial document of a project."""
        here = Scope(org_id=self.group.org_id, group_id=self.group.id)
        if revision is None:
            text = NEW_PROJECT_TEXT
        elif self.caller.holds(Role.GROUP_AUTOMATION_ADMIN, here):
            text = revision_text(revision)
        else:
            text = masked_text(revision)
        return self._fragment(text)

    def published(self, publication: Publication) -> Response:
        """The answer to a publication or a dry run, with secrets: the caller can publish."""
        if self.query["dryRun"]:
            drawn = publication_plan(
                self.group.id,
                publication,
                self.now,
                standing=standing_holds(self.group.id, publication.new["version"]),
            )
            return Response(AutomationPlanDocument.of_draft(publication, drawn, self.now))
        return Response(
            self._fragment(write(publication.new)), headers={"ETag": etag(publication.new["version"])}
        )

    def _fragment(self, text: str) -> orjson.Fragment:
        return orjson.Fragment(for_people(text) if asks_for(self.http_request, PRETTY) else text)

    @property
    def conditions(self) -> JsonObject:
        """Arguments of services: conditions of the publication, actor and time."""
        header = self.http_request.headers.get("If-Match")
        # Text that is not an entity tag matches no version.
        tags = None if header is None else parse_etags(header) or [header]
        return {"if_match": tags, "dry_run": self.query["dryRun"], "actor": self.actor, "now": self.now}


class AutomationConfigViewSet(OfAutomationConfig):
    """`/groups/{id}/automationConfig`."""

    access = {"retrieve": READ, "replace": WRITE_CONFIG}
    parameters = {"replace": (DRY_RUN,)}
    bodies = {"replace": AutomationConfigDocument}
    answers = {"retrieve": AutomationConfigDocument, "replace": PublishedDocument}
    also_answers = {"retrieve": {304: OpenApiResponse(description="The version matches If-None-Match.")}}
    refusals = {"replace": (ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, ErrorCode.LIMIT_REACHED)}
    max_body = MAX_DOCUMENT

    def retrieve(self, request: Request, group_id: str) -> Response:
        """Get the automation configuration; its ETag is its version.

        Callers who can publish it see secrets; others see them redacted. With If-None-Match, a version that
        the client already has is not sent again.
        """
        known = {
            tag.removeprefix("W/") for tag in parse_etags(self.http_request.headers.get("If-None-Match", ""))
        }
        newest = newest_revision(self.group.id)
        tag = etag(newest.number if newest else NEW_PROJECT["version"])
        if known & {ANY_ETAG, tag}:
            return Response(status=304, headers={"ETag": tag})
        return Response(self.shown(newest), headers={"ETag": tag})

    def replace(self, request: Request, group_id: str) -> Response:
        """Publish a document as the next version.

        Its `version` must be the current version, and so must the ETag in If-Match, if sent. Redacted values
        keep the stored secrets. A document without changes is not published.
        """
        sent, unstorable = read_sent(self._raw_body)
        publication = automation_config_publish(
            group_id=self.group.id, sent=sent, unstorable=unstorable, **self.conditions
        )
        return self.published(publication)


class AutomationSchemaViewSet(ApiViewSet):
    """`/automationConfig/schema`."""

    access = {"retrieve": ANY_KEY}
    answers = {"retrieve": AutomationSchemaDocument}

    def retrieve(self, request: Request) -> Response:
        """Get the JSON Schema of automation configurations. Further rules apply between fields."""
        return Response(SCHEMA)


class RevisionViewSet(OfAutomationConfig):
    """`/groups/{id}/automationConfig/revisions`, `…/{n}`, `…/{n}/restore`."""

    access = {"index": READ, "retrieve": READ, "restore": WRITE_CONFIG}
    parameters = {"index": LISTING, "restore": (DRY_RUN,)}
    bodies = {"restore": RestoreDocument}
    optional_bodies = frozenset({"restore"})
    answers = {
        "index": [RevisionDocument],
        "retrieve": AutomationConfigDocument,
        "restore": PublishedDocument,
    }
    refusals = {
        "retrieve": (ErrorCode.AUTOMATION_CONFIG_REVISION_NOT_FOUND,),
        "restore": (
            ErrorCode.AUTOMATION_CONFIG_REVISION_NOT_FOUND,
            ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION,
            ErrorCode.LIMIT_REACHED,
            *AutomationConfigDocument.refusals,
        ),
    }

    revision: AutomationRevision | None = None

    def load(self) -> None:
        """Find the revision of the path. Version 0, the initial document, has no row."""
        if "revision" in self.kwargs and self.number != NEW_PROJECT["version"]:
            number = self.number
            revision = None if number is None else revision_at(number, group_id=self.group.id)
            code = ErrorCode.AUTOMATION_CONFIG_REVISION_NOT_FOUND
            self.revision = get_or_404(revision, code, self.kwargs["revision"], self.group.id)

    @cached_property
    def number(self) -> int | None:
        """The version of the path; None if it is not a number."""
        text: str = self.kwargs["revision"]
        is_number = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER
        return int(text) if is_number and str(int(text)) == text else None

    def index(self, request: Request, group_id: str) -> Response:
        """List published versions, newest first."""
        return self.list_of(RevisionDocument, revisions_of(self.group.id))

    def retrieve(self, request: Request, group_id: str, revision: str) -> Response:
        """Get the automation configuration of a version. Version 0 is the initial document of a project."""
        return Response(self.shown(self.revision))

    def restore(self, request: Request, group_id: str, revision: str) -> Response:
        """Publish an older revision as the next version. The body is optional."""
        version = self.body().get("version")
        publication = automation_config_restore(
            group_id=self.group.id, number=int(revision), version=version, **self.conditions
        )
        return self.published(publication)
