"""The URL at which the platform listens, for links that no request is involved in."""

from django.conf import settings

from opsapi.hostnames import host_and_port


def own_url(host: str | None = None) -> str:
    """Return the scheme and address that the platform listens on; `host` replaces the host."""
    bound, port = settings.OPSAPI_BIND
    return f"{'https' if settings.OPSAPI_TLS_CERT else 'http'}://{host_and_port(host or bound, port)}"
