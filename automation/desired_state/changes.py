"""Publishes the automation configuration of a project, and stores its masked form, which readers see.

Masking a large document takes seconds of processor time, so readers must not be able to cause it repeatedly.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import DatabaseError, IntegrityError, transaction

from accesslist.changes import RecordedAct, acting
from automation.desired_state.document import secrets
from automation.desired_state.document.publish import NEW_PROJECT, Publication, publication
from automation.desired_state.document.secrets import redacted
from automation.desired_state.document.text import read, write
from automation.desired_state.models import LONGEST_AGENT_VERSION, AutomationRevision
from automation.desired_state.store import (
    document_at,
    documents_room,
    goal_document,
    goal_version,
    new_addresses,
    opened,
    revision_text,
    stored,
)
from automation.hosts.changes import hosts_add
from automation.plan.reading import wanted_agent
from automation.reports.growth import day_counted
from automation.reports.limits import within_limits
from automation.sections import items, process_host, process_name
from automation.turns.changes import plan_begin_again
from events.log.changes import NewEvent
from events.types import EventType
from opsapi import redaction
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, get_or_404
from opsapi.api.principal import Actor
from opsapi.encryption import encrypt
from opsapi.logs import first_line
from opsapi.roles import Scope
from opsapi.wire_json import write_json

logger = logging.getLogger("opsapi.automation")

RULE_MODULES = (secrets, redaction)
"""The modules that decide how a document is masked."""
MASK_RULE = hashlib.sha256(
    b"".join(Path(str(module.__file__)).read_bytes() for module in RULE_MODULES)
).hexdigest()[:16]
"""The version of the masking rules. A document masked by other rules is masked again before it is shown."""
NEW_PROJECT_TEXT = write(NEW_PROJECT)
"""The initial document of every project; it contains no secrets."""


def mask(revision: AutomationRevision, text: str, masked: str) -> None:
    """Set the masked document of a revision with the document `text`; the caller saves the revision."""
    revision.masked = None if masked == text else encrypt(masked, owner=revision.id)
    revision.masked_by = MASK_RULE


def masked_text(revision: AutomationRevision) -> str:
    """Return the masked document of a revision. If other rules masked it, mask it again and store it.

    Raises: ApiError: as `revision_text`.
    """
    if revision.masked_by == MASK_RULE:
        masked_then = stored(revision, "masked")
        return revision_text(revision) if masked_then is None else opened(revision, masked_then)
    text = revision_text(revision)
    masked = write(redacted(read(text)))
    mask(revision, text, masked)
    kept = {"masked": revision.masked, "masked_by": revision.masked_by}
    try:
        AutomationRevision.objects.filter(id=revision.id).update(**kept)
    except DatabaseError as error:  # Such as a full disk, which does not concern the reader.
        logger.warning("revision %s is masked anew next time: %s", revision.id, first_line(error))
    return masked


def automation_config_publish(
    *,
    group_id: str,
    sent: Mapping[str, Any],
    unstorable: Sequence[BadField] = (),
    if_match: Sequence[str] | None,
    dry_run: bool,
    actor: Actor,
    now: datetime,
) -> Publication:
    """Publish the sent document as the next version, unless it equals the current version.

    `unstorable` are faults found while reading it. With `dry_run`, everything is checked and nothing is
    written.

    Raises: ApiError: as `publication`; LIMIT_REACHED, if the project has stored too much today;
    GROUP_NOT_FOUND, if the project was deleted meanwhile.
    """
    with _publishing(group_id, actor, now, dry_run=dry_run) as act:
        draft = publication(sent, goal_document(group_id), if_match=if_match, unstorable=unstorable)
        if not dry_run:
            _publish(act, draft, group_id=group_id)
        return draft


def automation_config_restore(
    *,
    group_id: str,
    number: int,
    version: int | None,
    if_match: Sequence[str] | None,
    dry_run: bool,
    actor: Actor,
    now: datetime,
) -> Publication:
    """Publish an older revision as the next version, like `automation_config_publish`.

    `version` must be the current version; None accepts any.

    Raises: ApiError: as `publication` and `documents_room`, AUTOMATION_CONFIG_REVISION_NOT_FOUND, or
    GROUP_NOT_FOUND if the project was deleted meanwhile.
    """
    room = documents_room([number, goal_version(group_id)], group_id=group_id)
    with room, _publishing(group_id, actor, now, dry_run=dry_run) as act:
        stored = goal_document(group_id)
        code = ErrorCode.AUTOMATION_CONFIG_REVISION_NOT_FOUND
        older = get_or_404(document_at(number, group_id=group_id), code, str(number))
        sent = {**older, "version": stored["version"] if version is None else version}
        draft = publication(sent, stored, if_match=if_match)
        if not dry_run:
            _publish(act, draft, group_id=group_id, restored_from=number)
        return draft


@contextmanager
def _publishing(group_id: str, actor: Actor, now: datetime, *, dry_run: bool) -> Iterator[RecordedAct]:
    with ExitStack() as stack:
        if not dry_run:
            stack.enter_context(within_limits(group_id=group_id, now=now))
        yield stack.enter_context(acting(actor, now, here=Scope(group_id=group_id)))


def _publish(
    act: RecordedAct, draft: Publication, *, group_id: str, restored_from: int | None = None
) -> None:
    """Write the revision, its event and its hosts.

    Hosts are last, because reports lock hosts but no revisions.
    """
    if not draft.changes_something:
        return
    revision = _revision(act, draft, group_id=group_id, restored_from=restored_from)
    try:
        with transaction.atomic():
            revision.save(force_insert=True)
    except IntegrityError:
        # Another publication was first: the row has no other unique column.
        asked, current = str(draft.old["version"]), str(goal_version(group_id))
        raise ApiError(ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION, asked, current) from None
    plan_begin_again(act)
    act.record(NewEvent(event_type=EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT, diffs=revision.diffs))
    hosts_add(
        group_id=group_id,
        addresses=new_addresses(group_id, draft.new),
        actor=act.actor,
        now=act.now,
    )
    # The event has the diffs, too.
    octets = 2 * len(write_json(revision.diffs)) + len(revision.document or "") + len(revision.masked or "")
    day_counted(group_id=group_id, octets=octets, now=act.now)


def _revision(
    act: RecordedAct, draft: Publication, *, group_id: str, restored_from: int | None
) -> AutomationRevision:
    revision = AutomationRevision(
        group_id=group_id,
        number=draft.new["version"],
        processes=[
            (process_name(process), process_host(process)) for _, process in items(draft.new, "processes")
        ],
        diffs=[change.document() for change in draft.changes],
        changes=Counter(change.status.value for change in draft.changes),
        agent_version=wanted_agent(draft.new)[:LONGEST_AGENT_VERSION],
        restored_from=restored_from,
        actor_kind=act.actor.kind.value,
        actor_id=act.actor.id,
        actor_name=act.actor.name,
        created=act.now,
    )
    text = write(draft.new)
    revision.document = encrypt(text, owner=revision.id)
    mask(revision, text, write(redacted(draft.new)))
    return revision
