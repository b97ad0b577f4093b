"""How each kind of secret looks on the way out (contract 2.1, decisions 5 "redaction"). Pure."""

from collections.abc import Callable, Mapping

from integrations.choices import SecretKind
from opsapi.redaction import redact_secret, redact_token, redact_url

_REDACTIONS: Mapping[SecretKind, Callable[[str], str]] = {
    SecretKind.PLAIN: str,
    SecretKind.TOKEN: redact_token,
    SecretKind.SECRET: redact_secret,
    SecretKind.URL: redact_url,
}


def redact(kind: SecretKind, value: str) -> str:
    """The value as it may be shown."""
    return _REDACTIONS[kind](value)
