"""Revisions of the automation configuration, which can be published again."""

from django.utils.functional import cached_property
from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import READ, WRITE_CONFIG
from automation.document.publish import NEW_PROJECT
from automation.models import AutomationRevision
from automation.selectors.revisions import revision_at, revision_rows
from automation.serializers.automation_config import AutomationConfigDocument, PublishedDocument
from automation.serializers.revisions import RestoreDocument, RevisionDocument, present_revision
from automation.services.automation_config import automation_config_restore
from automation.views.automation_config import DRY_RUN, OfAutomationConfig
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404
from opsapi.api.query import LISTING

_LONGEST_NUMBER = 9  # Digits. The column does not hold every number of ten digits.


class RevisionViewSet(OfAutomationConfig):
    """`/groups/{id}/automationConfig/revisions`, `…/{n}`, `…/{n}/restore`."""

    access = {"index": READ, "retrieve": READ, "restore": WRITE_CONFIG}
    parameters = {"index": LISTING, "restore": (DRY_RUN,)}
    bodies = {"restore": RestoreDocument}
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
        """Published versions, newest first."""
        return self.list(revision_rows(self.group.id), lambda row: present_revision(row, self.links))

    def retrieve(self, request: Request, group_id: str, revision: str) -> Response:
        """The automation configuration of a version; version 0 is the initial document of every project."""
        return Response(self.shown(self.revision))

    def restore(self, request: Request, group_id: str, revision: str) -> Response:
        """Publishes an older revision as the next version. The body is optional."""
        version = self.body().get("version")
        publication = automation_config_restore(
            group_id=self.group.id, number=int(revision), version=version, **self.conditions
        )
        return self.published(publication)

    def _read_body(self) -> bytes:
        # A message has a body if it has a length or a transfer encoding (RFC 9112, 6.3).
        sent = self.http_request.META
        is_there = sent.get("CONTENT_LENGTH") not in {None, "", "0"} or sent.get("HTTP_TRANSFER_ENCODING")
        return super()._read_body() if is_there else b"{}"
