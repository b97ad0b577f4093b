"""The effects and the plan of a draft in words, before it is published."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from automation.desired_state.document.publish import Publication
from automation.desired_state.resource import AutomationPlanDocument
from automation.desired_state.store import publication_plan
from automation.turns.store import standing_holds
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.clock import time_words
from opsapi.console.display import cut
from opsapi.console.forms import fault_sentence
from opsapi.first_rows import more_words

_MOST: Final = 200
"""The most rows of each part of a preview."""


def preview_of(draft: Callable[[], Publication], group_id: str, now: datetime) -> Mapping[str, Any]:
    """Return the preview of a dry run: its first rows, or the `refusal` in words.

    `more` has the number of omitted rows for each part. `moves`: each process with its moves in order.
    """
    try:
        publication = draft()
    except ApiError as refusal:
        return {"refusal": _in_words(refusal)}
    standing = standing_holds(group_id, publication.new["version"])
    drawn = publication_plan(group_id, publication, now, standing=standing)
    preview = AutomationPlanDocument.of_draft(publication, drawn, now)
    plan = preview.pop("plan")
    for timed in (*preview["effects"], *(move for row in plan["processes"] for move in row["moves"])):
        if "at" in timed:
            timed["at"] = time_words(clock.parse_time(timed["at"]))
    rows = {**preview, "moves": plan["processes"]}
    rows |= {name: [_of_hold(hold) for hold in plan[name]] for name in ("waits", "refused", "assumed")}
    parts = {name: cut(listed, _MOST) for name, listed in rows.items()}
    return {
        **{name: listed for name, (listed, _) in parts.items()},
        "more": {name: more_words(left_out) for name, (_, left_out) in parts.items()},
        "is_same": not publication.changes_something,
    }


def _of_hold(hold: Mapping[str, Any]) -> Mapping[str, str]:
    about = hold.get("process") or hold.get("replicaSetName") or ""
    return {"about": about, "detail": hold["detail"]}


def _in_words(refusal: ApiError) -> Sequence[str]:
    document = refusal.document()
    faults = [
        fault_sentence(fault["field"], fault["message"], fault.get("allowed", ()))
        for fault in document.get("badFields", ())
    ]
    sentences, left_out = cut(faults, _MOST)
    return [*sentences, *([more_words(left_out)] if left_out else [])] or [document["detail"]]
