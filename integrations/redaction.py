"""The redacted form of each kind of secret (contract 2.1, decisions 5 "redaction"). Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from integrations.choices import SecretKind
from opsapi.redaction import MASK, redact_secret, redact_token, redact_url

Secrets = Mapping[str, Any]
"""Secrets by field; None for a stored secret that cannot be decrypted."""


def _redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The names; all values are secrets."""
    return dict.fromkeys(headers, MASK)


_REDACTIONS: Mapping[SecretKind, Callable[[Any], Any]] = {
    SecretKind.PLAIN: str,
    SecretKind.TOKEN: redact_token,
    SecretKind.SECRET: redact_secret,
    SecretKind.URL: redact_url,
    SecretKind.HEADERS: _redact_headers,
}


def redact(kind: SecretKind, value: Any) -> Any:
    """The form in answers: a string, or for header fields an object with all names."""
    return _REDACTIONS[kind](value)


def replaced_alike(
    old: Mapping[str, Any], new: Mapping[str, Any], old_secrets: Secrets, new_secrets: Secrets
) -> dict[str, Any]:
    """The event text of changed secrets that look the same, `<shown> (replaced)`, by field.

    `old` and `new` are the shown fields, the others the full values: a diff must show the change without the
    secrets. An undecryptable secret counts as replaced.
    """
    changed = [name for name in old_secrets if old_secrets[name] != new_secrets.get(name)]
    return {
        name: _replaced(new[name], old_secrets[name], new_secrets.get(name))
        for name in changed
        if old.get(name) == new.get(name)
    }


def _replaced(shown_form: Any, old: Any, new: Any) -> Any:
    """The shown form with a mark; of an object, at the members that were changed."""
    if not isinstance(shown_form, Mapping):
        return f"{shown_form} (replaced)"
    before = old if isinstance(old, Mapping) else {}
    after = new if isinstance(new, Mapping) else {}
    return {
        name: f"{text} (replaced)" if before.get(name) != after.get(name) or not before else text
        for name, text in shown_form.items()
    }
