"""Registers identity and access with the platform."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.db.models.signals import post_migrate

from accesslist.credentials import begin_remembering
from opsapi import clock
from opsapi.apps import INSTALLATION


class AccesslistConfig(AppConfig):
    """Identity and access."""

    name = "accesslist"
    verbose_name = "Identity and access"
    root_links = {
        "groups": "/groups",
        "orgs": "/orgs",
        "users": "/users",
        "admin/accessList": "/admin/accessList",
        "admin/apiKeys": "/admin/apiKeys",
    }

    @property
    def readiness(self) -> dict[str, object]:
        """Starts the memory of used nonces, at the latest now.

        A crash empties this memory, and older nonces are refused. Clients that give up after two refusals
        still succeed if the memory starts before their first request.
        """
        return {"nonces": _begin_remembering}

    def ready(self) -> None:
        """Start the memory of used nonces after the first migration."""
        post_migrate.connect(_begin_remembering, sender=self)


def _begin_remembering(**_: Any) -> None:
    begin_remembering(clock.now())


@register(INSTALLATION)
def strangers_may_get_global_roles(**_: Any) -> list[CheckMessage]:
    """opsapi.W001: a setting lets strangers register with a global role."""
    if not settings.OPSAPI_UNAUTH_GLOBAL_ROLES:
        return []
    warning = (
        "OPSAPI_UNAUTH_GLOBAL_ROLES is true: anybody who can reach POST /unauth/users can become "
        "Global Owner."
    )
    return [Warning(warning, hint="Leave it unset.", id="opsapi.W001")]
