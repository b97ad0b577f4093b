"""The redacted form of each kind of secret (contract 2.1, decisions 5 "redaction"). Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from integrations.choices import SecretKind
from opsapi.redaction import redact_secret, redact_token, redact_url

Secrets = Mapping[str, str | None]
"""Secrets by field; None for a stored secret that cannot be decrypted."""

_REDACTIONS: Mapping[SecretKind, Callable[[str], str]] = {
    SecretKind.PLAIN: str,
    SecretKind.TOKEN: redact_token,
    SecretKind.SECRET: redact_secret,
    SecretKind.URL: redact_url,
}


def redact(kind: SecretKind, value: str) -> str:
    return _REDACTIONS[kind](value)


def replaced_alike(
    old: Mapping[str, Any], new: Mapping[str, Any], old_secrets: Secrets, new_secrets: Secrets
) -> dict[str, str]:
    """The event text of changed secrets that look the same, `<shown> (replaced)`, by field.

    `old` and `new` are the shown fields, the others the full values: a diff must show the change without the
    secrets. An undecryptable secret counts as replaced.
    """
    alike = (name for name in old_secrets if old.get(name) == new.get(name))
    return {name: f"{new[name]} (replaced)" for name in alike if old_secrets[name] != new_secrets.get(name)}
