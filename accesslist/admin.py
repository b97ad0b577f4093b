"""Registers the pages of all slices with the console, and shows the counters of attempts."""

from django.contrib import admin
from django.contrib.auth.models import Group

from accesslist.access_lists.console import AccessListEntryAdmin
from accesslist.digest.console import DigestEpochAdmin
from accesslist.invitations.console import InvitationAdmin
from accesslist.keys.console import ApiKeyAdmin
from accesslist.kiosks.console import KioskAdmin
from accesslist.login.console import SecondFactorAdmin
from accesslist.models import RateWindow
from accesslist.projects.console import OrganizationAdmin, ProjectAdmin
from accesslist.roles.console import RoleGrantAdmin
from accesslist.teams.console import TeamAdmin
from accesslist.users.console import UserAdmin
from opsapi.console.model_admin import ConsoleAdmin

__all__ = [
    "AccessListEntryAdmin",
    "ApiKeyAdmin",
    "DigestEpochAdmin",
    "InvitationAdmin",
    "KioskAdmin",
    "OrganizationAdmin",
    "ProjectAdmin",
    "RateWindowAdmin",
    "RoleGrantAdmin",
    "SecondFactorAdmin",
    "TeamAdmin",
    "UserAdmin",
]

# Roles are grants of our own; Django's groups and permissions mean nothing here.
admin.site.unregister(Group)


@admin.register(RateWindow)
class RateWindowAdmin(ConsoleAdmin):
    """Counters of rate limits."""

    help = "how-to/use-the-console#system-health"
    list_display = ["bucket", "started", "count"]
    search_fields = ["bucket"]
    ordering = ["-started"]
    fields = ["bucket", "started", "count"]
    empty_text = "No recent requests are counted."
