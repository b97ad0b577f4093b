"""Outbound SMTP: Django's backend with the certificate authorities of the platform."""

import ssl

from django.core.mail.backends import smtp

from opsapi.outbound.trust import Purpose, trusting


class EmailBackend(smtp.EmailBackend):
    """Checks the certificate of the mail server like that of receivers."""

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The context of this process."""
        return trusting(Purpose.MAIL_SERVER)
