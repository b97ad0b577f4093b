"""The action that publishes an older revision again."""

from datetime import datetime

from automation.access import WRITE_CONFIG
from automation.forms.revisions import RestoreForm
from automation.models import AutomationRevision
from automation.selectors.revisions import goal_version
from automation.services.automation_config import automation_config_restore
from opsapi.console.actions import Action, ActionCall, ActionOutcome


def _restore(call: ActionCall) -> ActionOutcome:
    revision: AutomationRevision = call.row
    draft = automation_config_restore(
        group_id=revision.group_id,
        number=revision.number,
        version=call.values["version"],
        if_match=None,
        dry_run=False,
        actor=call.actor,
        now=call.now,
    )
    if not draft.changes_something:
        return ActionOutcome(message="The current configuration is identical; nothing was published.")
    new = AutomationRevision.objects.get(group=revision.group_id, number=draft.new["version"])
    return ActionOutcome(message=f"Version {revision.number} was published again as {new.number}.", row=new)


def _is_not_current(revision: AutomationRevision, _now: datetime) -> bool:
    return goal_version(revision.group_id) != revision.number


RESTORE = Action(
    label="Restore this version",
    text="Publishes this configuration as the next version. The agents then make the changes below.",
    icon="settings_backup_restore",
    danger=True,
    run=_restore,
    access=WRITE_CONFIG,
    form=RestoreForm,
    offered=_is_not_current,
)
"""The action on the page of a revision."""
