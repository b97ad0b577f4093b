"""Identity and access in the console."""

from django.contrib import admin
from django.contrib.auth.models import Group

from accesslist.admin.access_lists import AccessListEntryAdmin
from accesslist.admin.internals import DigestEpochAdmin, DigestUseAdmin, RateWindowAdmin, RoleGrantAdmin
from accesslist.admin.keys import ApiKeyAdmin
from accesslist.admin.organizations import OrganizationAdmin
from accesslist.admin.projects import ProjectAdmin
from accesslist.admin.second_factors import SecondFactorAdmin
from accesslist.admin.teams import TeamAdmin
from accesslist.admin.users import UserAdmin

__all__ = [
    "AccessListEntryAdmin",
    "ApiKeyAdmin",
    "DigestEpochAdmin",
    "DigestUseAdmin",
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
