"""Role holders, and the short-term memory of authentication."""

from accesslist.models.identities import (
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
from accesslist.models.login_state import DigestEpoch, DigestUse, RateWindow
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
