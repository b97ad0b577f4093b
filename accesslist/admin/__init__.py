"""Identity and access in the console."""

from django.contrib import admin
from django.contrib.auth.models import Group

from accesslist.admin import invitations, keys, projects, roles, teams, users

__all__ = ["invitations", "keys", "projects", "roles", "teams", "users"]

# Roles are grants of our own; Django's groups and permissions mean nothing here.
admin.site.unregister(Group)
