"""The models of all slices, as Django and other apps import them, and the counter of attempts."""

from django.db import models

from accesslist.access_lists.models import AccessListEntry
from accesslist.digest.models import DigestEpoch, DigestUse
from accesslist.invitations.models import Invitation
from accesslist.keys.models import ApiKey
from accesslist.kiosks.models import Kiosk
from accesslist.login.models import SecondFactor
from accesslist.projects.models import LiveProjectManager, Organization, Project
from accesslist.roles.models import RoleGrant
from accesslist.teams.models import Team
from accesslist.users.models import User, username_forms

__all__ = [
    "AccessListEntry",
    "ApiKey",
    "DigestEpoch",
    "DigestUse",
    "Invitation",
    "Kiosk",
    "LiveProjectManager",
    "Organization",
    "Project",
    "RateWindow",
    "RoleGrant",
    "SecondFactor",
    "Team",
    "User",
    "username_forms",
]


class RateWindow(models.Model):
    """Number of attempts in the current window. UNLOGGED (migration 0002)."""

    bucket = models.CharField(max_length=200, primary_key=True, db_collation="C")
    started = models.DateTimeField()
    count = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.bucket}: {self.count}"
