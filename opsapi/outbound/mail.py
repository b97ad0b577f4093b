"""The way out over SMTP: Django's, with the authorities that all of the platform trusts."""

import ssl

from django.core.mail.backends import smtp

from opsapi.outbound.trust import Purpose, trusting


class EmailBackend(smtp.EmailBackend):
    """Checks the mail server's certificate as those of receivers are checked."""

    @property
    def ssl_context(self) -> ssl.SSLContext:
        """The context of this process."""
        return trusting(Purpose.MAIL_SERVER)
