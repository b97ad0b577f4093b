"""The page of a revision: its changes, and a comparison with the previous version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automation.document.publish import NEW_PROJECT
from automation.document.side_by_side import MOST_LINES, LinePair, side_by_side
from automation.document.text import for_people
from automation.models import AutomationRevision
from automation.selectors.revisions import revision_at
from automation.services.masking import NEW_PROJECT_TEXT, masked_text
from events.diff_rows import changed_resources
from opsapi.api.errors import ApiError
from opsapi.console.display import cut
from opsapi.first_rows import more_words

MOST_CHANGED = 100
"""Maximum number of changed processes on the page."""
_MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionComparison:
    """The lines that differ from the previous version; `why_not` says why they cannot be compared."""

    before: int
    rows: Sequence[LinePair] = ()
    more: str = ""
    why_not: str = ""


def revision_context(revision: AutomationRevision) -> Mapping[str, Any]:
    """Every changed field before and after, and the differences in the whole document."""
    diffs, left_out = cut(revision.diffs, MOST_CHANGED)
    return {
        "changes": changed_resources(diffs),
        "changes_more": more_words(left_out),
        "side_by_side": _side_by_side(revision),
    }


def document_text(revision: AutomationRevision) -> str:
    """The document with secrets redacted, or the reason why it cannot be read."""
    try:
        return for_people(masked_text(revision))
    except ApiError as refusal:
        return _detail(refusal)


def _side_by_side(revision: AutomationRevision) -> RevisionComparison | None:
    """The previous version; None if there is none."""
    number = revision.number - 1
    try:
        before = _text_at(number, revision.group_id)
        if before is None:
            return None
        rows = side_by_side(before, for_people(masked_text(revision)))
    except ApiError as refusal:
        return RevisionComparison(before=number, why_not=_detail(refusal))
    if rows is None:
        why_not = f"Too large to compare here: more than {MOST_LINES:,} lines."
        return RevisionComparison(before=number, why_not=why_not)
    shown, left_out = cut(rows, _MOST_ROWS)
    return RevisionComparison(before=number, rows=shown, more=more_words(left_out))


def _text_at(number: int, group_id: str) -> str | None:
    if number == NEW_PROJECT["version"]:
        return for_people(NEW_PROJECT_TEXT)
    revision = revision_at(number, group_id=group_id)
    return for_people(masked_text(revision)) if revision else None


def _detail(refusal: ApiError) -> str:
    return str(refusal.document()["detail"])
