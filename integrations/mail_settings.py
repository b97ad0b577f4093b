"""The mail server of the settings: its URL, and whether an operator has set it."""

from django.conf import settings

from opsapi.environment import READ
from opsapi.hostnames import host_and_port


def mail_server_url() -> str:
    """The mail server, without its log-in."""
    scheme = "smtp+ssl" if settings.EMAIL_USE_SSL else "smtp+tls" if settings.EMAIL_USE_TLS else "smtp"
    return f"{scheme}://{host_and_port(settings.EMAIL_HOST, settings.EMAIL_PORT)}"


def mail_server_is_set() -> bool:
    """Whether EMAIL_URL differs from its default, a mail server on the platform's own machine."""
    return mail_server_url() != READ["EMAIL_URL"].default
