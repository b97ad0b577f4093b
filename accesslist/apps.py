"""What identity and access contribute to the platform."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from accesslist import checks  # noqa: F401 - registers its checks
from accesslist.credentials import begin_remembering
from opsapi import clock


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
        """Used nonces are remembered, from now on at the latest.

        A crash empties that memory, and nonces from before it are refused. Clients that give up after two
        refusals get in if it begins before their first one.
        """
        return {"nonces": _begin_remembering}

    def ready(self) -> None:
        """From the first migration on, used nonces are remembered."""
        post_migrate.connect(_begin_remembering, sender=self)


def _begin_remembering(**_: Any) -> None:
    begin_remembering(clock.now())
