"""Publishing an older revision again: what agents would do is shown before (decisions 9)."""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms

from automation.models import AutomationRevision
from automation.selectors import goal_version
from automation.serializers.automation_config import present_plan
from automation.services.automation_config import automation_config_restore
from automation.views.automation_config import WRITE
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.actions import Action, Call, Outcome
from opsapi.console.forms import ConsoleForm

_MOST_SHOWN = 200


class RestoreForm(ConsoleForm):
    """Remembers upon which version it was shown what would happen: upon another one nothing is done."""

    template = "console/restore_fields.html"

    version = forms.IntegerField(min_value=0, max_value=10**9, widget=forms.HiddenInput)

    def stored(self) -> Mapping[str, Any]:
        """The version there is now."""
        return {"version": goal_version(self.row.group_id)}

    def tell(self, refusal: ApiError) -> None:
        """Once told that there is another version by now, one sees what would happen upon that."""
        super().tell(refusal)
        if refusal.code is ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION:
            self.data = {**self.data, **self.stored()}

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """What it would do: the first of `diffs`, `effects` and `warnings`; or the `refusal`, in words."""
        now = clock.now()
        try:
            made = automation_config_restore(
                group_id=self.row.group_id,
                number=self.row.number,
                version=None,
                if_match=None,
                dry_run=True,
                actor=self.operator.actor(),
                now=now,
            )
        except ApiError as refusal:
            return {"refusal": _in_words(refusal)}
        told = present_plan(made, now)
        shown = {name: rows[:_MOST_SHOWN] for name, rows in told.items()}
        return {
            **shown,
            "more": max(0, len(told["effects"]) - _MOST_SHOWN),
            "is_same": not made.changes_something,
        }


def _restore(call: Call) -> Outcome:
    revision: AutomationRevision = call.row
    made = automation_config_restore(
        group_id=revision.group_id,
        number=revision.number,
        version=call.values["version"],
        if_match=None,
        dry_run=False,
        actor=call.actor,
        now=call.now,
    )
    if not made.changes_something:
        return Outcome(message="The configuration is so already: nothing was published.")
    new = AutomationRevision.objects.get(group=revision.group_id, number=made.new["version"])
    return Outcome(message=f"Version {revision.number} was published again as {new.number}.", row=new)


def _is_not_current(revision: AutomationRevision, _now: datetime) -> bool:
    return goal_version(revision.group_id) != revision.number


def _in_words(refusal: ApiError) -> list[str]:
    document = refusal.document()
    faults = [f"{fault['field']}: {fault['message']}" for fault in document.get("badFields", ())]
    return faults[:_MOST_SHOWN] or [document["detail"]]


RESTORE = Action(
    label="Restore this version",
    text="It is published again as the next version; agents then do what stands below.",
    icon="settings_backup_restore",
    danger=True,
    run=_restore,
    access=WRITE,
    form=RestoreForm,
    offered=_is_not_current,
)
"""On a revision's page."""
