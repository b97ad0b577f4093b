"""Registers identity and access with the platform."""

import logging
import os
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.db import Error, transaction
from django.db.models.signals import post_migrate

from accesslist.digest.rules import mint_nonce
from accesslist.digest.store import begin_remembering, use_nonce
from opsapi import clock
from opsapi.apps import INSTALLATION
from opsapi.logs import first_line
from opsapi.postgresql.faults import database_fault
from opsapi.postgresql.trial import WriteTrial

logger = logging.getLogger("opsapi.authentication")


class AccesslistConfig(AppConfig):
    """Identity and access."""

    name = "accesslist"
    verbose_name = "Access"
    root_links = {
        "groups": "/groups",
        "orgs": "/orgs",
        "users": "/users",
        "admin/accessList": "/admin/accessList",
        "admin/apiKeys": "/admin/apiKeys",
    }

    @property
    def readiness(self) -> dict[str, object]:
        """Whether keys can authenticate. Starts the memory of used nonces, at the latest now.

        A crash or a failover empties this memory, and older nonces are refused. Clients that give up after
        two refusals still succeed if the memory starts before their first request.
        """
        return {"authentication": _authentication_fault}

    def ready(self) -> None:
        """Start the memory of used nonces after the first migration."""
        post_migrate.connect(_begin_remembering, sender=self)


def _begin_remembering(**_: Any) -> None:
    begin_remembering(clock.now())


def _authentication_fault() -> str | None:
    """Why keys cannot authenticate; None if they can. Raises faults of the database as a whole."""
    try:
        with transaction.atomic():
            _begin_remembering()
            authentication_trial.run()
    except Error as error:
        if database_fault(error):
            raise
        logger.error("API keys cannot authenticate: %s", first_line(error))
        return "used nonces cannot be stored"
    return None


def _authenticate() -> None:
    """Use a nonce as requests of keys do, and undo it."""
    now = clock.now()
    with transaction.atomic():
        use_nonce(mint_nonce(os.urandom(32), now), "00000001", now)
        transaction.set_rollback(True)


authentication_trial = WriteTrial(_authenticate)


@register(INSTALLATION)
def strangers_may_get_global_roles(**_: Any) -> list[CheckMessage]:
    """opsapi.W001: a setting lets strangers register with a global role."""
    if not settings.OPSAPI_UNAUTH_GLOBAL_ROLES:
        return []
    warning = (
        "OPSAPI_UNAUTH_GLOBAL_ROLES is true: anybody who can reach POST /unauth/users can become "
        "Global owner."
    )
    return [Warning(warning, hint="Leave it unset.", id="opsapi.W001")]
