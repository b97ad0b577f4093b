"""How each kind of secret looks on the way out (contract 2.1, decisions 5 "redaction"). Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from integrations.choices import SecretKind
from opsapi.redaction import redact_secret, redact_token, redact_url

Secrets = Mapping[str, str | None]
"""Secrets in full, by field; None for one that is stored and that no configured key opens."""

_REDACTIONS: Mapping[SecretKind, Callable[[str], str]] = {
    SecretKind.PLAIN: str,
    SecretKind.TOKEN: redact_token,
    SecretKind.SECRET: redact_secret,
    SecretKind.URL: redact_url,
}


def redact(kind: SecretKind, value: str) -> str:
    """The value as it may be shown."""
    return _REDACTIONS[kind](value)


def replaced_alike(
    old: Mapping[str, Any], new: Mapping[str, Any], old_secrets: Secrets, new_secrets: Secrets
) -> dict[str, str]:
    """What events show for secrets that are others now and look the same, `<shown> (replaced)`, by field.

    `old` and `new` are the fields as shown, the others in full: a diff has to say so without showing them.
    One that could not be read any more was replaced by any other.
    """
    alike = (name for name in old_secrets if old.get(name) == new.get(name))
    return {name: f"{new[name]} (replaced)" for name in alike if old_secrets[name] != new_secrets.get(name)}
