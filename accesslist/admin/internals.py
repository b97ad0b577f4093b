"""Internal rows of identity and access, read-only in the console."""

from django.contrib import admin

from accesslist.models import DigestEpoch, DigestUse, RateWindow, RoleGrant
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(RoleGrant)
class RoleGrantAdmin(ConsoleAdmin):
    """All roles, with holder and scope."""

    list_display = ["role", "api_key", "user", "team", "org", "project"]
    list_filter = ["role"]
    list_select_related = ["api_key", "user", "team", "org", "project"]
    search_fields = ["api_key__public_key", "user__username", "team__name", "org__name", "project__name"]
    ordering = ["id"]
    fields = ["role", "api_key", "user", "team", "org", "project"]
    empty_text = "No roles yet."


@admin.register(DigestUse)
class DigestUseAdmin(ConsoleAdmin):
    """Nonces used in the last few minutes; a second use is refused."""

    list_display = ["nonce", "nc", "used"]
    ordering = ["-id"]
    sortable_by = ()
    fields = ["nonce", "nc", "used"]
    empty_text = "No API key made a request in the last few minutes."


@admin.register(DigestEpoch)
class DigestEpochAdmin(ConsoleAdmin):
    """Start of the memory of used nonces."""

    list_display = ["started"]
    sortable_by = ()
    fields = ["started"]
    empty_text = "Starts with the next request of an API key."


@admin.register(RateWindow)
class RateWindowAdmin(ConsoleAdmin):
    """Counters of rate limits."""

    list_display = ["bucket", "started", "count"]
    search_fields = ["bucket"]
    ordering = ["-started"]
    fields = ["bucket", "started", "count"]
    empty_text = "No recent requests are counted."
