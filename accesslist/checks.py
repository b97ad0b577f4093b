"""System checks that warn about risky combinations of settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register


@register()
def strangers_may_get_global_roles(**_: Any) -> list[CheckMessage]:
    """opsapi.W001: a setting lets strangers register with a global role."""
    if not settings.OPSAPI_UNAUTH_GLOBAL_ROLES:
        return []
    warning = (
        "OPSAPI_UNAUTH_GLOBAL_ROLES is true: anybody who can reach POST /unauth/users can become "
        "Global Owner."
    )
    return [Warning(warning, hint="Leave it unset.", id="opsapi.W001")]
