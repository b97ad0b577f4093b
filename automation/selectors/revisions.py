"""Reading the automation configuration, its revisions, and how far the processes have come with it."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from automation.document.publish import NEW_PROJECT
from automation.document.text import read
from automation.models import (
    AutomationRevision,
    ProcessStatus,
)
from automation.rules.heartbeats import HEARTBEAT_TIMEOUT
from automation.rules.processes import ProcessState, process_states
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, unavailable
from opsapi.encryption import CannotDecryptError, decrypt
from opsapi.fields import Among, WireTime

logger = logging.getLogger("opsapi.automation")

RevisionRow = dict[str, Any]


def revision_rows(group_id: str) -> QuerySet[AutomationRevision, Any]:
    """The revisions of a project's automation configuration, newest first, without their documents."""
    revisions = AutomationRevision.objects.filter(group_id=group_id).order_by("-number")
    return revisions.values(
        "group_id",
        "number",
        "changes",
        "restored_from",
        "actor_kind",
        "actor_id",
        "actor_name",
        wire_created=WireTime("created"),
    )


def goal_version(group_id: str) -> int:
    """The version of a project's automation configuration; 0 before anything was published."""
    newest = revision_rows(group_id).values_list("number", flat=True).first()
    return newest or 0


def newest_revision(group_id: str) -> AutomationRevision | None:
    """The newest revision of a project; None before anything was published."""
    return _without_documents(group_id).order_by("-number").first()


def revision_at(number: int, *, group_id: str) -> AutomationRevision | None:
    """The revision of that version; None when there is none, as of 0, what a project starts from."""
    return _without_documents(group_id).filter(number=number).first()


def goal_document(group_id: str) -> Mapping[str, Any]:
    """A project's automation configuration as it is, in full.

    Raises:
        ApiError: as `revision_text`.
    """
    newest = newest_revision(group_id)
    return read(revision_text(newest)) if newest else NEW_PROJECT


def document_at(number: int, *, group_id: str) -> Mapping[str, Any] | None:
    """The document of that version, in full; None when there is none. 0 is what a project starts from.

    Raises:
        ApiError: as `revision_text`.
    """
    if number == NEW_PROJECT["version"]:
        return NEW_PROJECT
    revision = revision_at(number, group_id=group_id)
    return read(revision_text(revision)) if revision else None


def _without_documents(group_id: str) -> QuerySet[AutomationRevision]:
    """Documents are large: each is read from the database when it is asked for."""
    return AutomationRevision.objects.filter(group_id=group_id).only("group_id", "number", "masked_by")


def revision_text(revision: AutomationRevision) -> str:
    """The text of a revision's document, in full.

    Raises:
        ApiError: SERVICE_UNAVAILABLE, when the key that encrypted it is not configured any more: nothing of a
            document can be shown without it, nor anything held against it.
    """
    return opened(revision, stored(revision, "document"))


def stored(revision: AutomationRevision, column: str) -> str | None:
    """A column that is read only now.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the worker has taken away the revision of a deleted project meanwhile.
    """
    try:
        value: str | None = getattr(revision, column)
    except AutomationRevision.DoesNotExist:
        raise ApiError(ErrorCode.GROUP_NOT_FOUND, revision.group_id) from None
    return value


def opened(revision: AutomationRevision, encrypted: str | None) -> str:
    """A text that was encrypted for the revision; raises as `revision_text`."""
    try:
        return decrypt(encrypted or "", owner=revision.id)
    except CannotDecryptError as error:
        logger.error("an automation configuration of project %s: %s", revision.group_id, error)
        raise unavailable(
            f"version {revision.number} cannot be read without its encryption key, which is not in "
            "OPSAPI_ENCRYPTION_KEYS"
        ) from None


def process_status(group_id: str, now: datetime) -> tuple[int, list[ProcessState]]:
    """The version wanted, and how far each process has come.

    One that the document does not name counts while it is still being reported.
    """
    newest = AutomationRevision.objects.filter(group_id=group_id).order_by("-number")
    version, wanted = newest.values_list("number", "processes").first() or (0, [])
    is_meant = Q(Among("name", [name for name, _ in wanted])) | Q(reported__gt=now - HEARTBEAT_TIMEOUT)
    statuses = ProcessStatus.objects.filter(is_meant, group_id=group_id)
    reported = statuses.values_list("name", "hostname", "goal_version", "error")
    return version, process_states(wanted, (ProcessState(*one) for one in reported))
