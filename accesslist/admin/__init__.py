"""Identity and access in the console."""

from django.contrib import admin
from django.contrib.auth.models import Group

from accesslist.admin import keys, projects, roles, teams, users

__all__ = ["keys", "projects", "roles", "teams", "users"]

# Roles are grants of our own; Django's groups and permissions mean nothing here.
admin.site.unregister(Group)
