"""Stores the masked automation document, which readers see, next to the full document.

Masking a large document takes seconds of processor time, so readers must not be able to cause it repeatedly.
"""

import hashlib
import logging
from pathlib import Path

from django.db import DatabaseError

from automation.document import secrets
from automation.document.publish import NEW_PROJECT
from automation.document.secrets import redacted
from automation.document.text import read, write
from automation.models import AutomationRevision
from automation.selectors.revisions import opened, revision_text, stored
from opsapi import redaction
from opsapi.encryption import encrypt
from opsapi.logs import first_line

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
