"""Published automation configurations in the console."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from automation.admin.restore import RESTORE
from automation.admin.revision_page import document_text, revision_context
from automation.models import AutomationRevision
from opsapi.console.actions import Action
from opsapi.console.display import EMPTY, Context, project
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section

_LONGEST_DOCUMENT = 200_000  # Characters that fit on a page.


@admin.register(AutomationRevision)
class AutomationRevisionAdmin(ConsoleAdmin):
    """Published automation configurations with secrets redacted and compared with the previous version."""

    section = Section.FLEET
    icon = "history"
    rank = 60
    group_path = "group_id"
    change_form_template = "admin/automation/automationrevision/change_form.html"
    actions_of_row: ClassVar[Mapping[str, Action]] = {"restore": RESTORE}
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
        """Adds the changes."""
        return {**super().page_context(request, row), **revision_context(row)}

    @admin.display(description="document")
    def document_json(self, revision: AutomationRevision) -> SafeString:
        """The document; a very large document is cut."""
        text = document_text(revision)
        shown = text if len(text) <= _LONGEST_DOCUMENT else text[:_LONGEST_DOCUMENT] + "\n…"
        return format_html('<pre class="json">{}</pre>', shown)
