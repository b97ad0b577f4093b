"""The memory of used nonces in the console."""

from django.contrib import admin

from accesslist.digest.models import DigestEpoch
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(DigestEpoch)
class DigestEpochAdmin(ConsoleAdmin):
    """Start of the memory of used nonces."""

    help = "how-to/use-the-console#system-health"
    list_display = ["started"]
    sortable_by = ()
    fields = ["started"]
    empty_text = "Starts with the next request of an API key."
