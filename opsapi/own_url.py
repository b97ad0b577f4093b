"""The URL at which the platform listens, for links that no request is involved in."""

from typing import Final

from django.conf import settings

from opsapi.hostnames import host_and_port, is_unspecified
from opsapi.program import machine_name

GUESSED: Final = (
    "OPSAPI_BIND is an unspecified address and OPSAPI_PUBLIC_URL is not set: links in messages begin with "
    "{url}, the name of this machine, which other machines may not be able to reach."
)
REMEDY: Final = "Set OPSAPI_PUBLIC_URL to the address by which people reach the platform."


def own_url(host: str | None = None) -> str:
    """Return the scheme and address that the platform listens on; `host` replaces the host.

    If the platform listens on all addresses, the machine's name is the host.
    """
    bound, port = settings.OPSAPI_BIND
    named = host or (machine_name() if is_unspecified(bound) else bound)
    return f"{'https' if settings.OPSAPI_TLS_CERT else 'http'}://{host_and_port(named, port)}"


def guessed_url() -> str | None:
    """Return why links may be wrong, as a sentence; None if the settings say how links begin."""
    if settings.OPSAPI_PUBLIC_URL or not is_unspecified(settings.OPSAPI_BIND[0]):
        return None
    return GUESSED.format(url=own_url())
