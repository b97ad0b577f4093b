"""What identity and access keep for themselves, in the console to be read."""

from django.contrib import admin

from accesslist.models import DigestEpoch, DigestUse, RateWindow, RoleGrant
from opsapi.console.model_admin import ConsoleAdmin


@admin.register(RoleGrant)
class RoleGrantAdmin(ConsoleAdmin):
    """Who holds which role where."""

    list_display = ["role", "api_key", "user", "team", "org", "project"]
    list_filter = ["role"]
    list_select_related = ["api_key", "user", "team", "org", "project"]
    search_fields = ["api_key__public_key", "user__username", "team__name", "org__name", "project__name"]
    ordering = ["id"]
    fields = ["role", "api_key", "user", "team", "org", "project"]
    empty_text = "Nobody holds a role yet."


@admin.register(DigestUse)
class DigestUseAdmin(ConsoleAdmin):
    """Used nonces of the last minutes, which cannot be used again."""

    list_display = ["nonce", "nc", "used"]
    ordering = ["-id"]
    sortable_by = ()
    fields = ["nonce", "nc", "used"]
    empty_text = "No key has called in the last minutes."


@admin.register(DigestEpoch)
class DigestEpochAdmin(ConsoleAdmin):
    """Since when used nonces are remembered."""

    list_display = ["started"]
    sortable_by = ()
    fields = ["started"]
    empty_text = "It begins with the next call of a key."


@admin.register(RateWindow)
class RateWindowAdmin(ConsoleAdmin):
    """What is being throttled."""

    list_display = ["bucket", "started", "count"]
    search_fields = ["bucket"]
    ordering = ["-started"]
    fields = ["bucket", "started", "count"]
    empty_text = "Nothing was counted lately."
