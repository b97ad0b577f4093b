"""Who holds which roles where, and what authentication remembers of calls."""

from accesslist.models.holders import (
    AccessListEntry,
    ApiKey,
    Organization,
    Project,
    RoleGrant,
    SecondFactor,
    Team,
    User,
    username_forms,
)
from accesslist.models.remembered import DigestEpoch, DigestUse, RateWindow
from accesslist.rules.usernames import username_key

__all__ = [
    "AccessListEntry",
    "ApiKey",
    "DigestEpoch",
    "DigestUse",
    "Organization",
    "Project",
    "RateWindow",
    "RoleGrant",
    "SecondFactor",
    "Team",
    "User",
    "username_forms",
    "username_key",
]
