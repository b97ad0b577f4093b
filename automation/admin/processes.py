"""The automation state of processes, in the console."""

from django.contrib import admin
from django.utils.safestring import SafeString

from automation.models import ProcessStatus
from opsapi.console.display import ago, project, short_field
from opsapi.console.filters import RelatedFilter
from opsapi.console.model_admin import ConsoleAdmin, Section


@admin.register(ProcessStatus)
class ProcessStatusAdmin(ConsoleAdmin):
    """The automation state of each process."""

    section = Section.FLEET
    icon = "memory"
    rank = 50
    group_path = "group_id"
    list_display = [short_field("name"), short_field("hostname"), "goal_version", "error", project, "heard"]
    list_filter = [("group", RelatedFilter)]
    list_select_related = ["group"]
    search_fields = ["name", "hostname", "group__name"]
    ordering = ["name", "id"]
    fields = ["name", "hostname", "goal_version", "error", "group", "heard"]
    empty_text = "No processes yet. Processes appear when an automation agent reports them."

    @admin.display(description="reported", ordering="reported")
    def heard(self, status: ProcessStatus) -> SafeString | str:
        """Time since its agent last reported it."""
        return ago(status.reported)
