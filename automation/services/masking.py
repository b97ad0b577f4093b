"""The automation document as readers see it, stored next to the document.

Masking reads and writes the whole document. For the largest document that takes seconds of a processor, and a
reader must not be able to cause that again and again.
"""

import hashlib
import logging
from pathlib import Path

from django.db import DatabaseError

from automation.document import secret_names, secrets
from automation.document.publish import NEW_PROJECT
from automation.document.secrets import redacted
from automation.document.text import read, write
from automation.models import AutomationRevision
from automation.selectors.revisions import opened, revision_text, stored
from opsapi import redaction
from opsapi.encryption import encrypt
from opsapi.faults import first_line

logger = logging.getLogger("opsapi.automation")

RULE_MODULES = (secrets, secret_names, redaction)
"""What decides how a document is masked."""
MASK_RULE = hashlib.sha256(
    b"".join(Path(str(module.__file__)).read_bytes() for module in RULE_MODULES)
).hexdigest()[:16]
"""Names the rule of this version of the platform: what another rule masked is masked anew, never shown."""
NEW_PROJECT_TEXT = write(NEW_PROJECT)
"""What every project starts from; it holds no secrets."""


def mask(revision: AutomationRevision, text: str, masked: str) -> None:
    """Note in the revision what readers see of its document, `text`; the caller saves it."""
    revision.masked = None if masked == text else encrypt(masked, owner=revision.id)
    revision.masked_by = MASK_RULE


def masked_text(revision: AutomationRevision) -> str:
    """What readers see of a revision's document; it is kept where it was not masked by today's rule.

    Raises:
        ApiError: as `revision_text`.
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
    except DatabaseError as error:  # such as a full disk: a reader needs none of it
        logger.warning("revision %s is masked anew next time: %s", revision.id, first_line(error))
    return masked
