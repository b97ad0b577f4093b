"""The automation document as readers see it, kept beside the document (decisions 9 "secrets").

To mask a document it has to be read and written: for the largest that is seconds of a processor, which a
reader must not be able to ask for again and again.
"""

import hashlib
from pathlib import Path

from automation.document import secret_names, secrets
from automation.document.publishing import NEW_PROJECT
from automation.document.secrets import redacted
from automation.document.text import read, write
from automation.models import AutomationRevision
from automation.selectors.revisions import opened, revision_text
from opsapi import redaction
from opsapi.encryption import encrypt

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
        return revision_text(revision) if revision.masked is None else opened(revision, revision.masked)
    text = revision_text(revision)
    masked = write(redacted(read(text)))
    mask(revision, text, masked)
    revision.save(update_fields=["masked", "masked_by"])
    return masked
