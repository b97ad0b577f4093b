"""Console forms of the fleet: add an agent, add and change a host, restore a revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from automation.access import WRITE_CONFIG
from automation.desired_state.changes import NEW_PROJECT_TEXT, automation_config_restore, masked_text
from automation.desired_state.document.publish import NEW_PROJECT, Publication
from automation.desired_state.document.text import MOST_LINES, LinePair, for_people, side_by_side
from automation.desired_state.editor import EDIT
from automation.desired_state.models import AutomationRevision, ProcessStatus
from automation.desired_state.previews import preview_of
from automation.desired_state.set_wizard import NEW_REPLICA_SET
from automation.desired_state.store import documents_room, goal_version, revision_at
from automation.turns.console import PAUSE, RESUME, SET_WIZARD, is_current, plan_url
from events.diffs import changed_resources
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.display import EMPTY, Context, ago, cut, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.forms import ConsoleForm
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.first_rows import more_words


class RestoreForm(ConsoleForm):
    """Remembers the version of the preview. If another version is current by now, nothing is published."""

    fields_template = "console/restore_fields.html"

    version = forms.IntegerField(min_value=0, max_value=10**9, widget=forms.HiddenInput)

    class Media:
        css = {"all": ["console/plan.css"]}

    def stored(self) -> Mapping[str, Any]:
        return {"version": goal_version(self.row.group_id)}

    def add_refusal(self, refusal: ApiError) -> None:
        """If the version has changed, the form shows the preview for the new version."""
        super().add_refusal(refusal)
        if refusal.code is ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION:
            self.data = {**self.data, **self.stored()}

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The preview."""
        now = clock.now()
        return preview_of(lambda: self._restored(now), self.row.group_id, now)

    def _restored(self, now: datetime) -> Publication:
        return automation_config_restore(
            group_id=self.row.group_id,
            number=self.row.number,
            version=None,
            if_match=None,
            dry_run=True,
            actor=self.operator.actor(),
            now=now,
        )


MOST_CHANGED = 100
"""Maximum number of changed processes on the page."""
_MOST_ROWS = 2_000
_LONGEST_DOCUMENT = 200_000  # Characters that fit on a page.


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
    group_id = revision.group_id
    try:
        with documents_room([number, revision.number], group_id=group_id):
            before = _text_at(number, group_id)
            if before is None:
                return None
            rows = side_by_side(before, for_people(masked_text(revision)))
    except ApiError as refusal:
        return RevisionComparison(before=number, why_not=_detail(refusal))
    if rows is None:
        why_not = f"Too large to compare here: more than {MOST_LINES:,} lines, or too many equal lines."
        return RevisionComparison(before=number, why_not=why_not)
    first_rows, left_out = cut(rows, _MOST_ROWS)
    return RevisionComparison(before=number, rows=first_rows, more=more_words(left_out))


def _text_at(number: int, group_id: str) -> str | None:
    if number == NEW_PROJECT["version"]:
        return for_people(NEW_PROJECT_TEXT)
    revision = revision_at(number, group_id=group_id)
    return for_people(masked_text(revision)) if revision else None


def _detail(refusal: ApiError) -> str:
    return str(refusal.document()["detail"])


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
    return not is_current(revision)


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


@admin.register(AutomationRevision)
class AutomationRevisionAdmin(ConsoleAdmin):
    """Published automation configurations with secrets redacted and compared with the previous version."""

    help = "how-to/use-the-console#fleet"
    group_path = "group_id"
    list_actions: ClassVar[Mapping[str, Action]] = {SET_WIZARD: NEW_REPLICA_SET}
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "edit": EDIT,
        "pause": PAUSE,
        "resume": RESUME,
        "restore": RESTORE,
    }
    list_display = ["__str__", project, "created", "actor_name", "what_changed", "restored_from"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["group__name", "group__id__exact"]
    search_help_text = "Part of a project name, or a project ID."
    ordering = ["-created", "-id"]
    fields = [
        "group",
        "number",
        "created",
        "actor_kind",
        "actor_name",
        "restored_from",
        "document_json",
    ]
    empty_text = "No automation configuration has been published yet."

    class Media:
        css = {"all": ["console/revision.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Documents are large, so only the page of a single revision reads them."""
        return super().get_queryset(request).defer("document", "masked", "diffs", "processes")

    @admin.display(description="changed processes")
    def what_changed(self, revision: AutomationRevision) -> str:
        """Number of changed processes by status."""
        return ", ".join(f"{count} {status.lower()}" for status, count in revision.changes.items()) or EMPTY

    def page_context(self, request: HttpRequest, row: Any) -> Context:
        is_newest = is_current(row)
        return {
            **super().page_context(request, row),
            **revision_context(row),
            "plan_url": plan_url(row.group_id) if is_newest else "",
        }

    @admin.display(description="document")
    def document_json(self, revision: AutomationRevision) -> SafeString:
        """The document; a very large document is cut."""
        text = document_text(revision)
        excerpt = text if len(text) <= _LONGEST_DOCUMENT else text[:_LONGEST_DOCUMENT] + "\n…"
        return format_html('<pre class="json">{}</pre>', excerpt)


@admin.register(ProcessStatus)
class ProcessStatusAdmin(ConsoleAdmin):
    """The automation state of each process."""

    help = "how-to/use-the-console#fleet"
    group_path = "group_id"
    list_display = [short_field("name"), short_field("hostname"), "reached", "error", project, "heard"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["name", "hostname", "group__name"]
    ordering = ["name", "id"]
    fields = ["name", "hostname", "reached", "error", "group", "heard"]
    empty_text = "No processes yet. Processes appear when an automation agent reports them."

    @admin.display(description="version reached", ordering="goal_version")
    def reached(self, status: ProcessStatus) -> int:
        """The version of the configuration that the process has reached."""
        return status.goal_version

    @admin.display(description="reported", ordering="reported")
    def heard(self, status: ProcessStatus) -> SafeString | str:
        """Time since its agent last reported it."""
        return ago(status.reported)
