"""Published automation configurations in the console."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from automation.admin.restoring import RESTORE
from automation.document.beside import MOST_LINES, beside
from automation.document.secrets import redacted
from automation.document.text import write
from automation.models import AutomationRevision
from automation.selectors import document_at, revision_document
from opsapi.console.actions import Action
from opsapi.console.display import EMPTY
from opsapi.console.model_admin import ConsoleAdmin, Section

_COLUMNS = ("Process", "Status", "Field", "Before", "After")
_MOST_PARAMS = 1000
_MOST_ROWS = 2_000
_LONGEST_DOCUMENT = 200_000  # characters: what a page can show


@admin.register(AutomationRevision)
class AutomationRevisionAdmin(ConsoleAdmin):
    """Published automation configurations, secrets redacted, each beside what it was before."""

    section = Section.FLEET
    icon = "history"
    rank = 60
    group_path = "group_id"
    actions_of_row: ClassVar[Mapping[str, Action]] = {"restore": RESTORE}
    list_display = ["__str__", "group", "created", "actor_name", "what_changed", "restored_from"]
    list_select_related = ["group"]
    search_fields = ["group__name", "group__id__exact"]
    search_help_text = "Part of a project's name, or its id."
    ordering = ["-created", "-id"]
    fields = [
        "group",
        "number",
        "created",
        "actor_kind",
        "actor_name",
        "restored_from",
        "side_by_side",
        "beside_previous",
        "document_json",
    ]
    empty_text = "No automation configuration has been published yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Documents are large: only the page of one reads it."""
        return super().get_queryset(request).defer("document", "diffs", "processes")

    @admin.display(description="changed processes")
    def what_changed(self, revision: AutomationRevision) -> str:
        """How many, by what happened to them."""
        return ", ".join(f"{count} {status.lower()}" for status, count in revision.changes.items()) or EMPTY

    @admin.display(description="changes")
    def side_by_side(self, revision: AutomationRevision) -> SafeString | str:
        """Every changed field, as it was and as it became."""
        rows = list(islice(_changed_params(revision), _MOST_PARAMS))
        if not rows:
            return EMPTY
        heads = format_html_join("", "<th>{}</th>", [(name,) for name in _COLUMNS])
        body = format_html_join("", f"<tr>{'<td>{}</td>' * len(_COLUMNS)}</tr>", rows)
        return format_html(
            '<table class="changes"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>', heads, body
        )

    @admin.display(description="beside the version before")
    def beside_previous(self, revision: AutomationRevision) -> SafeString | str:
        """All that differs in the whole document, line by line."""
        before = document_at(revision.number - 1, group_id=revision.group_id)
        if before is None:
            return EMPTY
        rows = beside(_text(before), _text(revision_document(revision)))
        if rows is None:
            return f"Too large to compare here: more than {MOST_LINES:,} lines."
        sides = [(row.kind.value, row.old or "", row.kind.value, row.new or "") for row in rows[:_MOST_ROWS]]
        lines = format_html_join(
            "", '<tr><td class="{}"><pre>{}</pre></td><td class="{}"><pre>{}</pre></td></tr>', sides
        )
        cut = "" if len(rows) <= _MOST_ROWS else f"and {len(rows) - _MOST_ROWS:,} lines more"
        heads = f"Version {revision.number - 1}", f"Version {revision.number}"
        return format_html(
            '<table class="beside"><thead><tr><th>{}</th><th>{}</th></tr></thead><tbody>{}</tbody></table>{}',
            *heads,
            lines,
            cut,
        )

    @admin.display(description="document")
    def document_json(self, revision: AutomationRevision) -> SafeString:
        """What it holds; of a very large one the beginning."""
        text = _text(revision_document(revision))
        shown = text if len(text) <= _LONGEST_DOCUMENT else text[:_LONGEST_DOCUMENT] + "\n…"
        return format_html('<pre class="json">{}</pre>', shown)


def _text(document: Mapping[str, Any]) -> str:
    """As people read it, secrets redacted."""
    return write(redacted(document), pretty=True)


def _changed_params(revision: AutomationRevision) -> Iterator[tuple[str, ...]]:
    for changed in revision.diffs:
        for param in changed["params"]:
            sides = param.get("old", EMPTY), param.get("new", EMPTY)
            yield changed["id"], changed["status"].lower(), param["param"], *sides
